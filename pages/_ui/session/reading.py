"""Models and readings as pages need them: each loaded and computed once, none ever changed."""

from collections.abc import Iterable
from pathlib import Path

import streamlit as st

from owi_core.checkpoints import Bundle, load, shipped, shipped_names
from owi_core.errors import OwiError
from owi_core.gallery import DEFAULT_MODEL, model_for
from owi_core.readings import Reading, read
from owi_core.spare_rows import encoded
from owi_core.tokenizer import WordTokenizer
from pages._ui.base import page_contents
from pages._ui.session.models import current_model
from pages._ui.session.state import current_view, held, linked, renew, set_kept

USUAL_WORD = -1  # the word that looks unless another one was chosen
OWN = "own"  # the model that this session has trained or brought along
# The pages that read with it, by what its tokens are.
PAGES_OF_WORDS = ("step", "rows", "tying", "projection")
PAGES_OF_CHARACTERS = ("rows", "feedback", "projection")


def model_names() -> tuple[str, ...]:
    """Return the models that can be asked: the user's own first, if there is one."""
    return ((OWN,) if current_model() else ()) + shipped_names()


def bundle_of(model: str) -> Bundle:
    """Return a model by its name; ModelFileError when there is none."""
    folder = _own_folder(model)
    return shipped_bundle(model) if folder is None else _own(folder)


def own_model() -> Bundle | None:
    """Return the session's own model without noting that the page shows it; None without one."""
    folder = current_model()
    return _own(str(folder)) if folder else None


def own_model_pages() -> tuple[str, ...]:
    """Return the names of the pages that the session's own model is used on."""
    own = own_model()
    if own is None:
        return ()
    return PAGES_OF_WORDS if isinstance(own.tokenizer, WordTokenizer) else PAGES_OF_CHARACTERS


def follow_own_model(page: str, key: str, usual: str, own: str = OWN) -> None:
    """Choose the own model under `key`, by the name `own`, when it is new; `usual` when it is gone.

    Before the widget of that key is drawn, on a page of `own_model_pages`; a link's choice stays.
    """
    folder = str(current_model() or "")
    seen = f"{key}.seen_model"
    if st.session_state.get(seen, "") == folder:
        return
    st.session_state[seen] = folder
    if not linked(key):
        set_kept(key, own if page in own_model_pages() else usual)


def model_stamp(model: str) -> str:
    """Return a text that identifies this model, also among the own models of other sessions."""
    return str(current_model()) if model == OWN else model


def reading_of(model: str, text: str, query: int | str | None) -> Reading:
    """Return what a model reads in a text; TextError or ModelFileError when it cannot.

    query: see `owi_core.readings.read`.
    """
    folder = _own_folder(model)
    if folder is None:
        reading = _shipped_reading(model, text, query)
    else:
        reading = _own_reading(folder, text, query)
    page_contents.made_by(model, reading.bundle.note.get("params") or {})
    return reading


def chosen_word(key: str, model: str, text: str) -> int | None:
    """Return the index, kept under `key`, of the query word that was chosen; None for the usual.

    It is a word that the model sees in this text, and is forgotten when the text changes.
    """
    renew(f"{key}_text", text, key)
    asked = held(key, USUAL_WORD, among=range(USUAL_WORD, _n_words(model, text)))
    return None if asked == USUAL_WORD else asked


def model_by_text(texts: Iterable[str]) -> str:
    """Return the shipped model that knows the structure of the texts, of all if there is one."""
    every = tuple(texts)
    for chosen in [every, *((text,) for text in every)]:
        model = model_for(*chosen)
        if model != DEFAULT_MODEL and model in shipped_names():
            return model
    return DEFAULT_MODEL


def _own_folder(model: str) -> str | None:
    """Return the folder of the user's own model if `model` names it, and note that it is shown."""
    folder = current_model() if model == OWN else None
    if folder is None:
        return None
    current_view().own_model = True
    return str(folder)


def _n_words(model: str, text: str) -> int:
    """Return how many words a model sees in a text; 0 where it cannot be read."""
    try:
        return len(encoded(bundle_of(model), text)[1].labels)
    except OwiError:
        return 0


@st.cache_resource(show_spinner=False)
def shipped_bundle(name: str) -> Bundle:
    """Return a model that comes with the app, loaded once for all."""
    return shipped(name)


# A folder's name is the hash of what is in it.
@st.cache_resource(show_spinner=False, scope="session", max_entries=2)
def _own(folder: str) -> Bundle:
    return load(Path(folder))


@st.cache_resource(show_spinner=False, max_entries=48)
def _shipped_reading(name: str, text: str, query: int | str | None) -> Reading:
    return read(shipped_bundle(name), text, query)


# Deep models have large patterns: few are kept.
@st.cache_resource(show_spinner=False, scope="session", max_entries=6)
def _own_reading(folder: str, text: str, query: int | str | None) -> Reading:
    return read(_own(folder), text, query)
