"""The model that a session has chosen for all pages: its own, or one that comes with the app."""

import hashlib
import shutil
from pathlib import Path

import streamlit as st

from owi_core import checkpoints
from owi_core.checkpoints import FILE_NAME, Bundle
from owi_core.errors import ModelFileError
from pages._ui.base.links import Recipe
from pages._ui.session.jobs import session_jobs
from pages._ui.session.recipes import recipe_of
from pages._ui.session.visit import CURRENT_MODEL, CURRENT_RECIPE


def current_model() -> Path | None:
    """The folder of the session's chosen model; None when there is none or it is gone."""
    folder = st.session_state.get(CURRENT_MODEL)
    if folder is None:
        return None
    session_jobs()  # who uses a model is there: after a mended connection its folder must not go
    if not (Path(folder) / FILE_NAME).is_file():
        return None
    return Path(folder)


def use_model(folder: Path, session_folder: Path) -> Path:
    """Choose a model for all pages.

    It is copied to where only the session's end deletes it: a run's folder may go earlier.
    """
    data = (folder / FILE_NAME).read_bytes()
    chosen = _choose(data, session_folder)
    st.session_state[CURRENT_RECIPE] = _recipe(checkpoints.load(chosen))
    return chosen


def current_recipe() -> Recipe | None:
    """Return the recipe that makes the chosen model again; None where there is none.

    That is the case for a model that was uploaded, was stopped early, or was trained on text that a
    user typed.
    """
    found: Recipe | None = st.session_state.get(CURRENT_RECIPE) if current_model() else None
    return found


def use_uploaded(data: bytes, session_folder: Path) -> Bundle:
    """Choose an uploaded model; raises ModelFileError for a file that is not one."""
    bundle = checkpoints.from_bytes(data)
    _choose(data, session_folder)
    return bundle


def forget_model() -> None:
    """Go back to the models that come with the app."""
    st.session_state.pop(CURRENT_MODEL, None)


def _recipe(bundle: Bundle) -> Recipe | None:
    note = bundle.note
    if note.get("private") or "result" not in note:
        return None
    return recipe_of(str(note["experiment"]), note["params"])


def _choose(data: bytes, session_folder: Path) -> Path:
    folder = session_folder / f"model-{hashlib.sha256(data).hexdigest()[:16]}"
    old = current_model()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / FILE_NAME).write_bytes(data)
    except OSError as error:
        raise ModelFileError("model_not_saved") from error
    if old is not None and old != folder:
        shutil.rmtree(old, ignore_errors=True)
    st.session_state[CURRENT_MODEL] = str(folder)
    st.session_state[CURRENT_RECIPE] = None
    return folder
