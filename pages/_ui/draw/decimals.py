"""A field for a decimal number that reads both a decimal point and a decimal comma.

The browser's own number field drops a comma without a word, so that `0,003` becomes 3.  This one
is a text field: it shows what was read, and refuses what it cannot read, keeping what was typed.
"""

from typing import Any

import streamlit as st

from owi_core.errors import SettingError
from owi_core.untrusted import decimal_number
from pages._ui.base.i18n import error_text
from pages._ui.base.page import Frame
from pages._ui.session.state import has_arrived, held, set_kept

LONGEST = 40


def text_of(number: float) -> str:
    """Return a number as its field shows it: short, but never rounded."""
    short = f"{number:.4g}"
    return short if float(short) == number else repr(number)


def typed_key(key: str) -> str:
    """Return the key of the text field behind the number that is kept under `key`."""
    return f"{key}.typed"


def decimal(
    page: Frame, label: str, low: float, high: float, *, key: str, usual: float, **look: Any
) -> float:
    """Draw the field and return the number, which is kept under `key` like any other value."""
    number = held(key, float(usual), low=low, high=high)
    refusal = _refusal(key, number)
    text = text_of(number) if refusal is None else refusal
    field = typed_key(key)
    if st.session_state.get(field) != text or not has_arrived(key):
        st.session_state[field] = text
    with st.container(width=look.pop("width", "stretch")):
        st.text_input(label, key=field, on_change=_take_typed, args=(key, low, high), **look)
        if refusal is not None:
            st.error(_why(page, label, refusal, (low, high), number), icon=":material/block:")
    return number


def read_typed(key: str, low: float, high: float) -> float | None:
    """Keep the number that was typed and return it; note a text that is refused, returning None.

    A button's callback that uses the number calls this first: the browser can send the text and
    the click together, and the order of their callbacks is not defined.
    """
    text = str(st.session_state[typed_key(key)] or "")
    number = decimal_number(text)
    if number is None or not low <= number <= high:
        # The number in use is noted too: once another one comes, from a link, the refusal is old.
        st.session_state[_refused_key(key)] = (text, st.session_state.get(key))
        return None
    st.session_state.pop(_refused_key(key), None)
    set_kept(key, number)
    return number


def _take_typed(key: str, low: float, high: float) -> None:
    """Keep the number that was typed, or note the text when it is refused."""
    read_typed(key, low, high)


def _refusal(key: str, number: float) -> str | None:
    text, in_use = st.session_state.get(_refused_key(key), (None, None))
    return text if in_use == number else None


def _why(page: Frame, label: str, text: str, bounds: tuple[float, float], number: float) -> str:
    values = {"name": label, "value": text[:LONGEST], "kept": text_of(number)}
    read = decimal_number(text)
    if read is None:
        return error_text(page.lang, SettingError("decimal_unreadable", **values))
    low, high = bounds
    error = SettingError("decimal_out_of_range", **values, read=read, low=low, high=high)
    return error_text(page.lang, error)


def _refused_key(key: str) -> str:
    return f"{key}.refused"
