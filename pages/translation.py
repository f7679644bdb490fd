"""Translation: an encoder–decoder learns before your eyes which source word becomes which word."""

from owi_core.experiments.translation.results import Result
from pages._labs.translation import form, view, words
from pages._labs.translation.code import run_code
from pages._ui.base.guard import guarded
from pages._ui.base.page import Frame
from pages._ui.draw.code import show_code
from pages._ui.draw.run_panel import result_of, run_lab
from pages._ui.frame.frame import footer, frame

NAME = "translation"


def main() -> None:
    page = frame("translation")
    with guarded(page.lang):
        body(page)
    footer(page.lang)


def body(page: Frame) -> None:
    """The corpus and the run; then one sentence step by step, and what was measured."""
    values = form.choose(page)
    run = run_lab(page, NAME, values, draw=view.live)
    result = result_of(run, Result)
    if run is None or result is None:
        return
    view.figures(page, result)
    show_code(page, run_code(run.params))
    with guarded(page.lang):
        words.step_by_step(page, run)
    with guarded(page.lang):
        view.against(page, result)
        view.caches(page, result)


main()
