"""The frame around every page: title, navigation, language and theme.

Each page calls `frame(NAME)` first and does so by itself: a server whose first request is a
deep link runs that page's script alone, so nothing here may wait for app.py.

What needs torch is imported where it is used: that takes seconds at a server's first request, and
by then the title is on screen.
"""

import json
from typing import Any, NoReturn
from urllib.parse import unquote, urlsplit

import streamlit as st

from owi_core import process
from owi_core.assets import ASSETS
from pages._ui.base import access, i18n, links, page_contents, settings, teaching
from pages._ui.base.entries import HOME, PageEntry, grouped_entries, page_entries
from pages._ui.base.i18n import Translator, translator
from pages._ui.base.mounting import mount, page_style
from pages._ui.base.page import Frame
from pages._ui.base.theme import current_theme
from pages._ui.frame import report, settings_check
from pages._ui.session import state, visit

# A file of ours: for an emoji or a Material icon in the tab, Streamlit asks a foreign host.
ICON = str(ASSETS / "icon.svg")
_CORRECTED = "owi.corrected_address"


def frame(name: str) -> Frame:
    """Set the page up and return its language, sentences and theme: a page's first call.

    Draws the style, the sidebar and, where the catalog has `page.question` and `page.lead`,
    the question as title and one sentence under it, or the lesson that the address names.  Opens
    the link in the address bar; while the model is trained that a link was made with, or until a
    lesson's question has been answered, nothing below the heading is drawn.
    """
    process.prepare_server()
    visit.begin()
    lang = language()
    t = translator(lang, name)
    state.remember()
    if not access.may_open(name, st.query_params.to_dict()):
        _page_not_found(lang)
    if name == HOME:
        _go_where_meant(lang)
    course = _lesson(name, lang)
    opened = state.open_link(name)
    before = state.begin_view(name)
    page_contents.begin(name)
    st.set_page_config(
        page_title=f"{t('page.title')} · OWI",
        page_icon=ICON,
        layout="wide",
        initial_sidebar_state="collapsed" if teaching.asked().on else "auto",
        # An entry of our own makes the menu appear, and with it the choice of light and dark.
        menu_items={"About": t("about")},
    )
    st.html(
        f"<style>{_css_words(translator(lang, 'common'))}{page_style()}{teaching.style()}</style>"
    )
    with st.sidebar:
        _sidebar(lang, translator(lang, "common"), pages=course is None)
    page = Frame(lang=lang, t=t, theme=current_theme())
    title = st.container(horizontal=True, horizontal_alignment="distribute", key="owi_heading")
    if t.has("page.question"):
        title.title(t("page.question"), anchor=False)
    if t.has("page.lead") and course is None:
        st.markdown(t("page.lead"))
    from pages._ui.frame import title_row

    title_row.draw(page, title, opened, before, course)
    return page


def language() -> str:
    """Return "zh" or "en": the link's, the session's, the server's, else the browser's."""
    asked = links.without_marks(st.query_params.get("lang", ""))
    if asked not in i18n.LANGUAGES:
        locale = (st.context.locale or "en").lower()
        usual = settings.current().language
        if usual == settings.AUTO:
            usual = "zh" if locale.startswith("zh") else "en"
        asked = st.session_state.get(state.LANGUAGE, usual)
    st.session_state[state.LANGUAGE] = asked
    return str(asked)


def _go_where_meant(lang: str) -> None:
    """Switch to the page whose address was sent with a mark behind it, as in `/rows。`.

    Streamlit runs the home page for a path that it does not know; only this first run sees it.
    """
    path = unquote(urlsplit(st.context.url or "").path).rpartition("/")[2]
    name = links.without_marks(path)
    meant = next((entry for entry in page_entries(lang) if entry.name == name != path), None)
    if meant is not None:
        st.session_state[_CORRECTED] = True
        st.switch_page(meant.file, query_params=st.query_params.to_dict())


def _page_not_found(lang: str) -> NoReturn:
    """Show that the page does not exist, whether it is hidden or needs a token, and end the run."""
    t = translator(lang, "common")
    st.set_page_config(page_title="OWI", page_icon=ICON, layout="wide")
    st.html(f"<style>{_css_words(t)}{page_style()}</style>")
    with st.sidebar:
        _sidebar(lang, t, pages=True)
    st.title(t("absent.title"), anchor=False)
    st.markdown(t("absent.about"))
    page_link(next(entry for entry in page_entries(lang) if entry.name == HOME), lang)
    st.stop()


def page_link(entry: PageEntry, lang: str, label: str | None = None) -> None:
    """Draw a link to a page that takes the language along."""
    st.page_link(
        entry.file,
        label=label or entry.title,
        icon=entry.icon,
        query_params={"lang": lang, **teaching.carried()},
        width="stretch",
    )


def footer(lang: str) -> None:
    """Offer the page's report, draw the small print under it, and end its view: its last call."""
    from pages._ui.frame import address
    from pages._ui.lessons import doors
    from pages._ui.session import link_replay

    link_replay.tell(lang)
    state.end_view()
    visit.save()
    name = page_contents.current().name
    if not teaching.asked().on:
        report.offer(lang, current_theme())
        _further_reading(translator(lang, name))
        doors.here(lang, name)
        settings_check.tell(lang)
    st.caption(translator(lang, "common")("footer"))
    address.write(st.sidebar.container(), state.current_view(), lang)
    process.freeze_loaded(name)


def _lesson(name: str, lang: str) -> Any:
    """Return the lesson that the address names, or why there is none."""
    if links.LESSON not in st.query_params:
        return None
    from pages._ui.lessons import bar

    return bar.begin(name, lang)


def _further_reading(t: Translator) -> None:
    """List, folded, the papers and sources on a lab's subject."""
    if not t.has("reading.papers"):
        return
    with st.expander(t("further.title"), type="compact"):
        for place in ("papers", "pytorch", "huggingface"):
            st.markdown(f"**{t(f'further.{place}')}** {t(f'reading.{place}')}")


def _sidebar(lang: str, t: Translator, *, pages: bool) -> None:
    st.html(f'<div class="owi-brand"><b>OWI</b><span>{t("brand")}</span></div>')
    _language_switch(lang, t)
    with st.container(key="owi_navigation"):
        for group, entries in grouped_entries(lang) if pages else ():
            st.html(f'<div class="owi-group">{t(f"group.{group}")}</div>')
            for entry in entries:
                page_link(entry, lang)
    mount("frame")(
        key="owi.frame",
        data={
            "theme": current_theme(),
            "lang": {"zh": "zh-CN"}.get(lang, lang),
            "visit": visit.token(),
            "corrected": bool(st.session_state.get(_CORRECTED)),
        },
        on_theme_change=lambda: None,
    )


def _css_words(t: Translator) -> str:
    """Return the words that the style sheet puts in place of Streamlit's own English ones."""
    words = [
        "upload",
        "enter",
        "ctrl_enter",
        "system",
        "light",
        "dark",
        "about",
        "refused",
        "awaited",
    ]
    said = (
        f"--owi-say-{word}: {json.dumps(t(f'say.{word}'), ensure_ascii=False)};" for word in words
    )
    return f":root {{ {' '.join(said)} }}\n"


def _language_switch(lang: str, t: Translator) -> None:
    st.session_state[state.LANGUAGE_WIDGET] = lang
    st.segmented_control(
        t("language"),
        i18n.LANGUAGES,
        label_visibility="collapsed",
        format_func=lambda code: translator(code, "common")("language_name"),
        required=True,
        key=state.LANGUAGE_WIDGET,
        on_change=_take_language,
    )


def _take_language() -> None:
    lang = st.session_state[state.LANGUAGE_WIDGET]
    if lang in i18n.LANGUAGES:
        st.session_state[state.LANGUAGE] = lang
        st.query_params["lang"] = lang
