"""What is set on the mask page: the text, the mask beside the causal one, and the numbers."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from owi_core.experiments._kit.params import holds_typed_text
from owi_core.experiments.masking import Params
from pages._ui.base import settings
from pages._ui.base.page import Frame
from pages._ui.draw.forms import choice_name, declared, segments, select, setting_field
from pages._ui.draw.typed import check_text_to_learn, sentence_field, show_cleaning
from pages._ui.session.state import keep

OWN = "own"
LONGEST_PASTE = 20_000
NUMBERS = ("steps", "window", "batch_size", "lr", "n_layer", "d_model")


def choose(page: Frame) -> dict[str, Any]:
    """Draw the settings and return them by name, as the experiment takes them."""
    known = declared(Params)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = segments(
            page.t("setting.text"),
            (*known["text"].choices, OWN),
            key="masking.text",
            usual=known["text"].default,
            name=lambda value: choice_name(page, "text", value),
        )
        against = select(
            page.t("setting.against"),
            known["against"].choices,
            key="masking.against",
            usual=known["against"].default,
            name=lambda value: side_name(page, value),
            help=page.t("setting_help.against"),
            width=260,
        )
        seed = setting_field(page, known["seed"], "masking.seed")
    values: dict[str, Any] = {"against": against, "seed": seed}
    values |= {"own_text": _own_text(page)} if text == OWN else {"text": text}
    with st.expander(page.t("settings.more")):
        with st.container(horizontal=True):
            values |= {
                name: setting_field(page, known[name], f"masking.{name}") for name in NUMBERS
            }
        for name in ("sentence", "prompt"):
            values[name] = _line(page, name)
    return values


def check_own_text(text: str) -> None:
    """Raise TextError for a text of one's own that is blank or too long to be learned here."""
    check_text_to_learn(text, min(LONGEST_PASTE, settings.current().longest_text))


def is_private(values: Mapping[str, Any]) -> bool:
    """Whether the settings hold words that the user typed."""
    return holds_typed_text(Params, values)


def side_name(page: Frame, name: str) -> str:
    """Return how one of the two models is called."""
    return page.t(f"side.{name}")


def _own_text(page: Frame) -> str:
    text = st.text_area(
        page.t("own.label"),
        key=keep("masking.own", "", private=True),
        height=120,
        placeholder=page.t("own.placeholder"),
    )
    show_cleaning(page, text, by_words=False)
    return text


def _line(page: Frame, name: str) -> str:
    return sentence_field(
        page,
        page.t(f"setting.{name}"),
        f"masking.{name}",
        "",
        by_words=False,
        placeholder=page.t(f"setting_help.{name}"),
    )
