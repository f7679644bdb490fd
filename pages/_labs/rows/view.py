"""How the rows page shows what was read: words with their rows, verdict, difference, proof, map."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from owi_core.figures import (
    CutEdge,
    NamedRow,
    attention_path,
    is_same_everywhere,
    knockout_bars,
    row_bars,
    row_difference,
)
from owi_core.figures.theme import Theme
from owi_core.probes.rows import rollout
from owi_core.readings import Reading
from pages._labs.rows.form import (
    MAP_SIDE,
    MATRIX,
    remember_drawn,
    set_place,
    show_pair,
    words_key,
)
from pages._ui.base.figure_text import figure_look, figure_text
from pages._ui.base.mounting import lab_style
from pages._ui.base.page import Frame
from pages._ui.draw import code, say
from pages._ui.draw.charts import chart
from pages._ui.draw.code import Inputs, show_code
from pages._ui.draw.components import attention_matrix, looking
from pages._ui.draw.events import clicked
from pages._ui.draw.forms import segments
from pages._ui.draw.head_grid import chosen_head, head_grid
from pages._ui.draw.place import Name, Place
from pages._ui.draw.say import Line
from pages._ui.session.reading import model_stamp
from pages._ui.session.state import keep, kept_value

MOST_CUTS = 12
_SPARE_ROW = re.compile(r"<NEW(\d+)>")  # as the tokenizer labels it; no text is cut into this
GRID = "rows.grid"

Readings = Mapping[Name, Reading]


def style() -> None:
    """Give the two sentences their colours."""
    lab_style("rows")


def take_clicks(readings: Readings) -> None:
    """Take the head that was clicked since the last run, before anything is drawn."""
    record = readings[_map_side(readings)].record
    chosen = chosen_head(clicked(GRID), record.n_layer, record.n_head)
    if chosen is not None:
        set_place(*chosen)


def words(page: Frame, name: Name, reading: Reading, place: Place) -> None:
    """Draw a sentence as words to click, its row as bars, its answer and where it looks."""
    remember_drawn(name, reading.encoding.text)
    looking(page, reading, *place, unknown=reading.unknown, colour=name, key=words_key(name))
    _answer(page, name, reading, place)


def verdict(page: Frame, pair: str, readings: Readings, place: Place) -> None:
    """Say what the two sentences show together; offer the model that can where this one cannot."""
    line = say.finding(readings["A"], readings["B"], *place)
    st.markdown(_told(page, line))
    if line[0] == "finding.identical_causal" and pair == "fit_causal":
        st.button(
            page.t("finding.offer_bidirectional"),
            on_click=show_pair,
            args=("fit_bidirectional",),
            key="rows.offer",
        )


def difference(page: Frame, readings: Readings, place: Place, inputs: Inputs) -> None:
    """Draw B − A word by word, with its sign."""
    st.subheader(page.t("difference.title"), anchor=False)
    a, b = (r.record.row(r.query, *place) for r in readings.values())
    labels_a, labels_b = (r.labels for r in readings.values())
    if is_same_everywhere(labels_a, labels_b, a, b):
        st.markdown(page.t("difference.none"))
        return
    st.caption(page.t("difference.about"))
    figure = _difference(inputs, model_stamp(inputs.model), page.theme, page.lang, readings)
    chart(page, figure, key="rows.difference", scroll=True)
    show_code(page, code.rows_code(inputs))


def proof(page: Frame, name: Name, reading: Reading, layer: int, inputs: Inputs) -> None:
    """Cut the row's edges one by one and show what that did to the answer."""
    st.markdown(f"**{name}**")
    for line in say.proof_lines(reading, layer):
        st.markdown(_told(page, line))
    figure = _proof(inputs, model_stamp(inputs.model), page.theme, page.lang, reading)
    if figure is not None:
        chart(page, figure, key=f"rows.cuts.{name}", scroll=True)
    show_code(page, code.proof_code(inputs))


def path(page: Frame, name: Name, reading: Reading, inputs: Inputs) -> None:
    """Draw the looks that an answer may come by, where it is not read directly alone."""
    st.subheader(page.t("path.title", side=name), anchor=False)
    st.markdown(_told(page, say.path_line(reading)))
    pattern = reading.record.pattern.mean(axis=1)
    figure = attention_path(pattern, reading.labels, reading.query, **figure_look(page))
    chart(page, figure, key=f"rows.path.{name}", scroll=True)
    show_code(page, code.path_code(inputs))


def whole_map(page: Frame, readings: Readings, place: Place, inputs: Mapping[Name, Inputs]) -> None:
    """Draw the matrix of the chosen layer and head, and all layers and heads beside it."""
    st.subheader(page.t("map.title"), anchor=False)
    layer, head = place
    name = _map_side(readings)
    if len(readings) > 1:
        name = segments(
            page.t("map.side"),
            list(readings),
            key=MAP_SIDE,
            usual=next(iter(readings)),
            label_visibility="collapsed",
        )
    reading = readings[name]
    left, right = st.columns([3, 2], gap="large")
    with left:
        st.caption(_place_name(page, place))
        _matrix(page, name, reading, place)
        show_code(page, code.matrix_code(inputs[name]))
    with right:
        st.caption(page.t("grid.hint"))
        record = reading.record
        labels = reading.labels
        head_grid(page, record.pattern, record.mask, labels, selected=(layer, head), key=GRID)
        show_code(page, code.heads_code(inputs[name]))


def flow(page: Frame, readings: Readings, inputs: Inputs) -> None:
    """Draw the rollout rows, folded away and made only when they are asked for."""
    folded = st.expander(
        page.t("rollout.title"), key=keep("rows.rollout", False), on_change="rerun"
    )
    with folded:
        if not folded.open:
            return
        st.markdown(page.t("rollout.about"))
        rows = [
            NamedRow(name, r.labels, rollout(r.record.pattern)[r.query], name, r.query)
            for name, r in readings.items()
        ]
        chart(page, row_bars(rows, **figure_look(page)), key="rows.rollout.bars", scroll=True)
        show_code(page, code.rollout_code(inputs))


# A figure takes longer to build than all else that a click needs: it is built once.
@st.cache_resource(show_spinner=False, max_entries=100)
def _difference(inputs: Inputs, stamp: str, theme: Theme, lang: str, _readings: Readings) -> Any:
    a, b = _readings.values()
    row_a, row_b = (r.record.row(r.query, inputs.layer, inputs.head) for r in (a, b))
    text = figure_text(lang)
    return row_difference(a.labels, row_a, b.labels, row_b, theme=theme, text=text)


@st.cache_resource(show_spinner=False, max_entries=100)
def _proof(inputs: Inputs, stamp: str, theme: Theme, lang: str, _reading: Reading) -> Any:
    cuts = _cuts(_reading, inputs.layer)
    return knockout_bars(cuts, theme=theme, text=figure_text(lang)) if cuts else None


def _answer(page: Frame, name: Name, reading: Reading, place: Place) -> None:
    with st.container(key=f"rows_answer_{name.lower()}"):
        st.markdown(_told(page, say.answer_line(reading)))
        gaze = _told(page, say.gaze_line(reading, *place))
        shape = say.shape_of(reading, reading.record.row(reading.query, *place))
        st.caption(gaze + page.t(f"shape.{shape}"))
        would = say.would_line(reading)
        if would is not None:
            st.caption(_told(page, would))
        for key in ("unknown_words", "unknown_marks"):
            words = getattr(reading, key)
            if words:
                st.caption(page.t.markdown(key, words=words))


def _matrix(page: Frame, name: Name, reading: Reading, place: Place) -> None:
    layer, head = place
    pattern = reading.record.pattern[layer]
    attention_matrix(
        page,
        pattern.mean(axis=0) if head is None else pattern[head],
        reading.labels,
        reading.labels,
        mask=reading.record.mask,
        selected=reading.query,
        key=MATRIX,
    )


def _cuts(reading: Reading, layer: int) -> list[CutEdge]:
    """Return the edges of the row in reading order: the dearest, the strongest and the control."""
    effects: NDArray[np.float32] = reading.effects[layer]
    strongest = reading.strongest(layer)
    control = None if strongest is None else reading.control(strongest)
    order = sorted(np.flatnonzero(~np.isnan(effects)), key=lambda key: -abs(float(effects[key])))
    first = [edge.key for edge in (strongest, control) if edge is not None]
    kept = list(dict.fromkeys([*first, *(int(key) for key in order)]))[:MOST_CUTS]
    query, labels = reading.query, reading.labels
    return [
        CutEdge(
            query_label=labels[query],
            query=query,
            key_label=labels[key],
            key=key,
            change_nats=float(effects[key]),
            control=control is not None and key == control.key,
        )
        for key in sorted(kept)
    ]


def _map_side(readings: Readings) -> Name:
    return kept_value(MAP_SIDE, next(iter(readings)), among=list(readings))


def _place_name(page: Frame, place: Place) -> str:
    layer, head = place
    which = page.t("mean_of_heads") if head is None else page.t("grid.head", head=head + 1)
    return page.t("map.place", layer=layer + 1, head=which)


def _told(page: Frame, line: Line) -> str:
    key, values = line
    return page.t.markdown(key, **{name: _named(page, value) for name, value in values.items()})


def _named(page: Frame, value: Any) -> Any:
    """Name a row of the vocabulary that is kept for new words in the reader's language."""
    spare = _SPARE_ROW.fullmatch(value) if isinstance(value, str) else None
    return page.t("spare_row", n=spare[1]) if spare else value
