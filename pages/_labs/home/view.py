"""The home page's parts: the pair alive, its proof, a run to start, doors to the labs, the name."""

from collections.abc import Mapping

import streamlit as st

from owi_core.experiments.pronoun import Result
from owi_core.figures import signed
from owi_core.gallery import DEFAULT_MODEL, lead_pair
from owi_core.jobs.tasks import ENDED
from owi_core.readings import Reading
from pages._ui.base import settings, teaching
from pages._ui.base.entries import HOME, PageEntry, listed_entries
from pages._ui.base.i18n import translator
from pages._ui.base.links import LANGUAGE
from pages._ui.base.mounting import lab_style
from pages._ui.base.page import Frame
from pages._ui.draw import say
from pages._ui.draw.badge import check_mark
from pages._ui.draw.code import Inputs, answer_code, show_code
from pages._ui.draw.components import looking
from pages._ui.draw.events import clicked
from pages._ui.draw.place import SIDES, Name
from pages._ui.frame.address import following
from pages._ui.frame.frame import page_link
from pages._ui.session.jobs import seconds_here, session_jobs
from pages._ui.session.reading import bundle_of, reading_of
from pages._ui.session.state import held, set_kept

EXPERIMENT, TRAIN_PAGE = "pronoun", "train"
DOORS_IN_A_ROW = 3


def style() -> None:
    """Set the answers as large as the words."""
    lab_style("home")


@following
def pair_alive(page: Frame) -> None:
    """Draw the leading pair with the row of the word that looks; a click chooses another."""
    pair = lead_pair(page.lang)
    readings = {name: _reading(page, name) for name in SIDES}
    with st.container(key="home_pair"):
        for name, reading in readings.items():
            _line(page, name, reading)
    st.markdown(f"**{_finding(page, readings)}**")
    st.caption(_checks(page, readings))
    layer, query = readings["A"].record.n_layer - 1, readings["A"].query
    show_code(page, answer_code(Inputs(pair.model, (pair.a,), (query,), layer)))


def train_button(page: Frame) -> None:
    """Draw the button that trains a model here and now, and goes to watch it.

    It trains the default model, whose training is the shortest.
    """
    if TRAIN_PAGE in settings.current().hidden:
        return
    result = Result.from_dict(bundle_of(DEFAULT_MODEL).note["result"])
    # The seconds in the shipped model's note are another machine's: only those of this one count.
    seconds = seconds_here(EXPERIMENT, _recipe())
    label = (
        page.t("train.button_steps", steps=result.steps)
        if seconds is None
        else page.t("train.button", seconds=max(1, round(seconds)))
    )
    if st.button(label, type="primary", key="home.train"):
        _start()
        address = {LANGUAGE: page.lang, **teaching.carried()}
        st.switch_page(f"pages/{TRAIN_PAGE}.py", query_params=address)
    about = {"accuracy": result.accuracy_heldout, "steps": result.steps}
    st.caption(page.t("train.about", **about))


def doors(page: Frame) -> None:
    """Draw a door for every page that names itself in a catalog."""
    st.subheader(page.t("doors.title"), anchor=False)
    entries = [entry for entry in listed_entries(page.lang) if entry.name != HOME]
    for start in range(0, len(entries), DOORS_IN_A_ROW):
        row = entries[start : start + DOORS_IN_A_ROW]
        for column, entry in zip(st.columns(DOORS_IN_A_ROW), row, strict=False):
            with column.container(border=True, height="stretch"):
                _door(page, entry)


def name_explained(page: Frame) -> None:
    """Explain OWI in its two meanings."""
    st.subheader(page.t("name.title"), anchor=False)
    left, right = st.columns(2)
    left.markdown(page.t("name.dynamic"))
    right.markdown(page.t("name.structural"))


def _reading(page: Frame, name: Name) -> Reading:
    pair = lead_pair(page.lang)
    text, query = {"A": (pair.a, pair.query_a), "B": (pair.b, pair.query_b)}[name]
    index = clicked(_words_key(name))
    if isinstance(index, int | float):
        set_kept(_query_key(name), int(index))
    usual = reading_of(pair.model, text, query)
    asked = held(_query_key(name), usual.query, among=range(len(usual.labels)))
    return reading_of(pair.model, text, asked)


def _line(page: Frame, name: Name, reading: Reading) -> None:
    layer = reading.record.n_layer - 1
    left, right = st.columns([5, 1], vertical_alignment="center", gap="medium")
    with left:
        looking(page, reading, layer, colour=name, key=_words_key(name))
    with right, st.container(key=f"home_answer_{name.lower()}"):
        key = "answer" if reading.answer.known else "looks_only"
        row = reading.record.row(reading.query, layer)
        values = {"word": reading.answer.word, "p": reading.answer.probability}
        top = reading.labels[int(row.argmax())]
        st.markdown(page.t.markdown(key, **values, top=top, mass=float(row.max())))


def _finding(page: Frame, readings: Mapping[Name, Reading]) -> str:
    a, b = readings["A"], readings["B"]
    if a.answer.known and b.answer.known and a.answer.word != b.answer.word:
        return page.t("finding.two_maps")
    return page.t("finding.other_word")


def _checks(page: Frame, readings: Mapping[Name, Reading]) -> str:
    """Return the records' own checks, what cutting did, and each answer's route, as one line."""
    rows = translator(page.lang, "rows")
    marks = [check_mark(rows, *check) for check in say.checks(readings.values())[:2]]
    for reading in readings.values():
        strongest = reading.strongest()
        cut = reading.cut(strongest)
        if cut is None or strongest is None or not reading.answer.known:
            continue
        mark = "✓" if cut.effect == "carries" else "✗"
        values = {"query": reading.labels[reading.query], "key": cut.word}
        change = signed(cut.change_nats, 1)
        marks.append(f"{mark} {page.t.markdown('check.cut', **values, change=change)}")
        route = say.route_line(reading)
        if route is not None:
            marks.append(page.t.markdown(f"check.{route[0]}", **route[1]))
    return " · ".join(marks)


def _start() -> None:
    """Train from nothing, or share a run of the same recipe that is under way."""
    params = _recipe()
    set_kept("train.corpus", params["family"])
    jobs = session_jobs()
    if jobs.start(EXPERIMENT, params).state in ENDED:  # a stored result would show no training
        jobs.start(EXPERIMENT, params, fresh=True)


def _recipe() -> dict[str, str]:
    """Return what is set of the training that the home page starts; all else is the default."""
    return {"family": bundle_of(DEFAULT_MODEL).note["params"]["family"]}


def _door(page: Frame, entry: PageEntry) -> None:
    words = translator(page.lang, entry.name)
    page_link(entry, page.lang)
    if words.has("page.question"):
        st.caption(words("page.question"))


def _words_key(name: Name) -> str:
    return f"home.words.{name}"


def _query_key(name: Name) -> str:
    return f"home.query.{name}"
