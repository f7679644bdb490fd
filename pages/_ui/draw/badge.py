"""What a record proves about itself, drawn small: rows sum to 1, the future has weight 0."""

from collections.abc import Iterable

import streamlit as st

from pages._ui.base.i18n import Translator
from pages._ui.draw import say
from pages._ui.draw.say import Looked


def badge(t: Translator, looked: Iterable[Looked]) -> None:
    """Draw the checks of all records as one line; t: the catalog of the rows page."""
    marks = [check_mark(t, *check) for check in say.checks(looked)]
    st.caption(t("check.label") + " " + " · ".join(marks))


def check_mark(t: Translator, name: str, passed: bool) -> str:
    """Return a check with its mark and its name."""
    return f"{'✓' if passed else '✗'} {t(f'check.{name}')}"
