"""The cost lab: what is linked after each layer, and what links cost in time and memory."""

import streamlit as st

from pages._ui import cost_first, cost_form, cost_view
from pages._ui.code import show_code
from pages._ui.cost_code import run_code
from pages._ui.frame import Frame, footer, frame, guarded
from pages._ui.run_panel import result_of, run_lab

NAME = "cost"


def main() -> None:
    page = frame("cost")
    with guarded(page.lang):
        cost_first.reach(page)
    with guarded(page.lang):
        cost_first.memory(page)
    for part in cost_form.PARTS:
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
        cost_form.choose(page, part),
        name=part,
        matches=lambda run: run.params.get("part") == part,
        draw=cost_view.live,
    )
    result = result_of(run)
    if run is not None and result is not None:
        cost_view.SHOW[part](page, run, result)
        show_code(page, run_code(run.params))


main()
