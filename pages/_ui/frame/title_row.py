"""The row of a page's title: the share button, then the lesson and the model of the link."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator as Box

from owi_core.errors import OwiError
from owi_core.jobs.runs import Run
from pages._ui.base.page import Frame
from pages._ui.draw.run_panel import Panel, only_progress
from pages._ui.frame import share
from pages._ui.lessons import bar
from pages._ui.lessons.bar import Course
from pages._ui.session import link_replay, state
from pages._ui.session.state import Opened, View


def draw(
    page: Frame, title: Box, opened: Opened | None, before: View, course: Course | OwiError | None
) -> None:
    """Draw the share button beside the title, then the lesson; wait for the link's model."""
    run = link_replay.model_under_way(opened)
    with title:
        share.button(page, before, ready=run is None)
    if course is not None:
        bar.draw(page, course)
    if opened is not None:
        state.current_view().line = st.empty()
    if opened is not None and run is not None:
        _wait_for_model(page, opened, run)


def _wait_for_model(page: Frame, opened: Opened, run: Run) -> None:
    """Draw the progress of the link's model and end the page here until it is ready."""
    st.info(page.t("share.model_under_way"), icon="🔗")
    Panel.of(page, run, "link").watch(only_progress)
    if st.button(page.t("share.without_model"), key="owi.without_model"):
        link_replay.give_up_model(opened)
        st.rerun()
    st.stop()
