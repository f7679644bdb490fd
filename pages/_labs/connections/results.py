"""What the parts of the connections lab have measured in this session, by part.

A session keeps few ended runs, and each new sentence is one more: results are held here besides.
"""

import streamlit as st

from owi_core.experiments.connections import NAME, Result
from owi_core.experiments.connections.results import ModelResult
from owi_core.jobs.runs import Run
from pages._ui.base.page import Frame
from pages._ui.draw.run_panel import Matches, result_of

_KEY = "connections.results"


def of_part(part: str) -> Matches:
    """Return which runs of the lab are of a part."""
    return lambda run: run.experiment == NAME and run.params.get("part") == part


def remember(part: str, run: Run | None) -> Result | None:
    """Keep a finished run's result, and return the newest result of the part."""
    held: dict[str, Result] = st.session_state.setdefault(_KEY, {})
    result = result_of(run, Result)
    if result is not None:
        held[part] = result
    return held.get(part)


def model_in(part: str, kind: str) -> ModelResult:
    """Return what a part measured of a model; without any number where it has not run."""
    held: dict[str, Result] = st.session_state.get(_KEY, {})
    models = held[part].models if part in held else {}
    return models.get(kind, ModelResult())


def name_of(page: Frame, kind: str) -> str:
    """Return what a kind of model is called on this page."""
    return page.t(f"kind.{kind}")
