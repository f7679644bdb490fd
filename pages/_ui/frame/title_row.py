"""The row of a page's title: the share button, then the lesson and the model of the link."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator as Box

from owi_core.errors import OwiError
from owi_core.jobs.visits import KEEP_SECONDS
from pages._ui.base import settings
from pages._ui.base.links import TRAINED
from pages._ui.base.mounting import mount
from pages._ui.base.page import Frame
from pages._ui.draw.run_panel import Panel, only_progress
from pages._ui.frame import own_model, share
from pages._ui.lessons import bar
from pages._ui.lessons.bar import Course
from pages._ui.session import link_replay, state, visit
from pages._ui.session.state import Opened, View


def draw(
    page: Frame, title: Box, opened: Opened | None, before: View, course: Course | OwiError | None
) -> None:
    """Draw the share button beside the title, then the lesson; wait for the link's model."""
    waits = link_replay.waits_for_model(opened)
    with title:
        _theme_switch(page)
        share.button(page, before, ready=not waits)
    _tell_loss(page)
    if visit.CURRENT_MODEL in st.session_state:  # else what it needs is not loaded
        own_model.draw(page)
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


def _tell_loss(page: Frame) -> None:
    """Say in one line what a reload of the page could not find again, and what to do."""
    lost = visit.loss(page.t.name)
    if lost is None:
        return
    if lost.visit:
        line = page.t("visit.over", minutes=round(KEEP_SECONDS / 60))
    else:
        grace = settings.current().grace_seconds
        said = [
            page.t("visit.stopped", n=lost.stopped, seconds=f"{grace:g}") if lost.stopped else "",
            page.t("visit.gone", n=lost.gone) if lost.gone else "",
            page.t("visit.model") if lost.model else "",
        ]
        line = page.t("visit.away", what="".join(said))
    st.caption(line)


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
