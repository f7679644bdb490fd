"""What is set on the families page: the seed, and the numbers that all models share."""

from typing import Any

import streamlit as st

from owi_core.experiments.families.settings import Params
from pages._ui.base.page import Frame
from pages._ui.draw.forms import declared, setting_field

FIRST = ("steps", "seed")
MORE = ("batch_size", "lr", "n_train", "d_model")


def choose(page: Frame) -> dict[str, Any]:
    """Draw the settings and return them by name, as the experiment takes them."""
    known = declared(Params)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        values = {name: setting_field(page, known[name], f"families.{name}") for name in FIRST}
    with st.expander(page.t("settings.more")), st.container(horizontal=True):
        values |= {name: setting_field(page, known[name], f"families.{name}") for name in MORE}
    return values
