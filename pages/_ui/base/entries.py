"""The pages that exist, as their catalogs describe them."""

from dataclasses import dataclass

from owi_core.assets import ASSETS
from pages._ui.base import i18n, settings

ROOT = ASSETS.parent
HOME = "home"
# The parts of the navigation, in their order; page.group of a catalog names one of them.
GROUPS = ("see", "train", "apart", "connections", "class")


@dataclass(frozen=True)
class PageEntry:
    """One line of the navigation, as its catalog describes it."""

    name: str
    file: str
    title: str
    icon: str
    order: float
    group: str


def page_entries(lang: str) -> list[PageEntry]:
    """Return the pages that exist and name themselves in a catalog, in their order.

    A page with `listed = false` is left out: it can be opened by its address only.
    """
    entries = [_entry(lang, name) for name in i18n.catalog_names(lang)]
    return sorted((entry for entry in entries if entry), key=lambda entry: entry.order)


def listed_entries(lang: str) -> list[PageEntry]:
    """Return the pages that this server does not hide, for the navigation and the home page."""
    hidden = settings.current().hidden
    return [entry for entry in page_entries(lang) if entry.name not in hidden]


def grouped_entries(lang: str) -> list[tuple[str, list[PageEntry]]]:
    """Return the listed pages by group; a group without pages is left out."""
    entries = listed_entries(lang)
    parts = [(group, [entry for entry in entries if entry.group == group]) for group in GROUPS]
    return [(group, found) for group, found in parts if found]


def _entry(lang: str, name: str) -> PageEntry | None:
    words = i18n.catalog(lang, name)
    file = "app.py" if name == HOME else f"pages/{name}.py"
    named = "page.title" in words and words.get("page.listed") != str(False)
    if not named or not (ROOT / file).exists():
        return None
    order = float(words.get("page.order", "1000"))
    group = words.get("page.group", "")
    if group not in GROUPS:
        group = GROUPS[-1]
    return PageEntry(name, file, words["page.title"], _icon(words["page.icon"]), order, group)


def _icon(name: str) -> str:
    """Return an icon as Streamlit takes it: the name of a Material icon, or an emoji as it is.

    Streamlit serves the font of these icons itself; an emoji is an empty box where the system has
    no emoji font.
    """
    return f":material/{name}:" if name.isascii() else name
