"""Links to lessons: all of them on the home page, and in a lab those that begin there."""

import streamlit as st

from owi_core.errors import LessonError
from pages._ui.base import links
from pages._ui.base.entries import page_entries
from pages._ui.base.i18n import error_text, translator
from pages._ui.base.page import Frame
from pages._ui.lessons.bar import entrance
from pages._ui.lessons.catalog import available
from pages._ui.lessons.file import Lesson

IN_A_ROW = 2


def doors(page: Frame) -> None:
    """Draw a box for each lesson with a link; for a broken one, its error."""
    t, found = translator(page.lang, "lessons"), available(page.lang)
    if not found:
        return
    st.subheader(t("title"), anchor=False)
    st.markdown(t("about"))
    for start in range(0, len(found), IN_A_ROW):
        row = found[start : start + IN_A_ROW]
        for column, (name, lesson) in zip(st.columns(IN_A_ROW), row, strict=False):
            with column.container(border=True, height="stretch"):
                _door(page, name, lesson)


def here(lang: str, page: str) -> None:
    """Draw links to the lessons that begin on a page, if there are any."""
    found = [
        (name, lesson)
        for name, lesson in available(lang)
        if isinstance(lesson, Lesson) and lesson.steps[0].page == page
    ]
    if found:
        with st.container(horizontal=True, key="owi_lessons_here"):
            for name, lesson in found:
                _link(lang, name, lesson)


def _door(page: Frame, name: str, lesson: Lesson | LessonError) -> None:
    if isinstance(lesson, LessonError):
        st.markdown(f"`{name}`")
        st.caption(f":material/block: {error_text(page.lang, lesson)}")
        return
    _link(page.lang, name, lesson)
    st.caption(lesson.about)


def _link(lang: str, name: str, lesson: Lesson) -> None:
    first = lesson.steps[0]
    file = next(entry.file for entry in page_entries(lang) if entry.name == first.page)
    address = {links.LANGUAGE: lang, **entrance(name), **first.view}
    st.page_link(file, label=lesson.title, icon=":material/school:", query_params=address)
