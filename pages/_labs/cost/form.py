"""What is set on the cost page, one small form for each part."""

from typing import Any

import streamlit as st

from owi_core.experiments._kit.params import Parameter, parameters
from owi_core.experiments.cost import Params
from pages._ui.base.page import Frame
from pages._ui.session.state import keep

PARTS = ("time", "ranges", "outside", "scale", "depth")
NARROW = 150
SETTINGS = {
    "time": ("length", "window", "d_model", "n_layer", "n_head", "cap_seconds", "cap_mb", "seed"),
    "ranges": ("length", "window", "n_global", "step", "d_model", "n_head", "cap_mb", "seed"),
    "outside": ("length", "window", "n_global", "step", "n_layer", "steps", "lr", "seed"),
    "scale": ("length", "d_model", "n_head", "n_layer", "steps", "lr", "seed"),
    "depth": ("d_model", "steps", "batch_size", "lr", "seed"),
}
# A line to be learned from need not be long; the first tokens are too short for a sweep.
LONGEST = {"outside": 64, "scale": 64}


def choose(page: Frame, part: str) -> dict[str, Any]:
    """Draw the settings of a part and return them by name, as the experiment takes them."""
    known = {p.name: p for p in parameters(Params)}
    usual = Params(part=part)
    with (
        st.expander(page.t("settings.more"), type="compact"),
        st.container(horizontal=True),
    ):
        chosen = {
            name: number(page, part, known[name], getattr(usual, name), LONGEST.get(part))
            for name in SETTINGS[part]
        }
    return {"part": part} | chosen


def number(
    page: Frame, part: str, parameter: Parameter, usual: Any, longest: int | None = None
) -> Any:
    """Draw one number, within the range that the experiment declares."""
    assert parameter.low is not None
    assert parameter.high is not None
    high = parameter.high
    if parameter.name == "length" and longest is not None:
        high = longest
    real = parameter.kind is float
    return st.number_input(
        page.t(f"setting.{parameter.name}"),
        min_value=parameter.kind(parameter.low),
        max_value=parameter.kind(high),
        step=0.001 if real else 1,
        format="%.4g" if real else "%d",
        key=keep(f"cost.{part}.{parameter.name}", usual, low=parameter.low, high=high),
        width=NARROW,
    )
