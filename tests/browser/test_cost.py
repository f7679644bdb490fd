"""The cost lab in a real browser: reach at first sight, then one measurement from start to end."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.browsing import Look, Server, mostly_slow, settled, take_shot

Open = Callable[..., Page]
LOOKS = [Look("zh"), Look("en"), Look("zh", "dark", 390), Look("en", "dark", 390)]


@pytest.mark.parametrize("look", mostly_slow(LOOKS))
def test_reach_is_there_at_once_and_a_measurement_ends_in_its_chart(
    server: Server, page_at: Open, look: Look
) -> None:
    page = page_at(server.url + "/cost", look)
    settled(page)
    expect(page.locator("[class*='st-key-cost-reach'] .plot-container").first).to_be_visible(
        timeout=60_000
    )
    expect(page.get_by_text("64 MiB")).to_be_visible()
    settings = "设置" if look.lang == "zh" else "Settings"
    longest = "最长（词）" if look.lang == "zh" else "Longest (words)"
    page.get_by_text(settings, exact=True).first.click()
    field = page.get_by_role("spinbutton", name=longest).first
    field.fill("64")
    field.press("Enter")
    expect(field).to_have_value("64")
    settled(page)
    page.locator(".st-key-cost-time-start button").click()
    slope = "斜率" if look.lang == "zh" else "slope"
    expect(page.get_by_text(slope).first).to_be_visible(timeout=120_000)
    chart = page.locator("[class*='st-key-cost-time-step'] .plot-container")
    expect(chart).to_be_visible(timeout=60_000)
    expect(chart).to_contain_text("LSTM")
    # Nothing may stand wider than the window.
    assert page.evaluate("() => document.documentElement.scrollWidth") <= look.width
    take_shot(page, f"cost-{look}")
