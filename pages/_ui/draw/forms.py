"""Form fields that keep their values: each offers exactly what may be kept under its key.

A link can hold any value, and Streamlit fails on one that a widget does not offer.  Options and
bounds are therefore given once, here, to the widget and to `keep` alike; `setting_field` takes
them from the parameter that an experiment declares.  `usual` is the value at first; a choice
among options begins with the first one where none is given.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import streamlit as st

from owi_core.cleaning import clean
from owi_core.experiments._kit.params import Parameter, parameters
from owi_core.segmentation import check_text
from pages._ui.base.escape import markdown_plain
from pages._ui.base.page import Frame
from pages._ui.draw.decimals import decimal
from pages._ui.draw.typed import sentence_field
from pages._ui.session.state import keep, kept_value

T = TypeVar("T")
N = TypeVar("N", int, float)
NARROW = 150
LONGEST_LINE = 200


def declared(params: type[Any]) -> Mapping[str, Parameter]:
    """Return the parameters that a Params class declares, by name."""
    return {parameter.name: parameter for parameter in parameters(params)}


def setting_field(
    page: Frame,
    parameter: Parameter,
    key: str,
    *,
    usual: Any = None,
    high: float | None = None,
    label: str = "",
    by_words: bool = False,
    **look: Any,
) -> Any:
    """Draw the field of a declared parameter and return its value.

    The label is `setting.NAME` and the help `setting_help.NAME` of the page's catalog.
    usual: the default, where it depends on other choices.  high: a lower upper bound than the
    declared one.  by_words: a sentence that is typed is cut into words.  look: passed to the
    widget, for example its width.
    """
    name = parameter.name
    label = label or page.t(f"setting.{name}")
    usual = parameter.default if usual is None else usual
    about: dict[str, Any] = {"width": NARROW} | look
    if page.t.has(f"setting_help.{name}"):
        about.setdefault("help", page.t(f"setting_help.{name}"))
    if parameter.kind is bool:
        return st.toggle(label, key=keep(key, usual), **about)
    if parameter.choices:
        return select(
            label,
            parameter.choices,
            key=key,
            usual=usual,
            name=lambda value: choice_name(page, name, value),
            **about,
        )
    if parameter.kind is str:
        text = sentence_field(page, label, key, usual, by_words=by_words, **about)
        if text.strip():  # an empty one means: the usual
            check_text(clean(text).text, LONGEST_LINE)
        return text
    assert parameter.low is not None, name
    assert parameter.high is not None, name
    low, high = parameter.low, parameter.high if high is None else high
    if parameter.kind is float:
        return decimal(page, label, low, high, key=key, usual=usual, **about)
    return whole(label, int(low), int(high), key=key, usual=usual, **about)


def kept_setting(parameter: Parameter, key: str) -> Any:
    """Return the value of a declared parameter, wherever on the page its field is drawn."""
    return kept_value(key, parameter.default, low=parameter.low, high=parameter.high)


def choice(page: Frame, parameter: Parameter, key: str, *, usual: str | None = None) -> str:
    """Draw the choices of a declared parameter beside each other and return the chosen one."""
    name, default = parameter.name, str(parameter.default)
    return segments(
        page.t(f"setting.{name}"),
        parameter.choices,
        key=key,
        usual=default if usual is None else usual,
        name=lambda value: choice_name(page, name, value),
    )


def choice_name(page: Frame, name: str, value: str) -> str:
    """Return how a choice is called: `choice.NAME.VALUE` of the catalog, else the value itself."""
    key = f"choice.{name}.{value}"
    return page.t(key) if page.t.has(key) else markdown_plain(value)


def segments(
    label: str,
    options: Sequence[T],
    *,
    key: str,
    usual: T | None = None,
    name: Callable[[T], str] = str,
    **look: Any,
) -> T:
    """Draw options beside each other, one of which is always chosen; return it."""
    usual = options[0] if usual is None else usual
    chosen: Any = st.segmented_control(
        label,
        options,
        format_func=name,
        required=True,
        key=keep(key, usual, among=options),
        **look,
    )
    return _one_of(options, chosen, usual)


def named_segments(page: Frame, name: str, options: Sequence[str], key: str) -> str:
    """Draw options beside each other without a heading: `NAME.label` is for screen readers.

    The options are called `NAME.OPTION` in the catalog.
    """
    label, each = page.t(f"{name}.label"), page.t.each(f"{name}.{{}}")
    return segments(label, options, key=key, name=each, label_visibility="collapsed")


def select(
    label: str,
    options: Sequence[T],
    *,
    key: str,
    usual: T | None = None,
    name: Callable[[T], str] = str,
    private: bool = False,
    **look: Any,
) -> T:
    """Draw a list that unfolds and return the chosen option; private: never part of a link."""
    usual = options[0] if usual is None else usual
    chosen: Any = st.selectbox(
        label,
        options,
        format_func=name,
        key=keep(key, usual, among=options, private=private),
        **look,
    )
    return _one_of(options, chosen, usual)


def scale(
    label: str,
    options: Sequence[T],
    *,
    key: str,
    usual: T | None = None,
    name: Callable[[T], str] = str,
    **look: Any,
) -> T:
    """Draw a slider over options and return the chosen one."""
    usual = options[0] if usual is None else usual
    chosen: T = st.select_slider(
        label, options, format_func=name, key=keep(key, usual, among=options), **look
    )
    return chosen


def several(
    label: str,
    options: Sequence[T],
    *,
    key: str,
    usual: Sequence[T],
    name: Callable[[T], str] = str,
    **look: Any,
) -> list[T]:
    """Draw options any number of which may be chosen and return those that are."""
    return st.pills(
        label,
        options,
        selection_mode="multi",
        format_func=name,
        key=keep(key, list(usual), among=options),
        **look,
    )


def slider(label: str, low: N, high: N, *, key: str, usual: N, **look: Any) -> N:
    """Draw a slider from `low` to `high`, all whole or all decimal, and return its number."""
    chosen = st.slider(label, low, high, key=keep(key, usual, low=low, high=high), **look)
    return type(usual)(chosen)


def whole(
    label: str, low: int, high: int, *, key: str, usual: int, step: int = 1, **look: Any
) -> int:
    """Draw a field for a whole number and return it."""
    kept = keep(key, usual, low=low, high=high)
    # A part of a page can run again by itself before a slow browser has built the field; without
    # a value of its own it would then begin at its minimum.
    value = int(st.session_state[kept])
    return int(st.number_input(label, low, high, value=value, step=step, key=kept, **look))


def _one_of(options: Sequence[T], chosen: Any, usual: T) -> T:
    """Return what was chosen; a browser can send nothing while the widget is being built."""
    if chosen is None and None not in options:
        return usual if usual in options else options[0]
    found: T = chosen
    return found
