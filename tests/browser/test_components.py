"""The three components in a real browser: clicks, keys, repeated words, updates in place."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.apps.words import WORDS
from tests.browser.browsing import APPS, LOOKS, Look, Server, mostly_slow, serving, take_shot

Open = Callable[..., Page]


@pytest.fixture(scope="module")
def components(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(APPS / "components.py", tmp_path_factory.mktemp("components")) as running:
        yield running


def opened(open_page: Open, server: Server, words: str = "apple", **query: str) -> Page:
    """Open the test page with some words and wait until all three components are drawn."""
    look = query.pop("look", Look())
    rest = "".join(f"&{name}={value}" for name, value in query.items())
    page = open_page(f"{server.url}/?words={words}{rest}", look)
    page.wait_for_selector("canvas.body")
    page.wait_for_selector(".run canvas")
    page.wait_for_timeout(300)
    return page


def words_of(page: Page) -> Locator:
    return page.locator("button.word")


def chosen(page: Page, index: int) -> None:
    expect(page.get_by_text(f"chosen={index}", exact=True)).to_be_visible()


def point_at(page: Page, query: int, key: int, count: int) -> None:
    """Move the pointer to the middle of a cell of the matrix."""
    page.locator("canvas.body").hover(position=cell_middle(page, query, key, count))


def cell_middle(page: Page, query: int, key: int, count: int) -> dict[str, float]:
    box = page.locator("canvas.body").bounding_box()
    assert box is not None
    return {"x": (key + 0.5) * box["width"] / count, "y": (query + 0.5) * box["height"] / count}


def test_click_on_a_word_gives_its_index_back(components: Server, page_at: Open) -> None:
    page = opened(page_at, components)
    words_of(page).nth(2).click()
    chosen(page, 2)
    expect(words_of(page).nth(2)).to_have_attribute("aria-pressed", "true")


def test_equal_words_are_numbered_where_one_chooses(components: Server, page_at: Open) -> None:
    page = opened(page_at, components, "repeated")
    assert page.locator(".column:has(button) > .place").all_text_contents() == [
        "1",
        "1",
        "2",
        "2",
        "3",
    ]
    names = [word.get_attribute("aria-label") or "" for word in words_of(page).all()]
    assert [name.split(",")[0] for name in names[::2]] == ["苹果 (1)", "苹果 (2)", "苹果 (3)"]
    alone = opened(page_at, components)
    assert set(alone.locator(".column:has(button) > .place").all_text_contents()) == {""}


def test_what_cannot_be_seen_is_drawn_by_a_sign(components: Server, page_at: Open) -> None:
    page = opened(page_at, components, "signs")
    signs = ["␣␣", "␣", "⇥", "↵", "␇", "␦", "U+200B", "它"]
    assert words_of(page).all_text_contents() == signs


def test_tab_and_enter_choose_a_word(components: Server, page_at: Open) -> None:
    page = opened(page_at, components)
    words_of(page).nth(3).focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    chosen(page, 4)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Space")
    chosen(page, 3)


def test_click_on_a_cell_chooses_its_row(components: Server, page_at: Open) -> None:
    page = opened(page_at, components)
    page.locator("canvas.body").click(position=cell_middle(page, 4, 1, 11))
    chosen(page, 4)


def test_arrows_and_enter_choose_a_row(components: Server, page_at: Open) -> None:
    page = opened(page_at, components)
    page.locator(".scroll").focus()
    for key in ("ArrowUp", "ArrowUp", "ArrowRight"):
        page.keyboard.press(key)
    expect(page.locator(".above .readout")).to_contain_text("拿走 → 把")
    page.keyboard.press("Enter")
    chosen(page, 8)


def test_hover_reads_query_key_and_three_digits(components: Server, page_at: Open) -> None:
    page = opened(page_at, components)
    point_at(page, 0, 0, 11)
    expect(page.locator(".above .readout")).to_have_text("小明 → 小明：1.000")
    point_at(page, 0, 5, 11)
    expect(page.locator(".above .readout")).to_have_text("小明 → 上：0.000 (被掩码禁止)")


def test_repeated_word_keeps_all_its_rows_and_columns(components: Server, page_at: Open) -> None:
    page = opened(page_at, components, "repeated")
    assert words_of(page).all_text_contents() == WORDS["repeated"]
    read = []
    for key in (0, 2, 4):
        point_at(page, 4, key, 5)
        read.append(page.locator(".above .readout").inner_text())
    assert all(text.startswith("苹果 → 苹果：") for text in read)
    assert len(set(read)) == 3
    words_of(page).nth(2).click()
    chosen(page, 2)


def test_token_that_looks_like_markup_appears_literally(components: Server, page_at: Open) -> None:
    page = opened(page_at, components, "html")
    spaced = [word.replace(" ", "␣") for word in WORDS["html"]]
    assert words_of(page).all_text_contents() == spaced
    assert page.locator(".stBidiComponent :is(img, b)").count() == 0
    point_at(page, 4, 0, 5)
    expect(page.locator(".above .readout")).to_contain_text(
        "<img␣src=x␣onerror=alert(1)> → <b>x</b>"
    )


def test_update_is_drawn_into_the_same_nodes(components: Server, page_at: Open) -> None:
    page = opened(page_at, components)
    nodes = ["canvas.body", "button.word >> nth=0", ".track i >> nth=0", ".run canvas"]
    for selector in nodes:
        page.locator(selector).first.evaluate("node => { node.mark = 'kept' }")
    before = page.locator(".number").all_text_contents()
    page.get_by_role("button", name="change", exact=True).click()
    expect(page.locator(".number").first).not_to_have_text(before[0])
    for selector in nodes:
        assert page.locator(selector).first.evaluate("node => node.mark") == "kept", selector


def test_live_run_updates_step_by_step_without_remounting(
    components: Server, page_at: Open
) -> None:
    page = opened(page_at, components, live="1")
    page.locator(".run canvas").evaluate("node => { node.mark = 'kept' }")
    readout = page.locator(".run .readout")
    for _ in range(6):
        expect(readout).not_to_have_text(readout.inner_text())
    assert page.locator(".run canvas").evaluate("node => node.mark") == "kept"


def test_forbidden_cell_is_told_from_a_small_value(components: Server, page_at: Open) -> None:
    page = opened(page_at, components)
    colours = page.locator("canvas.body").evaluate(
        """canvas => [[0, 5], [2, 0]].map(([row, column]) => {
            const [across, down] = [canvas.width / 11, canvas.height / 11];
            const box = [column * across + 4, row * down + 4, across - 8, down - 8].map(Math.round);
            const pixels = canvas.getContext('2d').getImageData(...box).data;
            return new Set(Array.from({ length: pixels.length / 4 }, (_, i) =>
                [...pixels.slice(4 * i, 4 * i + 3)].join())).size;
        })"""
    )
    assert colours[0] > 5
    assert colours[1] == 1


def test_leak_through_the_mask_is_read_and_framed(components: Server, page_at: Open) -> None:
    page = opened(page_at, components, leak="1")
    point_at(page, 0, 5, 11)
    expect(page.locator(".above .readout")).to_have_text("小明 → 上：0.091 (被掩码禁止)")


@pytest.mark.parametrize("words", ["apple", "english", "longest"])
def test_phone_scrolls_inside_the_box_only(components: Server, page_at: Open, words: str) -> None:
    page = opened(page_at, components, words, look=Look(width=390))
    widths = page.locator(".stMain").evaluate("main => [main.scrollWidth, main.clientWidth]")
    assert widths[0] <= widths[1]
    last = words_of(page).last.bounding_box()
    assert last is not None
    assert last["x"] + last["width"] <= 390


def test_bars_do_not_slide_where_less_motion_is_asked(components: Server, page_at: Open) -> None:
    page = opened(page_at, components)
    duration = "node => getComputedStyle(node).transitionDuration"
    assert page.locator(".track i").first.evaluate(duration) == "0.2s"
    page.emulate_media(reduced_motion="reduce")
    assert page.locator(".track i").first.evaluate(duration) == "0s"


@pytest.mark.parametrize("look", mostly_slow(LOOKS))
def test_components_are_drawn_in_every_look(components: Server, page_at: Open, look: Look) -> None:
    page = opened(page_at, components, look=look)
    surface = page.locator(".owi").first.evaluate(
        "node => node.style.getPropertyValue('--owi-surface')"
    )
    assert surface == {"light": "#FFFFFF", "dark": "#10171F"}[look.theme]
    take_shot(page, f"components-{look}")
