"""Attention rows: two sentences, one word in each, what it looks at, and whether that matters."""

from collections.abc import Mapping

import streamlit as st
from streamlit.delta_generator import DeltaGenerator as Box

from pages._labs.rows import form, view
from pages._labs.rows.view import Readings
from pages._ui.base.guard import guarded
from pages._ui.base.page import Frame
from pages._ui.draw import record_take, say
from pages._ui.draw.badge import badge
from pages._ui.draw.code import Inputs, answer_code, show_code
from pages._ui.draw.place import SIDES, Name, Place
from pages._ui.frame.address import following
from pages._ui.frame.frame import footer, frame
from pages._ui.session.reading import reading_of


def main() -> None:
    page = frame("rows")
    view.style()
    body(page)
    footer(page.lang)


@following
def body(page: Frame) -> None:
    """What is drawn again after a click on a word."""
    form.prepare(page.lang)
    with guarded(page.lang):
        pair = form.choose_pair(page)
        with st.container(key="rows_sides"):
            boxes = {name: st.container(key=f"rows_side_{name.lower()}") for name in SIDES}
        with st.container():
            layer, head, choice = st.columns([2, 4, 4])
        with choice:
            model = form.choose_model(page, pair)
        readings = sentences(page, boxes, model)
        if readings:
            form.settle(pair, model, list(readings.values()))
            view.take_clicks(readings)
            place = form.choose_head(page, layer, head, next(iter(readings.values())))
            for name, reading in readings.items():
                with boxes[name]:
                    view.words(page, name, reading, place)
            show(page, pair, model, readings, place)


def sentences(page: Frame, boxes: Mapping[Name, Box], model: str) -> Readings:
    """Draw the field of each sentence; return what could be read."""
    readings = {}
    for name, box in boxes.items():
        with box, guarded(page.lang):
            side = form.type_text(page, name, model)
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
        view.verdict(page, pair, readings, place)
    badge(page.t, readings.values())
    show_code(page, answer_code(next(iter(inputs.values()))))
    record_take.take_along(page, readings, model)
    if len(readings) == 2:
        view.difference(page, readings, place, both)
    st.subheader(page.t("proof.title"), anchor=False)
    st.markdown(page.t("proof.about"))
    for (name, reading), column in zip(readings.items(), st.columns(len(readings)), strict=True):
        with column:
            view.proof(page, name, reading, place[0], inputs[name])
    for name, reading in readings.items():
        if say.is_indirect(reading):
            view.path(page, name, reading, inputs[name])
    view.whole_map(page, readings, place, inputs)
    view.flow(page, readings, next(iter(inputs.values())))


main()
