"""The words on figures in the reader's language."""

from dataclasses import fields

from owi_core.figures import FigureText
from pages._ui.base.i18n import translator


def figure_text(lang: str) -> FigureText:
    """Return the words that figures print, from the catalog `figures`."""
    t = translator(lang, "figures")
    return FigureText(**{field.name: t.template(field.name) for field in fields(FigureText)})
