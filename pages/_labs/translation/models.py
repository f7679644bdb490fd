"""The translator of a run as the page asks it: short forward passes, each done once."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from owi_core.corpora.numerals import reads_back
from owi_core.corpora.translation import Pair, recognise
from owi_core.experiments.translation.settings import CORPORA
from owi_core.jobs.runs import Run
from owi_core.translating import Seen, Written, look, search
from owi_core.translator_file import TranslatorBundle, load

N_EXAMPLES = 24


def seen_by(run: Run, text: str, cut: int | None = None) -> Seen:
    """Return the translation of a sentence and all its attention; TextError for strange words."""
    return _seen(str(run.folder), text, cut)


def found_by(run: Run, text: str, width: int) -> tuple[Written, ...]:
    """Return the likeliest translations that a beam of this width finds."""
    return _found(str(run.folder), text, width)


def examples(params: Mapping[str, Any]) -> tuple[Pair, ...]:
    """Return held-out pairs of a run's corpus; of sentences, the held-out frame at the end."""
    return _examples(str(params["corpus"]), int(params["seed"]))


def gold_of(params: Mapping[str, Any], source: tuple[str, ...]) -> Pair | None:
    """Return the pair that has this source, where the grammar knows one."""
    known = {pair.source: pair for pair in examples(params)}
    return known.get(source) or (recognise(source) if params["corpus"] == "sentences" else None)


def is_right(params: Mapping[str, Any], seen: Seen, gold: Pair | None) -> float | None:
    """Return the share of words that are right and in their order; None where it is unknown."""
    if gold is not None:
        return seen.share_right(gold.target)
    if params["corpus"] == "sentences":
        return None
    return float(reads_back(seen.source, "".join(seen.target)))


@st.cache_resource(show_spinner=False, max_entries=4)
def _model(folder: str) -> TranslatorBundle:
    return load(Path(folder))


@st.cache_data(show_spinner=False, max_entries=100)
def _seen(folder: str, text: str, cut: int | None) -> Seen:
    return look(_model(folder), text, cut=cut)


@st.cache_data(show_spinner=False, max_entries=100)
def _found(folder: str, text: str, width: int) -> tuple[Written, ...]:
    return search(_model(folder), text, width)


@st.cache_data(show_spinner=False, max_entries=20)
def _examples(corpus: str, seed: int) -> tuple[Pair, ...]:
    pairs = CORPORA[corpus].pairs
    last = pairs(seed, 4, "frame") if corpus == "sentences" else ()
    return (*pairs(seed, N_EXAMPLES, "heldout"), *last)
