"""What a user typed appears as typed in a real browser, in every place that reads markup."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.apps.nasty_texts import NASTY
from tests.browser.browsing import APPS, Server, serving

_PLACES = {
    "markdown": "[data-testid=stMarkdown] p",
    "caption": "[data-testid=stCaptionContainer] p",
    "label": "[data-testid=stCheckbox] label p",
    "html": "p.typed",
}


@pytest.fixture(scope="module")
def typed_server(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(APPS / "typed.py", tmp_path_factory.mktemp("typed")) as running:
        yield running


def test_typed_text_appears_as_typed_everywhere(
    typed_server: Server, page_at: Callable[..., Page]
) -> None:
    page = page_at(typed_server.url)
    page.wait_for_selector("text=end of page")
    for selector in (*_PLACES.values(), "[data-testid=stAlert]"):
        expect(page.locator(selector).nth(len(NASTY) - 1)).to_be_visible()
    for place, selector in _PLACES.items():
        shown = page.locator(selector).all_text_contents()
        expected = [f"{number}▸{text}◂" for number, text in enumerate(NASTY)]
        assert list(dict.fromkeys(text for text in shown if "▸" in text)) == expected, place
    alone = page.locator("[data-testid=stAlert]").all_text_contents()
    assert alone == NASTY
    assert (
        page.locator("[data-testid=stAlert] :is(a, b, em, strong, code, img, h1, li)").count() == 0
    )
