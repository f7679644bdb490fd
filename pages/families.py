"""Families: who looks both ways, who looks only back, and what each of them can therefore say."""

from owi_core.experiments.families.results import Result
from pages._labs.families import form, view
from pages._ui.base.guard import guarded
from pages._ui.base.page import Frame
from pages._ui.draw.code import experiment_code, show_code
from pages._ui.draw.run_panel import result_of, run_lab
from pages._ui.frame.frame import footer, frame

NAME = "families"


def main() -> None:
    page = frame("families")
    with guarded(page.lang):
        body(page)
    footer(page.lang)


def body(page: Frame) -> None:
    """The run; then the table of the exams, one sentence's looks, and what the mix is for."""
    values = form.choose(page)
    run = run_lab(page, NAME, values)
    result = result_of(run, Result)
    if run is None or result is None:
        return
    view.exams(page, result)
    show_code(page, experiment_code(NAME, run.params))
    with guarded(page.lang):
        view.looks(page, result)
    with guarded(page.lang):
        view.mix(page, result)


main()
