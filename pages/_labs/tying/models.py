"""The tied model as the page asks it: each question answered once, on copies, never on the model.

A source is the name of a shipped model, or the folder of a run.
"""

from pathlib import Path

import streamlit as st

from owi_core.checkpoints import Bundle, load, shipped, shipped_names
from owi_core.probes.tie_proof import TieCase, tie_cases
from owi_core.probes.tie_size import counted
from owi_core.probes.tie_touch import (
    Cell,
    Edit,
    Neighbours,
    Touched,
    near_state,
    near_word,
    strongest_edit,
    touch,
)
from owi_core.readings import read
from owi_core.tokenizer import WordTokenizer

SHIPPED = "swap"


@st.cache_resource(show_spinner=False, max_entries=8)
def bundle_from(source: str) -> Bundle:
    """Return the model of a source; ModelFileError where there is none."""
    return shipped(source) if source in shipped_names() else load(Path(source))


def words_of(source: str) -> WordTokenizer:
    """Return the tokenizer of a source, which knows words."""
    tokenizer = bundle_from(source).tokenizer
    assert isinstance(tokenizer, WordTokenizer)
    return tokenizer


@st.cache_data(show_spinner=False, max_entries=8)
def proof_of(source: str) -> tuple[TieCase, ...]:
    return tie_cases(bundle_from(source))


@st.cache_data(show_spinner=False, max_entries=8)
def counts_of(source: str) -> tuple[int, int]:
    """Return the trained numbers of the live model, tied and untied."""
    return counted(bundle_from(source).model)


@st.cache_data(show_spinner=False, max_entries=300)
def touched(source: str, text: str, edits: tuple[Edit, ...], cell: Cell) -> Touched:
    """Return what these edits do; the same edits give the same answer in every session."""
    reading = read(bundle_from(source), text)
    return touch(reading.bundle, reading.encoding.ids, reading.query, edits, cell)


@st.cache_data(show_spinner=False, max_entries=8)
def first_edit(source: str, text: str, word_id: int) -> Edit:
    """Return an edit that is worth trying first."""
    reading = read(bundle_from(source), text)
    return strongest_edit(reading.bundle.model, reading.encoding.ids, reading.query, word_id)


@st.cache_data(show_spinner=False, max_entries=100)
def near_answer(source: str, text: str) -> Neighbours:
    """Return the rows that are likest the final state at the sentence's pronoun."""
    reading = read(bundle_from(source), text)
    return near_state(reading.bundle.model, reading.encoding.ids, reading.query)


@st.cache_data(show_spinner=False, max_entries=100)
def near(source: str, word_id: int) -> Neighbours:
    return near_word(bundle_from(source).model, word_id)
