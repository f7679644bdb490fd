"""The mask lab in a real browser: two curves that grow together, one Stop, a leak to point at."""

import re
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.browsing import (
    EVERY_TWO,
    Look,
    Server,
    mostly_slow,
    set_number,
    settled,
    take_shot,
)

Open = Callable[..., Page]


def at_masking(server: Server, page_at: Open, look: Look) -> Page:
    page = page_at(server.url + "/masking", look)
    return settled(page)


def readouts(page: Page) -> list[int]:
    """The newest step that each of the two charts tells."""
    told = page.locator(".run .readout").all_inner_texts()
    return [int(found.group(1)) for text in told if (found := re.search(r"(\d+)", text))]


def test_two_curves_grow_together_and_one_stop_ends_both(server: Server, page_at: Open) -> None:
    page = at_masking(server, page_at, Look("zh"))
    page.get_by_text("更多设置").click()
    set_number(page, "步数", 2000)
    page.get_by_text("▶ 两个一起训练").click()
    expect(page.locator(".run canvas")).to_have_count(2)
    seen: list[list[int]] = []
    until = time.monotonic() + 60
    while len({tuple(pair) for pair in seen}) < 4 and time.monotonic() < until:
        pair = readouts(page)
        if len(pair) == 2:
            seen.append(pair)
        page.wait_for_timeout(200)
    assert len({tuple(pair) for pair in seen}) >= 4
    # One of the two may be drawn a moment before the other.
    assert all(abs(a - b) <= 60 for a, b in seen)
    take_shot(page, "masking-live")
    page.get_by_text("■ 停止").click()
    expect(page.locator("[data-testid=stProgress]")).to_contain_text("两个都停在第")
    expect(page.get_by_text("没有走完")).to_be_visible()
    expect(page.locator(".run canvas")).to_have_count(0)


@pytest.mark.parametrize("look", mostly_slow(EVERY_TWO))
def test_the_finished_run_in_all_looks(server: Server, page_at: Open, look: Look) -> None:
    page = at_masking(server, page_at, look)
    start = "▶ 两个一起训练" if look.lang == "zh" else "▶ Train both"
    page.get_by_text(start).click()
    shut = "未来→过去" if look.lang == "zh" else "Future → past"
    expect(page.get_by_text(shut).first).to_be_visible(timeout=150_000)
    settled(page)
    page.wait_for_timeout(1500)
    take_shot(page, f"masking-{look}")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1")
    if look.width > 640:
        point_at_a_leak(page)


def point_at_a_leak(page: Page) -> None:
    """Point at the cells of the second leak matrix until one tells its value."""
    matrix = page.locator(".js-plotly-plot:has(.hm)").nth(1)
    matrix.scroll_into_view_if_needed()
    box = matrix.locator(".nsewdrag").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.25)
    page.mouse.move(box["x"] + box["width"] * 0.5 + 3, box["y"] + box["height"] * 0.25 + 3)
    hover = matrix.locator(".hovertext")
    expect(hover.first).to_be_visible()
    assert re.search(r"\d\.\d{3}", hover.first.text_content() or "")
