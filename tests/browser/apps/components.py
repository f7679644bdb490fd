"""The three components with known data: what the browser tests click and look at."""

import numpy as np
import streamlit as st

from pages._ui.base.i18n import translator
from pages._ui.base.page import Frame
from pages._ui.base.theme import current_theme
from pages._ui.draw.components import LossSoFar, WordRow, attention_matrix, live_run, sentence
from pages._ui.frame.frame import language
from tests.browser.apps.words import WORDS


def made_up_pattern(count: int, sharpness: float) -> tuple[np.ndarray, np.ndarray]:
    """Return a causal pattern that sums to 1 in each row, and its mask: test data."""
    place = np.arange(count)
    scores = np.cos(place[:, None] * 1.7 + place[None, :] * 2.3) * sharpness
    mask = place[None, :] <= place[:, None]
    raised = np.exp(scores) * mask
    return raised / raised.sum(1, keepdims=True), mask


def keep_choice(choice: int | None) -> None:
    """Hold a click as a page would."""
    if choice is not None:
        st.session_state.chosen = choice
        st.rerun()


lang = language()
st.set_page_config(layout="wide", page_title="components")
page = Frame(lang, translator(lang, "common"), current_theme())
name = st.query_params.get("words", "apple")
labels = WORDS[name]
st.session_state.setdefault("chosen", len(labels) - 1)
st.session_state.setdefault("sharpness", 3.0)
chosen = min(st.session_state.chosen, len(labels) - 1)
pattern, mask = made_up_pattern(len(labels), st.session_state.sharpness)

st.title("components")
if st.button("change"):
    st.session_state.sharpness = 0.5
    st.rerun()
st.text(f"chosen={chosen}")
if st.query_params.get("leak"):
    pattern[0] = 1 / len(labels)
keep_choice(
    sentence(
        page,
        labels,
        WordRow(pattern[chosen], mask[chosen], chosen),
        unknown=[2],
        colour=st.query_params.get("colour", "A"),
        key="sentence",
    )
)
keep_choice(
    attention_matrix(page, pattern, labels, labels, mask=mask, selected=chosen, key="matrix")
)


@st.fragment(run_every=0.3 if st.query_params.get("live") else None)
def running() -> None:
    """Draw one more step at each call."""
    st.session_state.step = min(st.session_state.get("step", 30) + 2, 150)
    steps = np.arange(0, st.session_state.step + 1, 2)
    share = st.session_state.step / 150
    curve = LossSoFar(
        [(int(s), float(0.15 + 3.2 * np.exp(-s / 25) + 0.06 * np.sin(s))) for s in steps],
        total_steps=150,
        evaluated=[(int(s), float(1 - np.exp(-s / 20))) for s in steps[::10]],
        floor_nats=0.09,
    )
    weights = (share * pattern[chosen] + (1 - share) / len(labels))[:14]
    live_run(
        page, curve, labels=labels[:14], row=WordRow(weights, query=min(chosen, 13)), key="run"
    )


running()
