"""The translation lab in a real browser: a map that grows, a word to click, a page on a phone."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.browsing import Look, Server, settled

Open = Callable[..., Page]


@pytest.mark.slow
def test_the_alignment_appears_while_it_trains_and_a_click_shows_a_row(
    server: Server, page_at: Open
) -> None:
    page = page_at(server.url + "/translation?steps_sentences=120&d_model=64", Look("zh"))
    settled(page).get_by_text("▶ 开始训练").click()
    expect(page.get_by_text("步，最后一层交叉注意力")).to_be_visible(timeout=120_000)
    expect(page.get_by_text("一个词一个词地看")).to_be_visible(timeout=300_000)
    said = page.get_by_text("读到 <BOS> 时写下")
    expect(said).to_be_visible(timeout=60_000)
    # Every word of the translation is a button; the second one belongs to the query after it.
    page.locator(".st-key-translation-target button").nth(1).click()
    expect(said).to_have_count(0, timeout=60_000)
    expect(page.get_by_text(re.compile("读到 .+ 时写下"))).to_be_visible()
