"""No text, no number and no figure is cut off, on any page, at any usual width, in a class too."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from pages._ui.base.entries import HOME, page_entries
from tests.browser.browsing import Look, Server, settled

CLIPPED = (Path(__file__).parent / "clipping.js").read_text("utf-8")
NAMES = [*(entry.name for entry in page_entries("en")), "status"]
# Window sizes of a desk, of the same desk at 125 and 150 % zoom (fewer CSS pixels), of a small
# projector, of a phone; for a class the sizes of a projector.
DESK = [(1366, 768), (1093, 614), (1024, 768), (911, 512), (683, 512), (390, 844)]
PROJECTOR = [(1920, 1080), (1536, 864), (1280, 720), (1024, 768)]
VIEWS = [("zh", True), ("en", True), ("zh", False), ("en", False)]


def views() -> list[Any]:
    """Return every page in every view; two pages in three are in one view with every run."""
    often = {(name, *VIEWS[at % len(VIEWS)]) for at, name in enumerate(NAMES) if at % 3 != 1}
    every = [(name, *view) for name in NAMES for view in VIEWS]
    return [
        pytest.param(
            *one,
            id=f"{one[0]}-{one[1]}-{'class' if one[2] else 'desk'}",
            marks=() if one in often else pytest.mark.slow,
        )
        for one in every
    ]


def address(server: Server, name: str, lang: str, teach: bool) -> str:
    path = "" if name == HOME else name
    return f"{server.url}/{path}?lang={lang}{'&teach=1' if teach else ''}"


@pytest.mark.parametrize(("name", "lang", "teach"), views())
def test_nothing_on_a_page_is_cut_off(
    server: Server, page_at: Callable[..., Page], name: str, lang: str, teach: bool
) -> None:
    sizes = PROJECTOR if teach else DESK
    page = settled(page_at(address(server, name, lang, teach), Look(lang, width=sizes[0][0])))
    found = []
    for width, height in sizes:
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(600)  # figures are drawn again for their new width
        found += [f"{width} px: {line}" for line in page.evaluate(CLIPPED)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "size",
    [
        (1024, 768),
        *(pytest.param(s, marks=pytest.mark.slow) for s in [(820, 1180), (844, 390), (700, 900)]),
    ],
)
def test_the_home_page_shows_both_answers_whole(
    server: Server, page_at: Callable[..., Page], size: tuple[int, int]
) -> None:
    page = settled(page_at(server.url, Look(width=size[0])))
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.wait_for_timeout(300)
    for side in "ab":
        answer = page.locator(f".st-key-home_answer_{side} p")
        assert "→" in answer.inner_text()
        box = answer.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= size[0]


def test_both_sentences_of_the_rows_page_fit_the_screen_of_a_class(
    server: Server, page_at: Callable[..., Page]
) -> None:
    page = settled(page_at(address(server, "rows", "zh", True), Look(width=1920)))
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.wait_for_timeout(300)
    for side in "ab":
        box = page.locator(f".st-key-rows_side_{side}").bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 1080
        answer = page.locator(f".st-key-rows_answer_{side}").bounding_box()
        assert answer is not None
        assert answer["y"] + answer["height"] <= box["y"] + box["height"]
