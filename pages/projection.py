"""The output projection: heads switched off, taken apart as a sum, and W_O left out."""

from typing import NamedTuple

import streamlit as st

from owi_core.probes.ablation import Head
from owi_core.readings import Reading
from pages._labs.projection import contributions, faults, form, models, training, view
from pages._labs.projection.code import cut_code, parts_code
from pages._labs.projection.models import Place
from pages._ui.base.guard import guarded
from pages._ui.base.page import Frame
from pages._ui.draw.code import show_code
from pages._ui.frame.address import following
from pages._ui.frame.frame import footer, frame
from pages._ui.session.jobs import session_jobs
from pages._ui.session.reading import model_stamp


class Sentence(NamedTuple):
    """A sentence as one model reads it, and the layer whose row is shown."""

    model: str
    place: Place
    reading: Reading
    layer: int


def main() -> None:
    page = frame("projection")
    session_jobs()
    body(page)
    with guarded(page.lang):
        training.show(page)
    footer(page.lang)


@following
def body(page: Frame) -> None:
    """What is drawn again after a click on a word or a head."""
    with guarded(page.lang):
        text_box, sentence_box = st.container(), st.container()
        left, right = st.columns([2, 3])
        with right:
            model = form.choose_model(page)
        with text_box:
            form.type_text(page, model)
        reading = form.read(model)
        with left:
            layer = form.choose_layer(page, reading)
        with sentence_box:
            view.row_before(page, reading, layer)
            view.unsure(page, reading)
        place = (model_stamp(model), reading.encoding.text, reading.query)
        heads(page, Sentence(model, place, reading, layer))


def heads(page: Frame, asked: Sentence) -> None:
    """Switches for the heads, what they do to the answer, and what every part writes."""
    place, reading, layer = asked.place, asked.reading, asked.layer
    cut = form.choose_heads(page, reading)
    changed = models.without(place, reading, cut)
    view.numbers(page, changed)
    st.markdown(view.written(page, view.cut_line(changed, len(cut))))
    if cut:
        st.caption(page.t("row.after", layer=layer + 1))
        on = form.heads_on(layer, reading.record.n_head, cut)
        view.row(page, changed.after, layer, on, "projection.after")
    effects = models.effects(place, reading)
    st.subheader(page.t("worth.title"), anchor=False)
    for line in view.sharing_lines(effects.singles, effects.together, effects.sharing):
        st.markdown(view.written(page, line))
    view.worth(page, effects, cut)
    show_code(page, cut_code(asked.model, reading, cut))
    with guarded(page.lang):
        taken_apart(page, asked, cut)
    with guarded(page.lang):
        faults.show(page, place, reading, layer)


def taken_apart(page: Frame, asked: Sentence, cut: tuple[Head, ...]) -> None:
    """The equality, what heads look at, read and write, and one word's logit as a sum."""
    place, reading, layer = asked.place, asked.reading, asked.layer
    st.subheader(page.t("sum.title"), anchor=False)
    contributions.equality(page, models.errors(place, reading, cut))
    found = models.parts(place, reading, cut)
    work = models.work(place, reading, cut, layer)
    query = reading.labels[reading.query]
    st.markdown(page.t.markdown("table.title", query=query, layer=layer + 1))
    contributions.table(page, reading, work, found, layer, cut)
    st.caption(page.t("table.about"))
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(page.t.markdown("lengths.title", query=query))
        contributions.lengths(page, found, cut)
    with right:
        word = contributions.choose_word(page, reading, found)
        contributions.shares(page, found.shares(word), cut)
    st.caption(page.t("shares.frozen"))
    show_code(page, parts_code(asked.model, reading, word))


main()
