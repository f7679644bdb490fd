"""What is set on the cost page, one small form for each part."""

from typing import Any

import streamlit as st

from owi_core.experiments.cost import Params
from pages._ui.base.page import Frame
from pages._ui.draw.forms import declared, setting_field

PARTS = ("time", "ranges", "outside", "scale", "depth")
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
    known, usual = declared(Params), Params(part=part)
    chosen: dict[str, Any] = {"part": part}
    with (
        st.expander(page.t("settings.more"), type="compact"),
        st.container(horizontal=True),
    ):
        for name in SETTINGS[part]:
            high = LONGEST.get(part) if name == "length" else None
            key = f"cost.{part}.{name}"
            chosen[name] = setting_field(
                page, known[name], key, usual=getattr(usual, name), high=high
            )
    return chosen
