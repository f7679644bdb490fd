"""What a page has drawn so far: its figures, the code next to them, its runs and its models.

An export lists with each figure what it was made from.  The list belongs to the session.  A
fragment that is drawn again replaces what it had noted before, because every figure has its own
key.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

_CONTENTS = "owi.drawn"
_LONGEST = 600  # characters of one setting: a pasted text can be a whole book


@dataclass
class PageContents:
    """What is on the page: its name, code lines by the key of the figure above them, settings."""

    name: str = "owi"
    codes: dict[str, list[str]] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    latest: str = ""

    def code_for(self, key: str) -> str:
        """Return the code below a figure, else that below the next figure, else the last."""
        keys = list(self.codes)
        start = keys.index(key) if key in keys else 0
        for name in [*keys[start:], *reversed(keys[:start])]:
            if self.codes[name]:
                return self.codes[name][0]
        return ""

    def all_code(self) -> list[str]:
        """Return the page's code without repetitions, in page order."""
        return list(dict.fromkeys(code for codes in self.codes.values() for code in codes))


def begin(name: str) -> None:
    """Start a page with nothing on it; the frame calls this at each full run of a script."""
    st.session_state[_CONTENTS] = PageContents(name)


def current() -> PageContents:
    """Return what has been noted so far."""
    if _CONTENTS not in st.session_state:
        begin("owi")
    contents: PageContents = st.session_state[_CONTENTS]
    return contents


def drew(key: str) -> None:
    """Note a figure; the code noted below it is dropped, since it is about to be noted again."""
    contents = current()
    contents.codes[key], contents.latest = [], key


def code(lines: str) -> str:
    """Note code below the latest figure; return a name for its place on the page."""
    contents = current()
    below = contents.codes.setdefault(contents.latest, [])
    below.append(lines)
    return f"{contents.name}.{contents.latest}.{len(below)}"


def made_by(name: str, params: Mapping[str, Any]) -> None:
    """Note the settings of a run or a model, including its seed."""
    settings = ", ".join(f"{key} = {value}" for key, value in params.items())
    shortened = settings if len(settings) <= _LONGEST else f"{settings[:_LONGEST]}…"
    current().facts[name] = shortened
