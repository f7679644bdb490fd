"""What is set on the translation page: the corpus, the road before, and the numbers."""

from typing import Any

import streamlit as st

from owi_core.experiments.translation.settings import CORPORA, Params
from pages._ui.base.page import Frame
from pages._ui.draw.forms import choice, declared, setting_field

NUMBERS = ("batch_size", "lr", "n_train", "n_encoder", "d_model")


def choose(page: Frame) -> dict[str, Any]:
    """Draw the settings and return them by name, as the experiment takes them."""
    known = declared(Params)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        corpus = choice(page, known["corpus"], "translation.corpus")
        against = setting_field(page, known["against"], "translation.against", width=280)
        seed = setting_field(page, known["seed"], "translation.seed")
    values: dict[str, Any] = {"corpus": corpus, "against": against, "seed": seed}
    with st.expander(page.t("settings.more")), st.container(horizontal=True):
        # Its usual value depends on the corpus, so each corpus keeps a number of its own.
        values["steps"] = setting_field(
            page, known["steps"], f"translation.steps_{corpus}", usual=CORPORA[corpus].steps
        )
        values["n_decoder"] = setting_field(
            page, known["n_decoder"], "translation.n_decoder", usual=CORPORA[corpus].n_decoder
        )
        values |= {
            name: setting_field(page, known[name], f"translation.{name}") for name in NUMBERS
        }
    return values
