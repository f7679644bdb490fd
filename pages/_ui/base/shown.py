"""What a page has drawn, noted while it draws: its figures, the code beside them, runs, models.

An export tells with it what a figure was made from.  It is a thing of the session; a part of a
page that is drawn anew replaces what it had noted, since every figure has a key of its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

_SHOWN = "owi.drawn"
_LONGEST = 600  # characters of one setting; a text of one's own can be a whole book


@dataclass
class Shown:
    """What is on the page: name of the page, code by the figure it stands under, settings."""

    name: str = "owi"
    codes: dict[str, list[str]] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    latest: str = ""

    def code_for(self, key: str) -> str:
        """Return the lines under a figure, else those under the next one, else the last."""
        keys = list(self.codes)
        start = keys.index(key) if key in keys else 0
        for name in [*keys[start:], *reversed(keys[:start])]:
            if self.codes[name]:
                return self.codes[name][0]
        return ""

    def all_code(self) -> list[str]:
        """Return the different lines of the page, in its order."""
        return list(dict.fromkeys(code for codes in self.codes.values() for code in codes))


def begin(name: str) -> None:
    """Start a page with nothing on it; the frame calls this at each whole run."""
    st.session_state[_SHOWN] = Shown(name)


def current() -> Shown:
    """Return what is noted so far."""
    if _SHOWN not in st.session_state:
        begin("owi")
    shown: Shown = st.session_state[_SHOWN]
    return shown


def drew(key: str) -> None:
    """Note a figure; code that was under it is forgotten, since it is about to come again."""
    shown = current()
    shown.codes[key], shown.latest = [], key


def code(lines: str) -> str:
    """Note the lines under the latest figure; return a name of their place on the page."""
    shown = current()
    under = shown.codes.setdefault(shown.latest, [])
    under.append(lines)
    return f"{shown.name}.{shown.latest}.{len(under)}"


def made_by(name: str, params: Mapping[str, Any]) -> None:
    """Note the settings of a run or a model, seed and all."""
    told = ", ".join(f"{key} = {value}" for key, value in params.items())
    current().facts[name] = told if len(told) <= _LONGEST else f"{told[:_LONGEST]}…"
