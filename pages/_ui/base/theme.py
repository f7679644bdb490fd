"""Light or dark, as the reader's browser has it; the colours are in owi_core.figures.theme."""

import streamlit as st

from owi_core.figures.theme import Theme


def current_theme() -> Theme:
    """Return the theme the browser reports; "light" before it has reported one."""
    return "dark" if st.context.theme.type == "dark" else "light"
