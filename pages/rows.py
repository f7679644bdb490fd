"""Attention rows: two sentences, one word in each, what it looks at, and whether that matters."""

from collections.abc import Mapping

import streamlit as st
from streamlit.delta_generator import DeltaGenerator as Box

from pages._ui import record_take, rows_form, rows_view, say
from pages._ui.code import Inputs, answer_code, show_code
from pages._ui.frame import Frame, footer, frame, guarded
from pages._ui.reading import reading_of
from pages._ui.rows_form import SIDES, Name
from pages._ui.rows_view import Place, Readings


def main() -> None:
    page = frame("rows")
    rows_view.style()
    body(page)
    footer(page.lang)


@st.fragment
def body(page: Frame) -> None:
    """All that a click on a word draws anew."""
    rows_form.prepare()
    with guarded(page.lang):
        pair = rows_form.choose_pair(page)
        boxes = {name: st.container(key=f"rows_side_{name.lower()}") for name in SIDES}
        with st.container():
            layer, head, choice = st.columns([2, 4, 4])
        with choice:
            model = rows_form.choose_model(page, pair)
        readings = sentences(page, boxes, model)
        if readings:
            rows_form.settle(pair, model, list(readings.values()))
            rows_view.take_clicks(readings)
            place = rows_form.choose_head(page, layer, head, next(iter(readings.values())))
            for name, reading in readings.items():
                with boxes[name]:
                    rows_view.words(page, name, reading, place)
            show(page, pair, model, readings, place)


def sentences(page: Frame, boxes: Mapping[Name, Box], model: str) -> Readings:
    """Draw the field of each sentence; return what could be read."""
    readings = {}
    for name, box in boxes.items():
        with box, guarded(page.lang):
            side = rows_form.type_text(page, name, model)
            readings[name] = reading_of(model, side.text, side.query)
    return readings


def show(page: Frame, pair: str, model: str, readings: Readings, place: Place) -> None:
    """Draw what was read: verdict, difference, proof, the whole map."""
    inputs = {
        name: Inputs(model, (r.encoding.text,), (r.query,), *place) for name, r in readings.items()
    }
    if len(readings) == 2:
        both = Inputs(
            model,
            tuple(r.encoding.text for r in readings.values()),
            tuple(r.query for r in readings.values()),
            *place,
        )
        rows_view.verdict(page, pair, readings, place)
    rows_view.badge(page.t, readings.values())
    show_code(page, answer_code(next(iter(inputs.values()))))
    record_take.take_along(page, readings, model)
    if len(readings) == 2:
        rows_view.difference(page, readings, place, both)
    st.subheader(page.t("proof.title"), anchor=False)
    st.markdown(page.t("proof.about"))
    for (name, reading), column in zip(readings.items(), st.columns(len(readings)), strict=True):
        with column:
            rows_view.proof(page, name, reading, place[0], inputs[name])
    for name, reading in readings.items():
        if say.is_two_hop(reading):
            rows_view.path(page, name, reading, inputs[name])
    rows_view.whole_map(page, readings, place, inputs)
    rows_view.flow(page, readings, next(iter(inputs.values())))


main()
