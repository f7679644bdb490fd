"""What is set before both models are trained: the question, the sentences, and the numbers."""

from typing import Any

import streamlit as st

from owi_core.experiments._kit.params import Parameter, parameters
from owi_core.experiments.tying import Params
from pages._ui.base.page import Frame
from pages._ui.session.state import keep

NUMBERS = ("steps", "batch_size", "lr", "n_layer", "d_model", "n_train")
NARROW = 150


def choose(page: Frame) -> dict[str, Any]:
    """Draw the settings and return them by name, as the experiment takes them."""
    known = {p.name: p for p in parameters(Params)}
    # One below the other: in a row the choices of a phone would be cut off instead of wrapped.
    question, family = (
        _segments(page, known[name], known[name].default, f"tying.{name}")
        for name in ("question", "family")
    )
    seed = _number(page, known["seed"], known["seed"].default, "tying.seed")
    st.caption(page.t(f"choice_about.question.{question}"))
    values: dict[str, Any] = {"question": question, "family": family, "seed": seed}
    # What is usual depends on both choices, and so does the place it is kept in.
    usual, place = Params(question=question, family=family), f"tying.{question}.{family}"
    with st.expander(page.t("settings.more")):
        with st.container(horizontal=True):
            for name in NUMBERS:
                values[name] = _number(page, known[name], getattr(usual, name), f"{place}.{name}")
        key = f"{place}.positions"
        values["positions"] = _segments(page, known["positions"], usual.positions, key)
    return values


def _segments(page: Frame, parameter: Parameter, usual: Any, key: str) -> str:
    return str(
        st.segmented_control(
            page.t(f"setting.{parameter.name}"),
            parameter.choices,
            format_func=lambda value: page.t(f"choice.{parameter.name}.{value}"),
            required=True,
            key=keep(key, usual, among=parameter.choices),
        )
    )


def _number(page: Frame, parameter: Parameter, usual: Any, key: str) -> Any:
    assert parameter.low is not None
    assert parameter.high is not None
    real = parameter.kind is float
    return st.number_input(
        page.t(f"setting.{parameter.name}"),
        min_value=parameter.kind(parameter.low),
        max_value=parameter.kind(parameter.high),
        step=0.001 if real else 1,
        format="%.4g" if real else "%d",
        key=keep(key, usual, low=parameter.low, high=parameter.high),
        width=NARROW,
    )
