"""How a script of ours gets onto a page: components v2 from files in assets/components."""

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import streamlit as st

from owi_core.assets import ASSETS
from owi_core.figures.theme import palette_dict

_FOLDER = ASSETS / "components"


@lru_cache(maxsize=16)
def mount(name: str) -> Callable[..., Any]:
    """Return the command that draws component `name`: NAME.js after common.js, with its styles."""
    palettes = {theme: palette_dict(theme) for theme in ("light", "dark")}
    script = [f"const PALETTES = {json.dumps(palettes)};", _read("common.js"), _read(f"{name}.js")]
    style = _read("common.css") + _read(f"{name}.css")
    return st.components.v2.component(f"owi_{name}", css=style, js="\n".join(script))


def page_style() -> str:
    """Return the style sheet of the pages themselves."""
    return _read("page.css")


def _read(name: str) -> str:
    path = _FOLDER / name
    return path.read_text(encoding="utf-8") if path.exists() else ""
