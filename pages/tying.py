"""The lab of shared weights: one matrix at both ends, proved, touched, counted, and trained."""

import streamlit as st

from owi_core.experiments.tying import NAME, Result
from owi_core.jobs.runs import Run
from pages._labs.tying import form, results, touch, view
from pages._labs.tying.code import run_code
from pages._labs.tying.models import SHIPPED
from pages._labs.tying.touch import JUST_TRAINED, MINE, edits_key
from pages._ui.base.guard import guarded
from pages._ui.base.page import Frame
from pages._ui.draw import run_panel
from pages._ui.draw.code import show_code
from pages._ui.draw.forms import segments
from pages._ui.draw.run_panel import latest_run
from pages._ui.frame.frame import footer, frame
from pages._ui.session.models import current_model
from pages._ui.session.reading import follow_own_model, own_model_pages
from pages._ui.session.state import current_view, renew


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
    """Return the model that is proved: the app's, the one just trained, or one's own."""
    sources = {SHIPPED: SHIPPED}
    if run is not None and run.has_model and run_panel.result_of(run, Result) is not None:
        sources[JUST_TRAINED] = str(run.folder)
        renew("tying.source_of", run.id, "tying.source", edits_key(sources[JUST_TRAINED]))
    if "tying" in own_model_pages():
        sources[MINE] = str(current_model())
        renew("tying.mine_of", sources[MINE], edits_key(sources[MINE]))
    follow_own_model("tying", "tying.source", SHIPPED, MINE)
    if len(sources) == 1:
        return SHIPPED
    chosen = segments(
        page.t("source.label"),
        tuple(sources),
        key="tying.source",
        usual=SHIPPED,
        name=lambda name: view.source_name(page, name, sources[name]),
    )
    if chosen == MINE:
        current_view().own_model = True
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
