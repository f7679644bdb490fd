"""A lesson walked through as a class does, and a broken one that says where it is broken."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from pages._ui.lessons.bar import measured
from pages._ui.lessons.catalog import lesson
from tests.browser.browsing import ROOT, Look, Server, at_rest, serving, settled, take_shot

Open = Callable[..., Page]
NAME = "gaze"
WAIT = 60_000


@pytest.fixture(scope="module")
def classroom(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The app with a teacher's folder, in which one lesson is broken."""
    own = tmp_path_factory.mktemp("lessons")
    (own / "zh").mkdir()
    text = 'version = 1\ntitle = "t"\nabout = "a"\n[[step]]\npage = "nowhere"\ntext = "x"\n'
    (own / "zh" / "broken.toml").write_text(text, encoding="utf-8")
    log = tmp_path_factory.mktemp("server")
    with serving(ROOT / "app.py", log, OWI_LESSONS=str(own)) as running:
        yield running


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name).click()
    at_rest(page)


@pytest.mark.slow
def test_a_lesson_is_walked_through_with_a_wrong_guess_and_a_reload(
    classroom: Server, page_at: Open
) -> None:
    steps = lesson(NAME, "zh").steps
    page = page_at(f"{classroom.url}/?lesson={NAME}")
    page.set_default_timeout(WAIT)
    for at, step in enumerate(steps, start=1):
        expect(page).to_have_url(
            re.compile(f"/{step.page}.*[?&]lesson={NAME}&at={at}&"), timeout=WAIT
        )
        expect(page.get_by_text(f"第 {at} / {len(steps)} 步")).to_be_visible(timeout=WAIT)
        question = step.question
        assert question is not None
        right = question.of_outcome(measured(question).outcome)
        assert right is not None
        guess = (right + 1) % len(question.choices) if at == 1 else right
        expect(page.get_by_role("button", name="揭晓")).to_be_disabled(timeout=WAIT)
        expect(page.locator(".st-key-rows_side_a")).to_have_count(0)
        choice = settled(page).get_by_role("radio", name=question.choices[guess].text, exact=True)
        choice.press("Space")
        at_rest(page)
        press(page, "揭晓")
        expect(page.get_by_text("没有猜中" if at == 1 else "你猜对了")).to_be_visible(timeout=WAIT)
        expect(page.locator(".st-key-rows_side_a")).to_be_visible(timeout=WAIT)
        if at == 2:
            page.reload()
            expect(settled(page).get_by_text("你猜对了")).to_be_visible(timeout=WAIT)
        press(page, "下一步")
    expect(page.get_by_text(f"{len(steps)} 个问题，猜对了 {len(steps) - 1} 个")).to_be_visible(
        timeout=WAIT
    )
    take_shot(page, "lesson-end")
    press(page, "去实验里自己试")
    expect(page.get_by_role("button", name="离开这一课")).to_have_count(0, timeout=WAIT)
    expect(page).not_to_have_url(re.compile("lesson"), timeout=WAIT)


def test_type_is_larger_by_half_and_controls_are_hidden(classroom: Server, page_at: Open) -> None:
    size = "() => parseFloat(getComputedStyle(document.documentElement).fontSize)"
    page = settled(page_at(f"{classroom.url}/rows?teach=1&hide=controls", Look("en")))
    assert page.evaluate(size) == 24
    expect(page.locator(".st-key-rows_side_a")).to_be_visible(timeout=WAIT)
    expect(page.locator(".stMain input[type=text]").first).to_be_hidden()
    word = page.locator(".st-key-rows_side_a").get_by_role("button", name="animal")
    assert word.evaluate("e => parseFloat(getComputedStyle(e).fontSize)") > 30
    press(page, "Share")
    assert "teach=1&hide=controls" in page.get_by_label("Link").input_value()


def test_a_broken_lesson_says_line_and_reason(classroom: Server, page_at: Open) -> None:
    page = settled(page_at(f"{classroom.url}/rows?lesson=broken"))
    expect(page.get_by_text(re.compile("broken.toml 第 5 行：page 不能是“nowhere”"))).to_be_visible(
        timeout=WAIT
    )
