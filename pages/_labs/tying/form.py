"""What is set before both models are trained: the question, the sentences, and the numbers."""

from typing import Any

import streamlit as st

from owi_core.experiments.tying import Params
from pages._ui.base.page import Frame
from pages._ui.draw.forms import choice, declared, setting_field

NUMBERS = ("steps", "batch_size", "lr", "n_layer", "d_model", "n_train")


def choose(page: Frame) -> dict[str, Any]:
    """Draw the settings and return them by name, as the experiment takes them."""
    known = declared(Params)
    # One below the other: in a row the choices of a phone would be cut off instead of wrapped.
    values: dict[str, Any] = {
        name: choice(page, known[name], f"tying.{name}") for name in ("question", "family")
    }
    values["seed"] = setting_field(page, known["seed"], "tying.seed")
    st.caption(page.t(f"choice_about.question.{values['question']}"))
    # The defaults depend on both choices, and so does the key that a value is kept under.
    usual = Params(question=values["question"], family=values["family"])
    prefix = f"tying.{usual.question}.{usual.family}"
    with st.expander(page.t("settings.more")):
        with st.container(horizontal=True):
            for name in NUMBERS:
                key = f"{prefix}.{name}"
                values[name] = setting_field(page, known[name], key, usual=getattr(usual, name))
        key = f"{prefix}.positions"
        values["positions"] = choice(page, known["positions"], key, usual=usual.positions)
    return values
