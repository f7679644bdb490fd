"""The frame in a real browser: deep links, language, theme, what was typed, no clutter."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from pages._ui.base.entries import PageEntry, grouped_entries, page_entries
from tests.browser.browsing import (
    EVERY_TWO,
    LOOKS,
    Look,
    Server,
    mostly_slow,
    settled,
    slow_but,
    take_shot,
)

Open = Callable[..., Page]
_CHOICES_OUT_OF_SIGHT = """() => [...document.querySelectorAll(
    '.stMain [data-testid=stButtonGroup] button')]
  .filter((each) => each.getBoundingClientRect().right > window.innerWidth)
  .map((each) => each.innerText)"""
PAGES = {entry.name: {lang: entry for lang in ("zh", "en")} for entry in page_entries("zh")}


def entry_of(name: str, lang: str) -> PageEntry:
    """Return a page's line in the navigation."""
    return next(entry for entry in page_entries(lang) if entry.name == name)


def path_of(name: str) -> str:
    """Return the path a page has in the address bar."""
    return "/" if name == "home" else f"/{name}"


@pytest.mark.parametrize("name", slow_but([*PAGES], ["home", "rows", "train"]))
def test_deep_link_as_first_request_shows_the_page_whole(
    fresh_server: Server, page_at: Open, name: str
) -> None:
    page = settled(page_at(fresh_server.url + path_of(name)))
    links = page.locator("[data-testid=stSidebar] [data-testid=stPageLink]")
    in_order = [entry.title for _, entries in grouped_entries("zh") for entry in entries]
    expect(links).to_contain_text(in_order)
    expect(page).to_have_title(f"{entry_of(name, 'zh').title} · OWI")
    expect(page.locator("[data-testid=stSidebar]")).to_contain_text("语言")


@pytest.mark.parametrize("look", mostly_slow([*EVERY_TWO, LOOKS[-1]]))
@pytest.mark.parametrize("name", PAGES)
def test_every_page_is_drawn_in_every_look(
    server: Server, page_at: Open, name: str, look: Look
) -> None:
    page = settled(page_at(server.url + path_of(name), look))
    expect(page).to_have_title(f"{entry_of(name, look.lang).title} · OWI")
    assert page.locator("[data-testid=stException]").count() == 0
    widths = page.locator(".stMain").evaluate("main => [main.scrollWidth, main.clientWidth]")
    assert widths[0] <= widths[1]
    assert page.evaluate(_CHOICES_OUT_OF_SIGHT) == []
    take_shot(page, f"{name}-{look}")


@pytest.mark.parametrize("name", [name for name in PAGES if name != "home"])
def test_typed_text_survives_language_and_page_change(
    server: Server, page_at: Open, name: str
) -> None:
    page = settled(page_at(server.url + path_of(name)))
    field = page.locator(".stMain textarea:visible").first
    if field.count() == 0:
        pytest.skip(f"{name} opens without a field to type in")
    field.fill("小红把杯子放在桌子上")
    page.get_by_text("EN", exact=True).click()
    expect(page).to_have_title(f"{entry_of(name, 'en').title} · OWI")
    expect(field).to_have_value("小红把杯子放在桌子上")
    field.fill("小红拿走了它")
    # No pause between typing and leaving: the text must not be overtaken by the change of page.
    page.get_by_role("link", name=entry_of("home", "en").title).click()
    expect(page).to_have_title(f"{entry_of('home', 'en').title} · OWI")
    page.get_by_test_id("stSidebar").get_by_role("link", name=entry_of(name, "en").title).click()
    expect(page).to_have_title(f"{entry_of(name, 'en').title} · OWI")
    expect(field).to_have_value("小红拿走了它")


def test_language_stands_in_the_address_and_in_every_link(server: Server, page_at: Open) -> None:
    page = settled(page_at(server.url, Look(lang="en")))
    page.get_by_text("中文", exact=True).click()
    expect(page).to_have_title(f"{entry_of('home', 'zh').title} · OWI")
    assert "?lang=zh" in page.url
    links = page.locator("[data-testid=stSidebar] [data-testid=stPageLink] a")
    for link in links.all():
        expect(link).to_have_attribute("href", re.compile("lang=zh"))
    again = settled(page_at(page.url, Look(lang="en")))
    expect(again).to_have_title(f"{entry_of('home', 'zh').title} · OWI")


def test_no_foreign_clutter_but_a_choice_of_theme(server: Server, page_at: Open) -> None:
    page = settled(page_at(server.url))
    assert page.get_by_text("Deploy").count() == 0
    assert page.get_by_test_id("stSidebarNav").count() == 0
    page.get_by_test_id("stMainMenu").click()
    page.get_by_test_id("stMainMenuItem-theme-Dark").click()
    background = "() => getComputedStyle(document.querySelector('.stApp')).backgroundColor"
    page.wait_for_function(f"({background})() === 'rgb(16, 23, 31)'")


BACKGROUND = "() => getComputedStyle(document.querySelector('.stApp')).backgroundColor"
DARK, LIGHT = "rgb(16, 23, 31)", "rgb(255, 255, 255)"


@pytest.mark.parametrize("width", [1280, 390])
def test_one_button_at_the_top_right_switches_between_light_and_dark(
    server: Server, page_at: Open, width: int
) -> None:
    page = settled(page_at(f"{server.url}/?lang=en", Look(lang="en", width=width)))
    switch = page.get_by_role("button", name="Switch between light and dark")
    box = switch.bounding_box()
    assert box is not None
    assert box["y"] < 120
    assert box["x"] > width / 2
    for colour in (DARK, LIGHT):
        switch.click()
        page.wait_for_function(f"({BACKGROUND})() === '{colour}'")
        expect(page.get_by_test_id("stMainMenuItem-theme-Dark")).to_have_count(0)


def test_icons_come_with_the_app_and_need_no_emoji_font(server: Server, page_at: Open) -> None:
    """Nothing is asked of a foreign host: `page_at` checks it at the end."""
    page = settled(page_at(f"{server.url}/?lang=en", Look(lang="en")))
    page.evaluate("() => document.fonts.ready")
    icons = page.locator("[data-testid=stSidebar] [data-testid=stIconMaterial]")
    listed = [entry for _, entries in grouped_entries("en") for entry in entries]
    assert icons.count() >= len(listed)
    # Without its font an icon is its name, as wide as that.
    for icon in icons.all():
        box = icon.bounding_box()
        assert box is not None
        assert box["width"] <= 24
    loaded = "() => [...document.fonts].filter(f => f.status === 'loaded').map(f => f.family)"
    assert any("Material" in family for family in page.evaluate(loaded))
    assert page.locator("link[rel*=icon]").get_attribute("href").startswith(("data:", "/", "./"))


def test_the_navigation_has_its_groups_and_room_for_eight_more_pages(
    server: Server, page_at: Open
) -> None:
    page = settled(page_at(f"{server.url}/?lang=en", Look(lang="en")))
    groups = page.locator("[data-testid=stSidebar] .owi-group").all_inner_texts()
    assert groups == ["See", "Train", "Take apart", "Connections", "Class"]
    links = page.locator("[data-testid=stSidebar] [data-testid=stPageLink]")
    first, second = (links.nth(n).bounding_box() for n in (0, 1))
    last = links.last.bounding_box()
    assert first is not None
    assert second is not None
    assert last is not None
    # Twelve pages were there when eight more were planned: twenty must fit on a screen.
    more = 20 - links.count()
    assert last["y"] + last["height"] + more * (second["y"] - first["y"]) <= 860


@pytest.mark.parametrize(
    ("lang", "said", "document"), [("zh", "浅色", "zh-CN"), ("en", "Light", "en")]
)
def test_streamlits_own_words_are_said_in_the_language(
    server: Server, page_at: Open, lang: str, said: str, document: str
) -> None:
    page = settled(page_at(server.url, Look(lang=lang)))
    page.wait_for_function(f"document.documentElement.lang === '{document}'")
    page.get_by_test_id("stMainMenu").click()
    shown = "node => getComputedStyle(node, '::after').content"
    assert page.get_by_test_id("stMainMenuItem-theme-Light").evaluate(shown) == f'"{said}"'


@pytest.mark.parametrize(("lang", "said"), [("zh", "没有收下"), ("en", "Not taken")])
def test_refused_file_is_told_of_in_the_language_beside_it(
    server: Server, page_at: Open, lang: str, said: str
) -> None:
    page = settled(page_at(server.url + "/train", Look(lang=lang)))
    file = {"name": "x.txt", "mimeType": "text/plain", "buffer": b"x"}
    page.locator("[class*=train-upload] input[type=file]").set_input_files([file])  # type: ignore[list-item]
    refused = page.get_by_test_id("stTooltipErrorHoverTarget")
    assert said in refused.evaluate("node => getComputedStyle(node, '::after').content")


def test_no_button_of_streamlits_own_ends_the_drawing_of_a_page(
    server: Server, page_at: Open
) -> None:
    page = settled(page_at(server.url))
    shown = page.evaluate(
        """() => {
          const widget = document.createElement('div');
          widget.dataset.testid = 'stStatusWidget';
          const button = widget.appendChild(document.createElement('button'));
          document.querySelector('[data-testid=stApp]').append(widget);
          return getComputedStyle(button).display;
        }"""
    )
    assert shown == "none"


@pytest.mark.parametrize("mark", slow_but(["。", "）", ".", "），"], ["。"]))
def test_an_address_with_a_mark_behind_it_opens_the_page_that_was_meant(
    server: Server, page_at: Open, mark: str
) -> None:
    page = settled(page_at(f"{server.url}/compare{mark}"))
    expect(page).to_have_title(f"{entry_of('compare', 'zh').title} · OWI")
    expect(page.get_by_test_id("stDialog")).to_have_count(0)  # "Page not found"
    page.reload()
    expect(page).to_have_title(f"{entry_of('compare', 'zh').title} · OWI")
