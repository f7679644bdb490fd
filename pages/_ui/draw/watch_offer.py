"""The button under a run that lets a class follow it: a code, a link, something to scan."""

from collections.abc import Callable
from urllib.parse import urljoin

import streamlit as st

from owi_core.jobs.runs import Run
from owi_core.jobs.watching import Register
from pages._ui.base.i18n import translator
from pages._ui.base.page import Frame
from pages._ui.draw.scan import scan_code, show_link

# Draws a run that is under way, on the page of its teacher and on those of the class.
Draw = Callable[[Frame, Run], None]
PAGE, CODE = "watch", "code"


@st.cache_resource(show_spinner=False)
def register() -> Register[Draw | None]:
    """The one register of this server."""
    return Register()


def offer(page: Frame, place: str, run: Run, draw: Draw | None) -> None:
    """Draw the button; opened, it says what the class will see, and makes the code when asked.

    A run that was started after the code was made is followed from here on.
    """
    code = register().follow(place, run)
    common = Frame(page.lang, translator(page.lang, "common"), page.theme)
    t = common.t
    with st.container(horizontal=True, vertical_alignment="center"):
        opened = st.popover(
            t("class.button"), icon=":material/groups:", key=f"{place}.class", on_change="rerun"
        )
        if code is not None:
            st.markdown(t("class.code", code=code), width="content")
    if not opened.open:
        return
    with opened:
        st.markdown(t("class.about"))
        if run.private:
            st.caption(t("class.private"))
        if code is None:
            st.button(
                t("class.make"),
                on_click=_make,
                args=(place, run, page.t.name, draw),
                key=f"{place}.class_make",
                type="primary",
            )
            return
        show_link(common, link_to(code), key=f"{place}.class_link")
        scan_code(common, link_to(code))
        st.button(
            t("class.end"),
            on_click=register().end,
            args=(place, run.session),
            key=f"{place}.class_end",
        )


def _make(place: str, run: Run, lab: str, draw: Draw | None) -> None:
    register().show(place, run, lab, draw)


def link_to(code: str) -> str:
    """Return the link under which a class follows; without a language, so each has its own."""
    base = st.context.url or "/"
    return f"{urljoin(base, PAGE)}?{CODE}={code}"
