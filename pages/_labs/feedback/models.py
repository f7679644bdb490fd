"""Which character model continues the text, and what it foresees: each asked for once."""

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from owi_core.checkpoints import Bundle, load
from owi_core.config import SamplingConfig
from owi_core.events import Finished
from owi_core.generation import Forecast, foresee, uniforms
from owi_core.probes.cache import past_moves
from owi_core.tokenizer import CharTokenizer
from pages._ui.draw.run_panel import latest_run
from pages._ui.session.models import current_model
from pages._ui.session.reading import OWN, bundle_of, model_stamp

SHIPPED, UNFINISHED = "language", "unfinished"
EXPERIMENT = "feedback"
N_MASK_TOKENS = 32  # read twice in each of two ways: 126 tokens


@dataclass(frozen=True)
class Writer:
    """A model with characters for tokens, and what distinguishes it from every other."""

    name: str
    stamp: str
    bundle: Bundle

    @property
    def tokenizer(self) -> CharTokenizer:
        tokenizer = self.bundle.tokenizer
        assert isinstance(tokenizer, CharTokenizer)
        return tokenizer


def names() -> tuple[str, ...]:
    """Return the models that can write here: one's own first, where it knows characters."""
    own = (OWN,) if current_model() and _writes(OWN) else ()
    return (*own, SHIPPED, *((UNFINISHED,) if _unfinished() else ()))


def writer(name: str) -> Writer:
    """Return a model by its name; ModelFileError where it is gone."""
    folder = _unfinished()
    if name == UNFINISHED and folder is not None:
        return Writer(name, str(folder), _loaded(str(folder)))
    return Writer(name, model_stamp(name), bundle_of(name))


def forecast(model: Writer, ids: tuple[int, ...], sampling: SamplingConfig) -> Forecast:
    """Return what the model says of the token after `ids`: one pass over the block at most."""
    seen = ids[-model.bundle.model.config.block_size :]
    made = _forecast(model.stamp, seen, sampling, _bundle=model.bundle)
    return Forecast(made.before, made.after, made.rows, len(ids) - len(seen))


@st.cache_data(show_spinner=False, max_entries=20)
def u_of(seed: int, number: int) -> float:
    """Return the random number of a step, counted from 0."""
    return uniforms(seed, number + 1)[number]


@st.cache_data(show_spinner=False, max_entries=20)
def moves(stamp: str, ids: tuple[int, ...], _bundle: Bundle) -> tuple[float, float]:
    """Return how far earlier logits move when a token is appended: with the mask, and without."""
    masked, unmasked = (past_moves(_bundle.model, ids, masked=m) for m in (True, False))
    return masked, unmasked


@st.cache_resource(show_spinner=False, max_entries=400)
def _forecast(
    stamp: str, ids: tuple[int, ...], sampling: SamplingConfig, _bundle: Bundle
) -> Forecast:
    return foresee(_bundle.model, ids, sampling)


def _writes(name: str) -> bool:
    return isinstance(bundle_of(name).tokenizer, CharTokenizer)


def _unfinished() -> Path | None:
    """Return where this session's run has left its unfinished model."""
    run = latest_run(EXPERIMENT)
    return run.folder if run and run.has_model and run.latest(Finished) else None


@st.cache_resource(show_spinner=False, scope="session", max_entries=2)
def _loaded(folder: str) -> Bundle:
    return load(Path(folder))
