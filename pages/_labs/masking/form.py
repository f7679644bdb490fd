"""What is set on the mask page: the text, what stands beside the causal mask, and the numbers."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from owi_core.experiments import masking
from owi_core.experiments._kit.params import Parameter, holds_typed_text, parameters
from owi_core.experiments.masking import Params
from pages._ui.base import settings
from pages._ui.base.page import Frame
from pages._ui.session.state import keep

OWN = "own"
LONGEST_PASTE = 20_000
LONGEST_LINE = 100
NUMBERS = ("steps", "window", "batch_size", "lr", "n_layer", "d_model")
NARROW = 150


def choose(page: Frame) -> dict[str, Any]:
    """Draw the settings and return them by name, as the experiment takes them."""
    known = {p.name: p for p in parameters(Params)}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = _segments(page, "text", (*known["text"].choices, OWN), known["text"].default)
        against = _against(page, known["against"])
        seed = _number(page, known["seed"])
    values: dict[str, Any] = {"against": against, "seed": seed}
    values |= {"own_text": _own_text(page)} if text == OWN else {"text": text}
    with st.expander(page.t("settings.more")):
        with st.container(horizontal=True):
            values |= {name: _number(page, known[name]) for name in NUMBERS}
        for name in ("sentence", "prompt"):
            values[name] = _line(page, name)
    return values


def is_private(values: Mapping[str, Any]) -> bool:
    """Return whether the settings hold words that the user typed."""
    return holds_typed_text(Params, values)


def side_name(page: Frame, name: str) -> str:
    """Return how one of the two models is called."""
    return page.t(f"side.{name}")


def _own_text(page: Frame) -> str:
    return st.text_area(
        page.t("own.label"),
        key=keep("masking.own", "", private=True),
        height=120,
        max_chars=min(LONGEST_PASTE, settings.current().longest_text),
        placeholder=page.t("own.placeholder"),
    )


def _segments(page: Frame, name: str, choices: tuple[str, ...], default: str) -> str:
    return str(
        st.segmented_control(
            page.t(f"setting.{name}"),
            choices,
            format_func=lambda value: page.t(f"choice.{name}.{value}"),
            required=True,
            key=keep(f"masking.{name}", default, among=choices),
        )
    )


def _against(page: Frame, parameter: Parameter) -> str:
    return str(
        st.selectbox(
            page.t("setting.against"),
            parameter.choices,
            format_func=lambda value: page.t(f"side.{value}"),
            help=page.t("setting_help.against"),
            key=keep("masking.against", masking.NONE, among=parameter.choices),
            width=260,
        )
    )


def _number(page: Frame, parameter: Parameter) -> Any:
    assert parameter.low is not None
    assert parameter.high is not None
    real = parameter.kind is float
    return st.number_input(
        page.t(f"setting.{parameter.name}"),
        min_value=parameter.kind(parameter.low),
        max_value=parameter.kind(parameter.high),
        step=0.001 if real else 1,
        format="%.4g" if real else "%d",
        key=keep(
            f"masking.{parameter.name}", parameter.default, low=parameter.low, high=parameter.high
        ),
        width=NARROW,
    )


def _line(page: Frame, name: str) -> str:
    return st.text_input(
        page.t(f"setting.{name}"),
        max_chars=LONGEST_LINE,
        placeholder=page.t(f"setting_help.{name}"),
        key=keep(f"masking.{name}", "", high=LONGEST_LINE),
    )
