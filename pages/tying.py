"""The lab of shared weights: one matrix at both ends, proved, touched, counted, and trained."""

import streamlit as st

from owi_core.experiments.tying import NAME, Result
from owi_core.jobs.runs import Run
from pages._labs.tying import form, results, touch, view
from pages._labs.tying.code import run_code
from pages._labs.tying.models import SHIPPED
from pages._labs.tying.touch import OWN, edits_key
from pages._ui.base.guard import guarded
from pages._ui.base.page import Frame
from pages._ui.draw import run_panel
from pages._ui.draw.code import show_code
from pages._ui.draw.forms import segments
from pages._ui.draw.run_panel import latest_run
from pages._ui.frame.frame import footer, frame
from pages._ui.session.state import renew


def main() -> None:
    page = frame("tying")
    run = latest_run(NAME)
    source = choose_source(page, run)
    with guarded(page.lang):
        view.proof(page, source)
    with guarded(page.lang):
        st.subheader(page.t("touch.title"), anchor=False)
        st.markdown(page.t("touch.about"))
        touch.show_cell_edit(page, source)
    with guarded(page.lang):
        st.subheader(page.t("size.title"), anchor=False)
        view.sizes(page, source)
    st.subheader(page.t("train.title"), anchor=False)
    with guarded(page.lang):
        values = form.choose(page)
        run = run_panel.run_lab(page, NAME, values, draw=results.curves)
        if run is not None:
            show(page, run)
    with guarded(page.lang):
        st.subheader(page.t("near.title"), anchor=False)
        view.nearest(page, source)
    footer(page.lang)


def choose_source(page: Frame, run: Run | None) -> str:
    """Return the model that is proved and touched: the app's, or the one just trained."""
    if run_panel.result_of(run, Result) is None or run is None or not run.has_model:
        return SHIPPED
    sources = {SHIPPED: SHIPPED, OWN: str(run.folder)}
    renew("tying.source_of", run.id, "tying.source", edits_key(sources[OWN]))
    chosen = segments(
        page.t("source.label"),
        tuple(sources),
        key="tying.source",
        usual=SHIPPED,
        name=lambda name: view.source_name(page, sources[name], SHIPPED),
    )
    return sources[chosen]


def show(page: Frame, run: Run) -> None:
    """The numbers of a run that came to its end."""
    result = run_panel.result_of(run, Result)
    if result is None:
        return
    results.numbers(page, result)
    show_code(page, run_code(run.params))
    results.by_layer(page, result)
    results.moved(page, result)
    results.gradient(page, run, result)
    results.wrong_ways(page, run, result)


main()
