"""A button whose every press counts, also those that come while the page is busy.

Streamlit folds the presses of an ordinary button that wait for a run into one.
"""

import streamlit as st

from pages._ui.base.mounting import mount
from pages._ui.base.page import Frame

MOST = 2**31  # whatever a browser may send


def counting_button(
    page: Frame, label: str, *, enabled: bool = True, main: bool = False, key: str
) -> None:
    """Draw the button; `pressed` returns in the next run how often it was pressed."""
    data = {
        "label": label,
        "enabled": enabled,
        "main": main,
        "taken": pressed(key),
        "theme": page.theme,
    }
    mount("counting_button")(key=key, data=data, on_count_change=lambda: _note(key))


def pressed(key: str) -> int:
    """Return how often a button was pressed in this session.

    The page keeps how many presses its state already includes, and stores both at once: a run that
    is interrupted neither loses a press nor counts it twice.
    """
    return int(st.session_state.get(f"{key}.pressed", 0))


def _note(key: str) -> None:
    """Keep what the browser has counted: its own value goes when the page is left."""
    count = getattr(st.session_state.get(key), "count", None)
    if isinstance(count, int | float) and 0 <= count < MOST:
        st.session_state[f"{key}.pressed"] = int(count)
