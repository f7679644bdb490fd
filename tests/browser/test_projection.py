"""The projection lab in a real browser: a click switches a head off, and the number moves."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.browsing import EVERY_TWO, Look, Server, mostly_slow, settled, take_shot

Open = Callable[..., Page]
WORDS = {
    "zh": {"head": "头 1", "layer": "关掉第 2 层", "reset": "全部打开", "train": "▶ 两个一起训练"},
    "en": {"head": "head 1", "layer": "all of layer 2 off", "reset": "all on again",
           "train": "▶ Train both"},
}  # fmt: skip


def becomes(page: Page, pattern: str) -> None:
    expect(page.get_by_test_id("stMetricValue").nth(1)).to_have_text(re.compile(pattern))


@pytest.mark.parametrize("look", mostly_slow(EVERY_TWO))
def test_a_head_switched_off_moves_the_number_and_a_layer_moves_it_much_more(
    server: Server, page_at: Open, look: Look
) -> None:
    words = WORDS[look.lang]
    page = page_at(server.url + "/projection", look)
    settled(page)
    becomes(page, r"^0\.00 nat")
    page.get_by_role("button", name=words["head"], exact=True).nth(1).click()
    becomes(page, r"^−0\.0[1-9] nat")
    page.get_by_role("button", name=words["layer"]).click()
    becomes(page, r"^−[4-6]\.\d\d nat")
    expect(page.locator(".js-plotly-plot")).to_have_count(4)
    expect(page.get_by_role("button", name=words["train"])).to_be_enabled()
    settled(page)
    take_shot(page, f"projection-{look}")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1")
    other = settled(page_at(server.url + "/projection", look))
    becomes(other, r"^0\.00 nat")  # what one reader cuts, no other one sees
    page.get_by_role("button", name=words["reset"]).click()
    becomes(page, r"^0\.00 nat")
