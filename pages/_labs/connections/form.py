"""What is set on the connections page: two sentences, the window's build, the seed."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from owi_core.experiments.connections.maps import words_of
from owi_core.experiments.connections.settings import MAX_WORDS, Params
from pages._ui.base.i18n import LANGUAGES, translator
from pages._ui.base.page import Frame
from pages._ui.draw.forms import declared, kept_setting, setting_field
from pages._ui.draw.typed import sentence_field

NUMBERS = ("kernel", "conv_layers", "seed")
SIDES = ("a", "b")
NARROW = 160


def choose_sentences(page: Frame) -> dict[str, str]:
    """Draw the fields of both sentences and return what is typed, the usual one for an empty field.

    Raises TextError for what no map can be drawn of.
    """
    typed = {}
    for side, column in zip(SIDES, st.columns(2), strict=True):
        usual = page.t(f"usual.{side}")
        with column:
            typed[side] = sentence_field(
                page,
                page.t(f"sentence.{side}"),
                f"connections.{side}",
                usual,
                by_words=True,
                placeholder=usual,
                help=page.t("sentence.help", most=MAX_WORDS),
            )
    chosen = {side: text.strip() or page.t(f"usual.{side}") for side, text in typed.items()}
    for text in chosen.values():
        words_of(text)
    return chosen


def is_own(values: Mapping[str, Any]) -> bool:
    """Whether the user's own words are among the values: then no other user is shown the run."""
    known = {side: [translator(lang, "connections")(f"usual.{side}") for lang in LANGUAGES]
             for side in SIDES}  # fmt: skip
    return any(values[side] not in known[side] for side in SIDES)


def settings_now() -> dict[str, int]:
    """Return the numbers as they are, wherever on the page their fields are."""
    known = declared(Params)
    return {name: kept_setting(known[name], f"connections.{name}") for name in NUMBERS}


def choose_settings(page: Frame) -> dict[str, int]:
    """Draw the folded numbers that all parts share, and return them."""
    known = declared(Params)
    with (
        st.expander(page.t("settings.title")),
        st.container(horizontal=True, vertical_alignment="bottom"),
    ):
        return {
            name: setting_field(page, known[name], f"connections.{name}", width=NARROW)
            for name in NUMBERS
        }
