"""The connections lab in a real browser: maps by themselves, own words, a training that stops."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.browsing import Look, Server, mostly_slow, settled, take_shot

Open = Callable[..., Page]
LOOKS = [Look("zh"), Look("en", "dark", 390), Look("en"), Look("zh", "dark", 390)]


def at_the_maps(server: Server, page_at: Open, look: Look) -> Page:
    page = page_at(server.url + "/connections", look)
    maps_are_drawn(page)
    return settled(page)


def maps_are_drawn(page: Page) -> None:
    """Three models on A, and one model on A and B; nobody pressed a button."""
    expect(page.locator(".js-plotly-plot .heatmaplayer").nth(4)).to_be_attached(timeout=150_000)


def type_into(page: Page, label: str, text: str) -> None:
    field = page.get_by_role("textbox", name=label)
    field.fill(text)
    field.press("Enter")


def test_own_words_get_maps_and_a_training_is_watched_and_stopped(
    server: Server, page_at: Open
) -> None:
    page = at_the_maps(server, page_at, Look("zh"))
    assert "窗口到头" in page.locator("main, [data-testid=stMain]").first.inner_text()
    type_into(page, "句子 A", "鲸鱼 游过 <b>大海</b> 😀")
    type_into(page, "句子 B", "海鸥 飞过 <b>大海</b> 😀")
    expect(page.locator(".ytick, .y2tick").get_by_text("鲸鱼").first).to_be_visible(timeout=90_000)
    expect(page.locator(".ytick, .y2tick").get_by_text("海鸥").first).to_be_visible(timeout=90_000)
    page.get_by_role("radio", name="线性卷积").click()
    expect(page.get_by_text("一模一样")).to_be_visible()
    page.locator(".st-key-connections-recall-start button").click()
    expect(page.locator(".run canvas").first).to_be_visible(timeout=90_000)
    take_shot(page, "connections-live")
    page.locator(".st-key-connections-recall-stop button").click()
    expect(page.get_by_text("没有走完")).to_be_visible()
    expect(page.locator(".run canvas")).to_have_count(0)
    expect(page.get_by_text("鲸鱼").first).to_be_visible()


@pytest.mark.parametrize("look", mostly_slow(LOOKS))
def test_the_maps_in_all_looks(server: Server, page_at: Open, look: Look) -> None:
    page = at_the_maps(server, page_at, look)
    missing = "（还没量）" if look.lang == "zh" else "(not measured yet)"
    expect(page.get_by_text(missing).first).to_be_attached()
    overflow = page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    assert overflow <= 0
    take_shot(page, f"connections-{look}")
