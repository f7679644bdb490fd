"""The words and the colours of figures, as the page's reader has chosen them."""

from dataclasses import fields
from typing import TypedDict

from owi_core.figures import FigureText
from owi_core.figures.theme import Theme
from pages._ui.base.i18n import translator
from pages._ui.base.page import Frame


class Look(TypedDict):
    """The arguments that every figure takes: its colours and its words."""

    theme: Theme
    text: FigureText


def figure_look(page: Frame) -> Look:
    """Return the arguments that draw a figure in the page's theme and language."""
    return {"theme": page.theme, "text": figure_text(page.lang)}


def figure_text(lang: str) -> FigureText:
    """Return the words that figures print, from the catalog `figures`."""
    t = translator(lang, "figures")
    return FigureText(**{field.name: t.template(field.name) for field in fields(FigureText)})
