"""The cost lab: what is linked after each layer, and what links cost in time and memory."""

import streamlit as st

from owi_core.experiments.cost import RESULTS
from pages._labs.cost import form, reach, view
from pages._labs.cost.code import run_code
from pages._ui.base.guard import guarded
from pages._ui.base.page import Frame
from pages._ui.draw.code import show_code
from pages._ui.draw.run_panel import result_of, run_lab
from pages._ui.frame.frame import footer, frame

NAME = "cost"


def main() -> None:
    page = frame("cost")
    with guarded(page.lang):
        reach.reach(page)
    with guarded(page.lang):
        reach.memory(page)
    for part in form.PARTS:
        with guarded(page.lang):
            measured(page, part)
    footer(page.lang)


def measured(page: Frame, part: str) -> None:
    """One part: what is asked, its settings and its run, what came out."""
    st.subheader(page.t(f"part.{part}.title"), anchor=False)
    st.markdown(page.t(f"part.{part}.about"))
    run = run_lab(
        page,
        NAME,
        form.choose(page, part),
        name=part,
        matches=lambda run: run.params.get("part") == part,
        draw=view.live,
    )
    result = result_of(run, RESULTS[part])
    if run is not None and result is not None:
        view.SHOW[part](page, run, result)
        show_code(page, run_code(run.params))


main()
