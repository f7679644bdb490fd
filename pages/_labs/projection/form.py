"""What the projection page is asked: a sentence, a word, a model, a layer, heads to cut."""

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from owi_core.gallery import READY_PAIRS
from owi_core.probes.ablation import Head
from owi_core.readings import Reading, clearest_layer
from pages._ui.base.page import Frame
from pages._ui.draw import model_choice
from pages._ui.draw.events import clicked
from pages._ui.draw.forms import segments, several
from pages._ui.draw.typed import cuts_words, sentence_field
from pages._ui.session.reading import (
    bundle_of,
    chosen_word,
    follow_own_model,
    model_by_text,
    reading_of,
)
from pages._ui.session.state import kept_value, renew, set_kept

TEXT, MODEL, LAYER = "projection.text", "projection.model", "projection.layer"
WORDS = "projection.words"
_QUERY, _SETTLED = "projection.query", "projection.settled"


def choose_model(page: Frame) -> str:
    """Draw the choice of a model; return its name."""
    follow_own_model("projection", MODEL, model_choice.AUTO)
    return model_choice.choose_model(page, MODEL, model_by_text([_text()]))


def type_text(page: Frame, model: str) -> None:
    """Draw the sentence's field; model: which will read it."""
    sentence_field(
        page,
        page.t("text.label"),
        TEXT,
        READY_PAIRS[0].a,
        by_words=cuts_words(bundle_of(model)),
        placeholder=page.t("text.placeholder"),
        label_visibility="collapsed",
    )


def read(model: str) -> Reading:
    """Return what the model reads from the chosen word; TextError for what it cannot."""
    text, index = _text(), clicked(WORDS)
    # A click may arrive together with a new text: it was meant for the words drawn before.
    if isinstance(index, int | float) and st.session_state.get(_SETTLED, ("",))[0] == text:
        set_kept(_QUERY, int(index))
    return reading_of(model, text, chosen_word(_QUERY, model, text))


def choose_layer(page: Frame, reading: Reading) -> int:
    """Draw the choice of the layer whose row is shown; at a new sentence the clearest one."""
    renew(_SETTLED, (reading.encoding.text, reading.query, id(reading.bundle)), LAYER)
    return segments(
        page.t("layer"),
        range(reading.record.n_layer),
        key=LAYER,
        usual=clearest_layer([reading]),
        name=lambda index: str(index + 1),
    )


def choose_heads(page: Frame, reading: Reading) -> tuple[Head, ...]:
    """Draw a switch for every head, one to cut each layer, one to undo; return the heads cut."""
    L, H = reading.record.n_layer, reading.record.n_head
    st.caption(page.t("heads.hint"))
    cut: list[Head] = []
    for layer, box in enumerate(_boxes(L)):
        with box:
            on = _switches(page, layer, H)
        cut += [(layer, head) for head in range(H) if head not in on]
    st.button(
        page.t("heads.reset"),
        on_click=_all_on,
        args=(L, H),
        disabled=not cut,
        key="projection.reset",
    )
    return tuple(cut)


def heads_on(layer: int, n_head: int, cut: Sequence[Head]) -> list[int]:
    """Return the heads of a layer that still write."""
    return [head for head in range(n_head) if (layer, head) not in cut]


def _boxes(n: int) -> list[DeltaGenerator]:
    """Return a box for each layer, two of them beside each other."""
    rows = [st.columns(2) for _ in range(0, n, 2)]
    return [column for row in rows for column in row][:n]


def _switches(page: Frame, layer: int, n_head: int) -> list[int]:
    """Draw one layer's heads and the button that cuts them all; return those that are on."""
    key, every = _on_key(layer, n_head), range(n_head)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        on = several(
            page.t("heads.layer", layer=layer + 1),
            every,
            key=key,
            usual=every,
            name=lambda head: page.t("heads.head", head=head + 1),
            width="content",
            wrap=True,
        )
        st.button(
            page.t("heads.cut_layer", layer=layer + 1),
            on_click=set_kept,
            args=(key, []),
            disabled=not on,
            key=f"projection.cut.{layer}",
        )
    return on


def _all_on(n_layer: int, n_head: int) -> None:
    for layer in range(n_layer):
        set_kept(_on_key(layer, n_head), list(range(n_head)))


def _on_key(layer: int, n_head: int) -> str:
    return f"projection.on.{layer}.{n_head}"


def _text() -> str:
    return kept_value(TEXT, READY_PAIRS[0].a)
