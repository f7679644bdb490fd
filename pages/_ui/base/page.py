"""What a page needs to know about its reader."""

from dataclasses import dataclass

from owi_core.figures.theme import Theme
from pages._ui.base.i18n import Translator


@dataclass(frozen=True)
class Frame:
    """What a page needs to know about its reader."""

    lang: str
    t: Translator
    theme: Theme
