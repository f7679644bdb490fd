"""The rows page in a real browser: clicks on words, rows and heads, long and odd sentences."""

import os
import signal
from collections.abc import Callable
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

from pages._ui.base.i18n import catalog
from tests.browser.browsing import LOOKS, Look, Server, at_rest, settled, take_shot

Open = Callable[..., Page]

LONG = "昨天" + "小明把苹果放在桌子上，" * 8 + "小红拿走了它"
REPEATED = "苹果被苹果放在苹果上，苹果拿走了它"
EMOJI = "小明把👨‍👩‍👧放在🍎上，小红拿走了它"


def opened(open_page: Open, server: Server, look: Look | None = None, pair: str = "nouns") -> Page:
    page = settled(open_page(f"{server.url}/rows?pair={quote(pair)}", look))
    page.wait_for_selector("canvas.body")
    return page


def words_of(page: Page, side: str = "a") -> Locator:
    return page.locator(f".st-key-rows_side_{side} button.word")


def numbers_of(page: Page, side: str = "a") -> list[str]:
    return page.locator(f".st-key-rows_side_{side} .number").all_text_contents()


def type_in(page: Page, text: str, side: str = "a") -> None:
    field = page.locator(f".st-key-rows_side_{side} input")
    field.fill(text)
    field.press("Enter")


def looking(page: Page, index: int, side: str = "a") -> None:
    """Wait until the word at `index` is the one that looks."""
    expect(words_of(page, side).nth(index)).to_have_attribute("aria-pressed", "true")


def test_click_on_a_word_changes_its_row_and_no_other(server: Server, page_at: Open) -> None:
    page = opened(page_at, server)
    looking(page, 10)
    before, other = numbers_of(page), numbers_of(page, "b")
    words_of(page).nth(4).click()
    looking(page, 4)
    expect(page.locator(".st-key-rows_side_a .number").nth(2)).not_to_have_text(before[2])
    assert numbers_of(page)[5:] == ["·"] * 6  # what comes after is forbidden
    looking(page, 10, "b")
    assert numbers_of(page, "b") == other


def test_the_row_of_a_clicked_word_is_there_before_the_server_answers(
    server: Server, page_at: Open
) -> None:
    page = opened(page_at, server)
    before = numbers_of(page)
    os.kill(server.process.pid, signal.SIGSTOP)
    try:
        words_of(page).nth(4).click()
        looking(page, 4)
        at_once = numbers_of(page)
    finally:
        os.kill(server.process.pid, signal.SIGCONT)
    assert at_once[5:] == ["·"] * 6  # what comes after is forbidden
    assert at_once[:5] != before[:5]
    at_rest(page)
    looking(page, 4)
    assert numbers_of(page) == at_once


def test_click_on_a_row_of_the_matrix_makes_that_word_look(server: Server, page_at: Open) -> None:
    page = opened(page_at, server)
    box = page.locator("canvas.body").bounding_box()
    assert box is not None
    page.locator("canvas.body").click(position={"x": 9, "y": box["height"] * 3.5 / 11})
    looking(page, 3)


def test_click_on_a_thumbnail_opens_that_layer_and_head(server: Server, page_at: Open) -> None:
    page = opened(page_at, server)
    before = numbers_of(page)
    page.get_by_role("button", name="第 1 层, 头 2").click()
    expect(page.get_by_role("button", name="第 1 层, 头 2")).to_have_attribute(
        "aria-pressed", "true"
    )
    expect(page.get_by_text("第 1 层，头 2")).to_be_visible()
    assert numbers_of(page) != before


def test_repeated_word_keeps_all_its_rows_and_columns(server: Server, page_at: Open) -> None:
    page = opened(page_at, server)
    type_in(page, REPEATED)
    expect(words_of(page).nth(1)).to_have_text("被")
    assert words_of(page).all_text_contents().count("苹果") == 4
    words_of(page).nth(4).click()
    looking(page, 4)
    assert len(page.get_by_role("button", pressed=True, name="苹果").all()) == 1


def test_what_was_typed_appears_as_typed(server: Server, page_at: Open) -> None:
    page = opened(page_at, server)
    type_in(page, "<img src=x onerror=alert(1)>把$x^2$放在*桌子*上，小红拿走了它")
    expect(words_of(page).first).to_have_text("<")
    assert "<imgsrc=xonerror=alert(1)>把" in "".join(words_of(page).all_text_contents())
    assert page.locator(".stMain img[src=x]").count() == 0
    type_in(page, EMOJI)
    expect(words_of(page).nth(2)).to_have_text("👨‍👩‍👧")


def test_long_sentence_is_whole_at_every_width(server: Server, page_at: Open) -> None:
    for width in (1280, 390):
        page = opened(page_at, server, Look(width=width))
        type_in(page, LONG)
        expect(words_of(page)).to_have_count(61)
        settled(page)
        widths = page.locator(".stMain").evaluate("main => [main.scrollWidth, main.clientWidth]")
        assert widths[0] <= widths[1]
        right = words_of(page).evaluate_all(
            "nodes => Math.max(...nodes.map(n => n.getBoundingClientRect().right))"
        )
        assert right <= width
        take_shot(page, f"rows-long-{width}")


def test_a_message_about_one_sentence_leaves_the_other_alone(server: Server, page_at: Open) -> None:
    page = opened(page_at, server)
    type_in(page, "   ")
    expect(page.get_by_test_id("stAlert")).to_contain_text("还是空的")
    expect(words_of(page, "b")).to_have_count(11)
    assert page.locator(".st-key-rows_side_a input").input_value() == "   "


def test_a_click_that_comes_with_a_new_text_is_not_taken_for_it(
    server: Server, page_at: Open
) -> None:
    page = opened(page_at, server)
    page.locator(".st-key-rows_side_a input").fill("小红拿走了它")
    words_of(page).nth(9).click()
    expect(words_of(page)).to_have_count(4)
    settled(page)
    assert page.get_by_test_id("stAlert").count() == 0
    looking(page, 3)


def test_text_survives_language_and_page_change(server: Server, page_at: Open) -> None:
    page = opened(page_at, server)
    type_in(page, EMOJI)
    expect(words_of(page).nth(2)).to_have_text("👨‍👩‍👧")
    page.get_by_text("EN", exact=True).click()
    expect(page.get_by_text("Cut it and see")).to_be_visible()
    page.get_by_test_id("stSidebar").get_by_role("link", name="Home").click()
    page.wait_for_selector(".st-key-home_answer_a")
    page.get_by_test_id("stSidebar").get_by_role("link", name="Attention rows").click()
    expect(page.locator(".st-key-rows_side_a input")).to_have_value(EMOJI)


@pytest.mark.parametrize("pair", ["fit_causal", "article"])
@pytest.mark.parametrize("look", [LOOKS[0], LOOKS[-1]], ids=str)
def test_pair_is_drawn_whole(server: Server, page_at: Open, look: Look, pair: str) -> None:
    page = opened(page_at, server, look, pair)
    assert page.get_by_test_id("stAlert").count() == 0
    widths = page.locator(".stMain").evaluate("main => [main.scrollWidth, main.clientWidth]")
    assert widths[0] <= widths[1]
    take_shot(page, f"rows-{pair}-{look}")


def test_an_old_row_says_that_its_answer_is_awaited_after_200_ms(
    server: Server, page_at: Open
) -> None:
    """Streamlit marks what the running script has not drawn again; the mark is set by hand here."""
    page = settled(page_at(f"{server.url}/rows"))
    row = page.locator(".stElementContainer[class*=st-key-rows-words-A]")
    expect(row).to_be_visible()
    look = """node => {
      const sign = getComputedStyle(node, "::after");
      return [sign.content, sign.visibility, getComputedStyle(node.firstElementChild).opacity];
    }"""
    assert row.evaluate(look)[0] == "none"
    at_once = row.evaluate(f'node => {{ node.dataset.stale = "true"; return ({look})(node); }}')
    assert at_once[1:] == ["hidden", "1"]
    page.wait_for_timeout(600)
    content, visibility, opacity = row.evaluate(look)
    assert content.strip('"') == catalog("zh", "common")["say.awaited"]
    assert (visibility, opacity) == ("visible", "0.4")


def test_english_readers_see_under_each_chinese_word_what_it_means(
    server: Server, page_at: Open
) -> None:
    glosses = ".st-key-rows_side_a .gloss"
    page = opened(page_at, server, Look("en"))
    expect(page.locator(glosses).nth(2)).to_have_text("apple")
    expect(page.locator(glosses).nth(6)).to_have_text("")  # a comma
    word, gloss = (page.locator(f".st-key-rows_side_a .{c}").nth(2) for c in ("word", "gloss"))
    above, below = word.bounding_box(), gloss.bounding_box()
    assert above is not None
    assert below is not None
    assert below["y"] >= above["y"] + above["height"]
    assert below["width"] <= above["width"] + 1
    page = opened(page_at, server, Look("en"), pair="street")
    assert set(page.locator(glosses).all_text_contents()) == {""}
    page = opened(page_at, server)
    assert set(page.locator(glosses).all_text_contents()) == {""}


def test_the_value_of_a_cell_is_written_at_the_pointer(server: Server, page_at: Open) -> None:
    page = opened(page_at, server)
    body, tip = page.locator("canvas.body"), page.locator(".tip")
    expect(tip).to_be_hidden()
    body.scroll_into_view_if_needed()
    body.hover()
    expect(tip).to_be_visible()
    expect(tip).to_have_text(page.locator(".above .readout").inner_text())
    edges = page.locator(".stMain").evaluate("main => [main.scrollWidth, main.clientWidth]")
    assert edges[0] <= edges[1]
    page.mouse.move(0, 0)
    expect(tip).to_be_hidden()
