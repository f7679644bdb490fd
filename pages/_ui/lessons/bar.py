"""The lesson above a lab: its text, its question, and the answer that was measured.

The address holds the whole state: lesson, step, and the choices so far.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import streamlit as st

from owi_core.errors import LessonError, OwiError
from owi_core.measures import MEASURES, Measured, measure
from pages._ui.base import links, teaching
from pages._ui.base.entries import HOME, page_entries
from pages._ui.base.i18n import Translator, error_text, translator
from pages._ui.base.page import Frame
from pages._ui.base.teaching import Teaching
from pages._ui.lessons.catalog import lesson
from pages._ui.lessons.file import Lesson, Question, Step
from pages._ui.session.reading import shipped_bundle
from pages._ui.session.state import forget, keep

NOTHING = "-"


@dataclass(frozen=True)
class Course:
    """A lesson in progress: the step, and what was chosen at each step so far."""

    name: str
    lesson: Lesson
    at: int
    said: str
    lang: str

    @property
    def ended(self) -> bool:
        """Whether the last step has been passed."""
        return self.at > len(self.lesson.steps)

    @property
    def step(self) -> Step:
        """The current step; after the end, the last one."""
        return self.lesson.steps[min(self.at, len(self.lesson.steps)) - 1]

    def chosen(self, at: int) -> int | None:
        """Return the choice made at step `at` (from 1); None for none, or for one that it lacks."""
        question = self.lesson.steps[at - 1].question
        mark = self.said[at - 1 : at]
        if question is None or not mark.isdigit() or int(mark) >= len(question.choices):
            return None
        return int(mark)

    def saying(self, choice: int) -> "Course":
        """Return the course with a choice recorded at this step."""
        padded = self.said.ljust(self.at, NOTHING)
        return replace(self, said=f"{padded[: self.at - 1]}{choice}{padded[self.at :]}")

    def address(self, at: int) -> dict[str, str]:
        """Return the parameters that lead to a step."""
        view = replace(self, at=at).step.view
        said = {links.SAID: self.said} if self.said else {}
        return {links.LANGUAGE: self.lang, **entrance(self.name, at), **said, **view}


def entrance(name: str, at: int = 1) -> dict[str, str]:
    """Return the parameters that open a lesson, and those of teaching mode."""
    return {links.LESSON: name, links.AT: str(at), **teaching.carried()}


def begin(page: str, lang: str) -> Course | OwiError | None:
    """Return the lesson that the address names, the error that prevents it, or None.

    Where the address is not the step's page and view yet, this switches to that page and does not
    return.
    """
    asked = teaching.asked()
    if asked.lesson is None:
        return None
    try:
        course = _course(asked, lang)
    except LessonError as error:
        return error
    if course.step.page != page or not _complete(course, asked):
        _go(course, course.at)
    return course


def draw(page: Frame, found: Course | OwiError) -> None:
    """Draw the lesson; while a question waits for its answer, the script stops here."""
    t = translator(page.lang, "lessons")
    if isinstance(found, OwiError):
        st.error(error_text(page.lang, found), icon=":material/block:")
        return
    with st.container(border=True, key="owi_lesson"):
        _progress(t, found)
        if found.ended:
            _summary(t, found)
        else:
            _step(t, found)
        _ways(t, found)
    if not found.ended and found.step.question is not None and found.chosen(found.at) is None:
        st.caption(t("covered"))
        st.stop()


def measured(question: Question) -> Measured:
    """Measure the question's answer; raise OwiError when it cannot be measured."""
    return _measured(question.measure, json.dumps(dict(question.values), ensure_ascii=False))


def number_line(t: Translator, question: Question, found: Measured) -> str:
    """Return the sentence with the measured number, as Markdown."""
    values = {"outcome": found.outcome, "number": found.number, **found.values}
    return t.markdown(f"measured.{question.measure}", **values)


def _course(asked: Teaching, lang: str) -> Course:
    name = str(asked.lesson)
    found = lesson(name, lang)
    return Course(name, found, min(asked.at, len(found.steps) + 1), asked.said, lang)


def _complete(course: Course, asked: Teaching) -> bool:
    """Return whether the address names the step and has a view; the user may have changed it."""
    own = [name for name in st.query_params if name not in links.OWN]
    return (
        asked.at == course.at and links.AT in st.query_params and bool(own or not course.step.view)
    )


def _progress(t: Translator, course: Course) -> None:
    n = len(course.lesson.steps)
    place = t("ended") if course.ended else t("place", at=course.at, n=n)
    st.progress(min(course.at, n) / n, text=f"**{course.lesson.title}**　{place}")


def _step(t: Translator, course: Course) -> None:
    st.markdown(course.step.text)
    question = course.step.question
    if question is None:
        return
    said = course.chosen(course.at)
    if said is not None:
        st.markdown(f"**{question.ask}**\\\n{t('yours')}{question.choices[said].text}")
        _verdict(t, question, said)
        return
    picked = st.radio(
        f"**{question.ask}**",
        range(len(question.choices)),
        format_func=lambda i: question.choices[i].text,
        key=keep(
            f"lesson.{course.name}.{course.at}", None, among=(None, *range(len(question.choices)))
        ),
        index=None,
    )
    _reveal_button(t, course, picked)


def _reveal_button(t: Translator, course: Course, picked: int | None) -> None:
    def say() -> None:
        if picked is not None:
            st.query_params[links.SAID] = course.saying(picked).said

    st.button(
        t("reveal"), type="primary", disabled=picked is None, on_click=say, key="owi.lesson.reveal"
    )


def _verdict(t: Translator, question: Question, said: int) -> None:
    """Show whether the prediction agrees with the measurement, and the choice's explanation."""
    try:
        found = measured(question)
    except OwiError as error:
        st.error(error_text(t.lang, error), icon=":material/block:")
        return
    right = question.of_outcome(found.outcome)
    line = number_line(t, question, found)
    if right == said:
        st.success(f"**{t('right')}** {line}")
    else:
        st.warning(f"**{t('neither' if right is None else 'wrong')}** {line}")
    if right is not None and question.choices[right].reveal:
        st.markdown(question.choices[right].reveal)


def _ways(t: Translator, course: Course) -> None:
    """Draw the buttons for the next step, the step before, and leaving."""
    with st.container(horizontal=True, key="owi_lesson_ways"):
        if st.button(t("back"), disabled=course.at == 1, key="owi.lesson.back"):
            _go(course, course.at - 1)
        if course.ended:
            if st.button(t("again"), key="owi.lesson.again", on_click=_forget, args=(course,)):
                _go(replace(course, said=""), 1)
        elif st.button(t("next"), type=_weight(course), key="owi.lesson.next"):
            _go(course, course.at + 1)
        label = "to_lab" if course.ended else "leave"
        if st.button(t(label), type="tertiary", key="owi.lesson.leave"):
            st.switch_page(_file(course.step.page), query_params={links.LANGUAGE: course.lang})


def _weight(course: Course) -> Literal["primary", "secondary"]:
    """Return the style of "next": not the main button while a question waits."""
    open_ = course.step.question is not None and course.chosen(course.at) is None
    return "secondary" if open_ else "primary"


def _summary(t: Translator, course: Course) -> None:
    rows = list(_rows(t, course))
    right = sum(mark == "✓" for mark, _ in rows)
    st.markdown(f"**{t('summary', right=right, n=len(rows))}**")
    for mark, line in rows:
        st.markdown(f"{mark} {line}")


def _rows(t: Translator, course: Course) -> Iterator[tuple[str, str]]:
    """Yield for each question its mark, and a line with the prediction and the measurement."""
    for at, step in enumerate(course.lesson.steps, start=1):
        question, said = step.question, course.chosen(at)
        if question is None:
            continue
        try:
            found = measured(question)
        except OwiError as error:
            yield ":material/block:", f"**{question.ask}** {error_text(t.lang, error)}"
            continue
        mark = "–" if said is None else "✓" if question.of_outcome(found.outcome) == said else "✗"
        yours = t("not_said") if said is None else question.choices[said].text
        line = number_line(t, question, found)
        yield mark, f"**{question.ask}**\\\n{t('yours')}{yours}\\\n{t('came_out')}{line}"


def _go(course: Course, at: int) -> None:
    """Switch to a step's page; the address carries the state."""
    there = replace(course, at=at)
    st.switch_page(_file(there.step.page), query_params=course.address(at))


def _file(page: str) -> str:
    """Return a page's script; the lesson's file was checked against the same list."""
    files = {entry.name: entry.file for entry in page_entries("zh")}
    return files.get(page, files[HOME])


def _forget(course: Course) -> None:
    for at in range(1, len(course.lesson.steps) + 1):
        forget(f"lesson.{course.name}.{at}")


@st.cache_data(show_spinner=False, max_entries=200)
def _measured(name: str, values: str) -> Measured:
    assert name in MEASURES
    return measure(name, json.loads(values), shipped_bundle)
