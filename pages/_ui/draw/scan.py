"""A link with a button that copies it, and as a code to scan from the projector."""

import segno
import streamlit as st

from pages._ui.base.mounting import mount
from pages._ui.base.page import Frame

LONGEST_CODE = 1_200  # a code of more characters is too fine for a camera at the back of a room
CODE_WIDTH = 380


def show_link(page: Frame, link: str, *, key: str) -> None:
    """Draw a link with a button that copies it."""
    names = ("copy", "copied", "copy_by_hand", "link")
    text = {name: page.t(f"share.{name}") for name in names}
    mount("share")(key=key, data={"link": link, "text": text, "theme": page.theme})


def scan_code(page: Frame, link: str) -> None:
    """Draw the code to scan from the projector."""
    if len(link) > LONGEST_CODE:
        st.caption(page.t("share.no_code", longest=LONGEST_CODE, length=len(link)))
        return
    drawn = segno.make(link, error="l", micro=False).svg_inline(scale=4, light="#ffffff")
    with st.container(horizontal_alignment="center"), st.container(width=CODE_WIDTH):
        st.image(drawn, caption=page.t("share.code"), width="stretch")
