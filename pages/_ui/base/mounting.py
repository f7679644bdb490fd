"""How the scripts and styles of this project get onto a page, as components v2.

Files that several pages use are in assets/components; those of a single lab are in its folder.
"""

import json
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import streamlit as st

from owi_core.assets import ASSETS
from owi_core.figures.theme import palette_dict

_SHARED = ASSETS / "components"
_LABS = Path(__file__).parents[2] / "_labs"


@lru_cache(maxsize=16)
def mount(name: str, lab: str = "", style: str = "") -> Callable[..., Any]:
    """Return the command that draws component `name`: NAME.js after common.js, with its styles.

    lab: whose folder NAME.js and NAME.css are in; without one, all pages share them.  style: the
    component whose style sheet this one shares.
    """
    palettes = {theme: palette_dict(theme) for theme in ("light", "dark")}
    script = [f"const PALETTES = {json.dumps(palettes)};", _read("common.js")]
    script.append(_read(f"{name}.js", lab))
    css = _read("common.css") + _read(f"{style or name}.css", lab)
    return st.components.v2.component(f"owi_{name}", css=css, js="\n".join(script))


def page_style() -> str:
    """Return the style sheet of the pages themselves."""
    return _read("page.css")


def lab_style(lab: str) -> None:
    """Add a lab's own style sheet, LAB.css in its folder, to the page."""
    st.html(f"<style>{_read(f'{lab}.css', lab)}</style>")


def _read(name: str, lab: str = "") -> str:
    path = (_LABS / lab if lab else _SHARED) / name
    return path.read_text(encoding="utf-8") if path.exists() else ""
