"""Teaching mode: larger type and fewer controls, as the address asks for it."""

from dataclasses import dataclass

import streamlit as st

from owi_core.assets import ASSETS
from pages._ui.base import links

LARGER = 1.5  # everything by half
_STYLES = ASSETS / "components"


@dataclass(frozen=True)
class Teaching:
    """What the address asks for: a lesson and its step, the view for a class, hidden controls.

    said: the choice at each step so far, a digit or "-".
    """

    lesson: str | None = None
    at: int = 1
    said: str = ""
    teach: bool = False
    hide: bool = False

    @property
    def on(self) -> bool:
        """Whether type is larger and parts that are not for a class are hidden."""
        return self.teach or self.hide or self.lesson is not None


def asked() -> Teaching:
    """Return what the address says."""
    found = links.teaching(st.query_params)
    return Teaching(
        found.get(links.LESSON),
        int(found.get(links.AT, "1")),
        found.get(links.SAID, ""),
        links.TEACH in found,
        links.HIDE in found,
    )


def carried() -> dict[str, str]:
    """Return the parameters that a change of page keeps."""
    found = links.teaching(st.query_params)
    return {name: found[name] for name in (links.TEACH, links.HIDE) if name in found}


def style() -> str:
    """Return what is added to the pages' style."""
    now = asked()
    names = [name for name, there in (("teaching", now.on), ("hidden", now.hide)) if there]
    return "".join((_STYLES / f"{name}.css").read_text(encoding="utf-8") for name in names)
