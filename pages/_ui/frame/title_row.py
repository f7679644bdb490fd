"""The row of a page's title: the share button, then the lesson and the model of the link."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator as Box

from owi_core.errors import OwiError
from pages._ui.base.links import TRAINED
from pages._ui.base.mounting import mount
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
    waits = link_replay.waits_for_model(opened)
    with title:
        _theme_switch(page)
        share.button(page, before, ready=not waits)
    if course is not None:
        bar.draw(page, course)
    if opened is not None:
        state.current_view().line = st.empty()
    if opened is not None and waits:
        _wait_for_model(page, opened)


def _theme_switch(page: Frame) -> None:
    """Draw the switch between light and dark, at the top right where one looks for it."""
    data = {"theme": page.theme, "label": page.t("theme_switch")}
    mount("theme_switch")(key="owi.theme", data=data, width="content")


def _wait_for_model(page: Frame, opened: Opened) -> None:
    """Offer the link's model, or draw its progress; end the page here until it is ready."""
    if TRAINED in opened.offered:
        link_replay.offer(page.t, opened)
    else:
        st.info(page.t("share.model_under_way"), icon=":material/share:")
        Panel.of(page, opened.runs[TRAINED], "link").watch(only_progress)
    if st.button(page.t("share.without_model"), key="owi.without_model"):
        link_replay.give_up_model(opened)
        st.rerun()
    st.stop()
