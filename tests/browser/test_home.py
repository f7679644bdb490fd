"""The home page in a real browser: alive in the first screen, one click trains."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.browsing import Look, Server, settled

Open = Callable[..., Page]


def opened(open_page: Open, server: Server, look: Look | None = None) -> Page:
    page = settled(open_page(server.url, look))
    expect(page.locator("button.word")).to_have_count(23 if (look or Look()).lang == "zh" else 22)
    return page


def test_an_english_visitor_reads_english_words_on_one_line(server: Server, page_at: Open) -> None:
    page = opened(page_at, server, Look("en"))
    words = page.locator("button.word")
    assert all(word.isascii() for word in words.all_inner_texts())
    heights = words.evaluate_all("all => all.map(e => Math.round(e.getBoundingClientRect().top))")
    assert len(set(heights[:11])) == len(set(heights[11:])) == 1


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_both_rows_stand_in_the_first_screen(
    server: Server, page_at: Open, width: int, height: int
) -> None:
    page = opened(page_at, server, Look(width=width))
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_timeout(300)
    for index in (2, 10, 17, 22):
        box = page.locator("button.word").nth(index).bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= height
    for index in (2, 17):
        assert page.locator(".words .number").nth(index).inner_text() >= "0.90"
        bar = page.locator(".words .bar").nth(index).evaluate("node => node.offsetHeight")
        assert bar > 30


def test_click_on_a_word_shows_its_row_and_the_sentence_changes(
    server: Server, page_at: Open
) -> None:
    page = opened(page_at, server)
    expect(page.get_by_text("两张不同的连接图")).to_be_visible()
    page.locator("button.word").nth(4).click()
    expect(page.locator("button.word").nth(4)).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_text("两张不同的连接图")).to_have_count(0)
    page.locator("button.word").nth(10).click()
    expect(page.get_by_text("两张不同的连接图")).to_be_visible()


def test_one_click_trains_before_everybodys_eyes(server: Server, page_at: Open) -> None:
    page = opened(page_at, server)
    page.get_by_role("button", name="现在就训练").click()
    page.wait_for_selector(".run canvas", timeout=60_000)
    assert "/train" in page.url
    expect(page.locator(".run button.word, .run .word").first).to_be_visible()
    page.get_by_role("button", name="停止").click()
    expect(page.get_by_role("button", name="开始训练")).to_be_enabled(timeout=20_000)


def test_a_door_leads_into_each_lab(server: Server, page_at: Open) -> None:
    page = opened(page_at, server)
    main = page.get_by_test_id("stMain")
    main.get_by_role("link", name="注意力行").click()
    expect(page).to_have_title("注意力行 · OWI")


def test_a_card_opens_the_english_demo_each_time_as_it_promises(
    server: Server, page_at: Open
) -> None:
    page = opened(page_at, server, Look("en"))
    cards = page.locator("a.card")
    expect(cards).to_have_count(12)
    card = cards.filter(has_text="Too tired, or too wide?")
    box = card.locator("canvas").bounding_box()
    assert box is not None
    assert box["height"] > 50
    expect(card.get_by_role("img", name="it → animal")).to_be_visible()
    for _ in range(2):
        card.click()
        expect(page).to_have_title("Attention rows · OWI")
        for side, meant in (("a", "animal"), ("b", "street")):
            strongest = page.locator(f".st-key-rows_side_{side} .strongest")
            expect(strongest.locator(".word")).to_have_text(meant)
            assert strongest.locator(".number").inner_text() >= "0.90"
        # What a reader changes there does not come back with the card.
        field = page.locator(".st-key-rows_side_a input")
        field.fill("The dog")
        field.press("Enter")
        expect(page.locator(".st-key-rows_side_a button.word")).to_have_count(2)
        page.get_by_test_id("stSidebar").get_by_role("link", name="Home").click()
        expect(cards).to_have_count(12)
