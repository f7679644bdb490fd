"""A reload, a copied tab and the way back find what was chosen, typed and trained."""

import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from pages._ui.base.i18n import catalog
from tests.browser.browsing import Server, at_rest, set_number, settled

Open = Callable[..., Page]
TYPED = "小明把苹果放在桌子上，小红吃了它"
SAID = catalog("zh", "common")
UNDER_WAY = re.compile(r"^第 \d+ / \d+ 步 · 还要")


def token_of(page: Page) -> str:
    """Return the token in the address, once there is one."""
    page.wait_for_url(re.compile(r"[?&]visit="))
    return parse_qs(urlsplit(page.url).query)["visit"][0]


def type_sentence(page: Page, text: str) -> None:
    """Type a sentence, and wait until the address says so."""
    field = page.get_by_label("句子 A")
    field.fill(text)
    field.press("Enter")
    page.wait_for_function(
        "text => new URLSearchParams(location.search).get('text.A') === text", arg=text
    )
    at_rest(page)


def reload(page: Page) -> Page:
    page.reload()
    return settled(page)


def test_a_reload_finds_what_was_typed_and_a_copied_tab_goes_its_own_way(
    server: Server, page_at: Open
) -> None:
    page = settled(page_at(server.url + "/rows"))
    before = page.evaluate("history.length")
    type_sentence(page, TYPED)
    assert page.evaluate("history.length") == before  # typing is no step to go back from
    token = token_of(page)
    reload(page)
    expect(page.get_by_label("句子 A")).to_have_value(TYPED)
    assert token_of(page) == token

    copy = page.context.new_page()
    copy.goto(page.url)
    settled(copy)
    expect(copy.get_by_label("句子 A")).to_have_value(TYPED)
    copy.wait_for_function(
        "token => new URLSearchParams(location.search).get('visit') !== token", arg=token
    )
    type_sentence(copy, "小明把杯子洗了")
    reload(page)
    expect(page.get_by_label("句子 A")).to_have_value(TYPED)
    reload(copy)
    expect(copy.get_by_label("句子 A")).to_have_value("小明把杯子洗了")


def test_back_and_forward_keep_page_address_and_typed_text_in_step(
    server: Server, page_at: Open
) -> None:
    page = settled(page_at(server.url + "/rows"))
    links = page.get_by_test_id("stSidebarUserContent").get_by_test_id("stPageLink")
    type_sentence(page, TYPED)
    links.get_by_text("和同学比").click()
    page.wait_for_url(re.compile("/compare"))
    at_rest(page)
    links.get_by_text("注意力行").click()
    page.wait_for_url(re.compile("/rows"))
    at_rest(page)
    expect(page.get_by_label("句子 A")).to_have_value(TYPED)
    type_sentence(page, "小明把杯子洗了")
    for go, path, text in (
        (page.go_back, "/compare", None),
        (page.go_back, "/rows", TYPED),
        (page.go_forward, "/compare", None),
        (page.go_forward, "/rows", "小明把杯子洗了"),
    ):
        go()
        page.wait_for_url(re.compile(path))
        at_rest(page)
        if text is not None:
            expect(page.get_by_label("句子 A")).to_have_value(text)
            assert parse_qs(urlsplit(page.url).query)["text.A"] == [text]


def test_a_reload_joins_its_run_again_and_keeps_the_code_of_the_class(
    server: Server, page_at: Open
) -> None:
    page = settled(page_at(server.url + "/train"))
    set_number(page, "步数", 20000)
    page.get_by_text("▶ 开始训练").click()
    expect(page.get_by_text(UNDER_WAY)).to_be_visible()
    page.get_by_role("button", name=SAID["class.button"]).click()
    page.get_by_role("button", name=SAID["class.make"]).click()
    code = page.get_by_label("链接").input_value()[-6:]
    assert len(page.url) < 250  # the address of a training can be scanned
    reload(page)
    expect(page.get_by_text(UNDER_WAY)).to_be_visible()
    expect(page.get_by_text(code, exact=False).first).to_be_visible()
    expect(page.get_by_role("button", name="暂停")).to_be_enabled()  # nobody else is watching
    page.get_by_role("button", name="停止").click()
    expect(page.get_by_text(re.compile("^已停在第"))).to_be_visible()
    reload(page)
    expect(page.get_by_text(re.compile("^已停在第"))).to_be_visible()
    expect(page.get_by_role("spinbutton", name="步数", exact=True)).to_have_value("20000")


@pytest.mark.slow
def test_an_address_whose_visit_is_over_says_what_is_lost(server: Server, page_at: Open) -> None:
    page = settled(page_at(f"{server.url}/rows?pair=typed&text.A={TYPED}&visit=no-such-visit"))
    expect(page.get_by_text("那次访问已经结束")).to_be_visible()
    expect(page.get_by_label("句子 A")).to_have_value(TYPED)
