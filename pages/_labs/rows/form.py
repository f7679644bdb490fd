"""What the rows page is asked: two sentences, a word in each, a model, a layer and a head."""

from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from owi_core.gallery import READY_PAIRS, ReadyPair, lead_pair, ready_pair
from owi_core.readings import Reading, clearest_layer
from pages._ui.base.page import Frame
from pages._ui.draw import model_choice
from pages._ui.draw.events import clicked
from pages._ui.draw.forms import select
from pages._ui.draw.model_choice import AUTO
from pages._ui.draw.place import MEAN, SIDES, Name, choose_place
from pages._ui.draw.typed import cuts_words, sentence_field
from pages._ui.session.models import current_model
from pages._ui.session.reading import (
    OWN,
    bundle_of,
    chosen_word,
    follow_own_model,
    model_by_text,
)
from pages._ui.session.state import (
    follow,
    forget,
    held,
    is_new,
    keep,
    kept_value,
    linked,
    renew,
    set_kept,
)

TYPED = "typed"
PAIRS = (*(pair.name for pair in READY_PAIRS), TYPED)

PAIR, MODEL, LAYER, HEAD = "rows.pair", "rows.model", "rows.layer", "rows.head"
MATRIX, MAP_SIDE = "rows.matrix", "rows.map_side"
_SETTLED = "rows.settled"


@dataclass(frozen=True)
class Side:
    """One sentence, and the word that looks: an index, a word, or None for the last pronoun."""

    name: Name
    text: str
    query: int | str | None


def text_key(name: Name) -> str:
    """Return the key of a sentence's field."""
    return f"rows.text.{name}"


def words_key(name: Name) -> str:
    """Return the key of a sentence's clickable words."""
    return f"rows.words.{name}"


def prepare(lang: str) -> None:
    """Fill what is empty at first sight, and take what was clicked since the last run.

    The page opens with the pair that leads in the language, until another one is chosen.
    """
    lead = lead_pair(lang)
    follow(PAIR, lead.name)
    if is_new(PAIR):
        _begin(lead)
    follow_own_model("rows", MODEL, AUTO)
    side = kept_value(MAP_SIDE, SIDES[0], among=SIDES)
    for name, key in [*((name, words_key(name)) for name in SIDES), (side, MATRIX)]:
        index = clicked(key)
        # A click may arrive together with a new text: it was meant for the words drawn before.
        current = st.session_state.get(_drawn_key(name)) == kept_value(text_key(name), "")
        if isinstance(index, int | float) and current:
            ask_from(name, int(index))


def show_pair(name: str) -> None:
    """Fill both fields with a ready pair and let its own model read it."""
    pair = ready_pair(name)
    if pair is None:
        return
    set_kept(PAIR, name)
    set_kept(text_key("A"), pair.a)
    set_kept(text_key("B"), pair.b)
    if not _own_model_reads(pair) and not linked(MODEL):
        set_kept(MODEL, AUTO)
    for side in SIDES:
        forget(_query_key(side))


def ask_from(name: Name, index: int) -> None:
    """Look from another word of a sentence, until its text changes."""
    set_kept(_query_key(name), index)


def remember_drawn(name: Name, text: str) -> None:
    """Note the text whose words a reader can click from now on."""
    st.session_state[_drawn_key(name)] = text


def choose_pair(page: Frame) -> str:
    """Draw the choice of a ready pair and what it is for; return its name, or TYPED."""
    left, right = st.columns([2, 3], vertical_alignment="center")
    with left:
        pair = select(
            page.t("pair.label"),
            PAIRS,
            key=PAIR,
            usual=lead_pair(page.lang).name,
            name=page.t.each("pair.{}.name"),
            label_visibility="collapsed",
            on_change=lambda: show_pair(st.session_state[PAIR]),
        )
    right.caption(page.t(f"pair.{pair}.about"))
    return pair


def choose_model(page: Frame, pair: str) -> str:
    """Draw the choice of a model; return its name."""
    return model_choice.choose_model(page, MODEL, _model_of(pair))


def type_text(page: Frame, name: Name, model: str) -> Side:
    """Draw a sentence's field; return the sentence with the word that looks.

    model: which will read it; a word that it does not see there cannot look.
    """
    text = sentence_field(
        page,
        page.t(f"text.{name}"),
        text_key(name),
        _ready_text(name),
        by_words=cuts_words(bundle_of(model)),
        placeholder=page.t("text.placeholder"),
        label_visibility="collapsed",  # the letter is beside it
        on_change=_mark_typed,
    )
    return Side(name, text, _query_of(name, model))


def settle(pair: str, model: str, readings: list[Reading]) -> None:
    """Go back to the layer that looks hardest, mean over heads, when pair or model are new."""
    before = st.session_state.get(_SETTLED, (pair,))
    renew(_SETTLED, (pair if pair != TYPED else before[0], model), LAYER, HEAD)
    record = readings[0].record
    keep(LAYER, clearest_layer(readings), among=range(record.n_layer))
    keep(HEAD, MEAN, among=range(MEAN, record.n_head))


def set_place(layer: int, head: int | None) -> None:
    """Look at another layer and head, None for the mean; before their choice is drawn."""
    set_kept(LAYER, layer)
    set_kept(HEAD, MEAN if head is None else head)


def choose_head(
    page: Frame, left: DeltaGenerator, right: DeltaGenerator, reading: Reading
) -> tuple[int, int | None]:
    """Draw the choice of layer and of head; return them, head None for the mean."""
    size = (reading.record.n_layer, reading.record.n_head)
    return choose_place(page.t, left, right, size, (LAYER, HEAD))


def _begin(lead: ReadyPair) -> None:
    """Fill the page at first sight: with a ready pair, or with what a link says."""
    name = held(PAIR, lead.name, among=PAIRS)
    if linked(text_key("A")) or linked(text_key("B")):
        pair = ready_pair(name) or lead
        for side, text in zip(SIDES, (pair.a, pair.b), strict=True):
            keep(text_key(side), text)
        _mark_typed()
    else:
        show_pair(name if name != TYPED else lead.name)


def _ready_text(name: Name) -> str:
    """Return what a ready pair fills a field with; "" where the sentences were typed."""
    pair = ready_pair(str(kept_value(PAIR, "")))
    return "" if pair is None else {"A": pair.a, "B": pair.b}[name]


def _query_key(name: Name) -> str:
    return f"rows.query.{name}"


def _drawn_key(name: Name) -> str:
    return f"rows.drawn.{name}"


def _query_of(name: Name, model: str) -> int | str | None:
    text = kept_value(text_key(name), "")
    asked = chosen_word(_query_key(name), model, text)
    if asked is not None:
        return asked
    pair = ready_pair(str(kept_value(PAIR, "")))
    if pair is None:
        return None
    return {pair.a: pair.query_a, pair.b: pair.query_b}.get(text)


def _mark_typed() -> None:
    """Once a sentence was changed, it is a ready pair no more."""
    pair = ready_pair(str(kept_value(PAIR, "")))
    shown = tuple(kept_value(text_key(name), "") for name in SIDES)
    if pair is not None and shown != (pair.a, pair.b):
        set_kept(PAIR, TYPED)


def _model_of(pair: str) -> str:
    ready = ready_pair(pair)
    if ready is not None:
        return ready.model
    return model_by_text(str(kept_value(text_key(name), "")) for name in SIDES)


def _own_model_reads(pair: ReadyPair) -> bool:
    """Whether the model in use is one's own and of the same kind as the pair's."""
    if kept_value(MODEL, AUTO) != OWN or current_model() is None:
        return False
    own, shipped = (_kind(model) for model in (OWN, pair.model))
    return own is not None and own == shipped


def _kind(model: str) -> tuple[Any, Any] | None:
    """Return what a trained model has learned to read, None for an untrained one."""
    params = bundle_of(model).note.get("params")
    if not isinstance(params, dict) or not params.get("steps"):
        return None
    return params.get("family"), params.get("mask")
