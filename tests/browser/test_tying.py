"""Shared weights in a real browser: the edit, undone; two readers at once; both trained."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser import browsing

Open = Callable[..., Page]


def at_tying(server: browsing.Server, page_at: Open, look: browsing.Look) -> Page:
    page = page_at(server.url + "/tying", look)
    return browsing.settled(page)


def heads(page: Page) -> list[str]:
    """The head's cell, tied and untied, as the page shows it."""
    metrics = page.locator("[data-testid=stMetric]").filter(has_text="lm_head")
    expect(metrics).to_have_count(2)
    return metrics.locator("[data-testid=stMetricValue]").all_inner_texts()


def test_the_edit_moves_the_tied_cell_of_ones_own_copy_and_both_train(
    server: browsing.Server, page_at: Open
) -> None:
    page, other = (at_tying(server, page_at, browsing.Look(lang)) for lang in ("zh", "en"))
    before = heads(page)
    assert before[0] == before[1]
    page.get_by_role("button", name="写入").click()
    written = page.locator("[data-testid=stMetricValue]").get_by_text("−5.000", exact=True)
    expect(written).to_have_count(3)  # both embeddings, and the head that is shared
    assert heads(page) == ["−5.000", before[1]]
    expect(page.get_by_text("只有共用的动了")).to_be_visible()
    # Somebody else's page knows nothing of it, also after an edit of its own.
    assert heads(other) == before
    other.get_by_role("button", name="Write").click()
    expect(other.get_by_text("Only the shared one moved")).to_be_visible()
    other.get_by_role("button", name="Reset").click()
    expect(other.get_by_text("Nothing is written yet")).to_be_visible()
    assert heads(page) == ["−5.000", before[1]]
    page.get_by_role("button", name="撤销").click()
    expect(page.get_by_text("还没有写入")).to_be_visible()
    assert heads(page) == before

    page.get_by_text("更多设置").click()
    for label, value in (("步数", 24), ("宽度", 8), ("训练句数", 200)):
        browsing.set_number(page, label, value)
    page.get_by_text("▶ 两个一起训练").click()
    expect(page.get_by_text("怎样会共用错")).to_be_visible(timeout=150_000)
    expect(page.get_by_text("最大相对误差")).to_be_visible()
    browsing.settled(page)
    assert page.locator(".js-plotly-plot").count() == 4


@pytest.mark.parametrize("look", browsing.mostly_slow(browsing.EVERY_TWO))
def test_the_first_sight_in_all_looks(
    server: browsing.Server, page_at: Open, look: browsing.Look
) -> None:
    page = at_tying(server, page_at, look)
    expect(page.locator("table").first).to_contain_text("load_state_dict(assign=True)")
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    browsing.take_shot(page, f"tying-{look}")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1")
    table = page.locator("table").first.bounding_box()
    assert table is not None
    assert table["x"] + table["width"] <= look.width
