"""The two models of a mask run as the page asks them: short forward passes, each done once."""

from pathlib import Path

import streamlit as st

from owi_core.checkpoints import load
from owi_core.experiments.faults.masks import Changed, Seen, changes_in, see, wrapped
from owi_core.jobs.runs import Run


def changes_of(run: Run, name: str, text: str) -> Changed:
    """Return who moves whom in a typed sentence; TextError for one that cannot be measured."""
    return _changes(str(run.folder), _inside(name), name, text)


def seen_by(run: Run, name: str, text: str) -> Seen:
    """Return mask, scores and weights of a sentence in one of the run's models."""
    return _seen(str(run.folder), _inside(name), name, text)


@st.cache_data(show_spinner=False, max_entries=60)
def _changes(folder: str, inside: str, name: str, text: str) -> Changed:
    bundle = load(Path(folder) / inside)
    return changes_in(wrapped(bundle.model, name), bundle.tokenizer.encode(text))


@st.cache_data(show_spinner=False, max_entries=60)
def _seen(folder: str, inside: str, name: str, text: str) -> Seen:
    bundle = load(Path(folder) / inside)
    return see(wrapped(bundle.model, name), bundle.tokenizer.encode(text))


def _inside(name: str) -> str:
    return "" if name == "causal" else name
