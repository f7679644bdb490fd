"""Which settings a result was made with, and whether the page has other ones now."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import streamlit as st

from owi_core.errors import OwiError
from owi_core.experiments import find, parse_params
from owi_core.experiments._kit.params import needed
from owi_core.jobs.runs import Run
from pages._ui.base.page import Frame

LONGEST_VALUE = 24
MOST_NAMED = 6
_NOT_CHOSEN = {"part"}  # each part of a page has a panel of its own
# Where the catalog of a page has the name of a choice.
_NAMES = ("choice.{name}.{value}", "corpus.{value}.name", "side.{value}")


def say_settings(
    page: Frame, run: Run, asked: Mapping[str, Any] | None, *, experiment: str = "", key: str
) -> bool:
    """Say what a result is of and what the page asks for now; return whether to run that.

    asked: the settings on the page, None where they cannot be read.  experiment: what they are
    of, by default the run's own.
    """
    params = parse_params(find(run.experiment), run.params)
    st.caption(page.t.markdown("of.settings", settings=_listed(page, needed(params))))
    if asked is None:
        return False
    changed = _changed(run, asked, experiment or run.experiment)
    if not changed:
        return False
    with st.container(horizontal=True, vertical_alignment="center", key=f"{key}_renew_line"):
        st.markdown("⚠️ " + page.t.markdown("of.changed", settings=_listed(page, changed)))
        return st.button(page.t("of.again"), key=f"{key}_renew")


def _changed(run: Run, asked: Mapping[str, Any], experiment: str) -> Mapping[str, Any]:
    """Return the settings of the page that are not those of the run, with the page's values.

    Complete parameters are compared: a default that follows from another setting counts too.
    """
    kind = find(experiment)
    try:
        wanted = parse_params(kind, asked)
    except (OwiError, TypeError, ValueError):
        return {}  # the start button says what is wrong with them
    if experiment != run.experiment:
        return needed(wanted)
    had, now = asdict(parse_params(kind, run.params)), asdict(wanted)
    return {name: value for name, value in now.items() if value != had[name]}


def _listed(page: Frame, settings: Mapping[str, Any]) -> str:
    """Return settings in the words of the page, the first few of them."""
    told = list(_told(page, settings))
    more = ["…"] if len(told) > MOST_NAMED else []
    return " · ".join([*told[:MOST_NAMED], *more])


def _told(page: Frame, settings: Mapping[str, Any]) -> Iterator[str]:
    for name, value in settings.items():
        if name in _NOT_CHOSEN:
            continue
        label = page.t(f"setting.{name}") if page.t.has(f"setting.{name}") else name
        yield f"{label} = {_value(page, name, value)}"


def _value(page: Frame, name: str, value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    keys = [key.format(name=name, value=value) for key in _NAMES]
    text = next((page.t(key) for key in keys if page.t.has(key)), str(value))
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"
