"""One attention step by hand: every number visible, editable, and traced to where it came from."""

import streamlit as st

from pages._ui import step_chain, step_form, step_training, step_view
from pages._ui.frame import Frame, footer, frame, guarded
from pages._ui.seat import seat


def main() -> None:
    page = frame("step")
    seat()
    board(page)
    step_view.model_rows(page)
    step_training.relations(page)
    step_view.position_pictures(page)
    step_training.positions(page)
    footer(page.lang)


@st.fragment
def board(page: Frame) -> None:
    """All that a number typed into the chain draws anew."""
    with guarded(page.lang):
        shown = step_form.choose(page)
        step_chain.draw(
            page,
            shown.record,
            shown.before,
            shown.board.labels,
            shown.head,
            shown.board.selected,
        )
        step_form.reset(page, shown.board)
        step_view.summary(page, shown)
        step_form.table_editor(page, shown.board)
        step_view.code(page, shown)
        step_view.sections(page, shown)


main()
