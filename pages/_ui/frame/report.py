"""The whole lab as one file to keep and to print: what the page shows, with its settings.

The browser collects what is on the page; this module adds what is not visible there: the settings
and seeds of runs and models, and the lines of Python, even where they are folded.
"""

import streamlit as st

from owi_core.figures.theme import FONT_FAMILY, Theme
from pages._ui.base import page_contents
from pages._ui.base.i18n import translator
from pages._ui.base.mounting import mount

WORDS = ("report", "failed", "gathering", "settings", "code_title", "made", "source")


def offer(lang: str, theme: Theme) -> None:
    """Draw the button for the report, the last thing on a page."""
    t, now = translator(lang, "common"), page_contents.current()
    # Opening it runs the whole page, so that settings and code match what is on screen.
    with st.container(key="owi_report"):
        opened = st.popover(
            t("report.open"), key="owi.report", on_change="rerun", icon=":material/description:"
        )
    if not opened.open:
        return
    with opened:
        st.markdown(t("report.about"))
        if theme == "dark":
            st.caption(t("report.dark"))
        mount("report", style="export")(
            key="owi.report.file",
            data={
                "name": f"owi-{now.name}-report.html",
                "lang": {"zh": "zh-CN"}.get(lang, lang),
                "font": FONT_FAMILY,
                "facts": list(now.facts.items()),
                "code": now.all_code(),
                "theme": theme,
                "text": {word: t(f"report.{word}") for word in WORDS},
            },
        )
