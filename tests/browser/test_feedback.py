"""The feedback lab in a real browser: step, back, a click that forks, a play that pauses."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from pages._ui.base.i18n import catalog
from tests.browser.browsing import Look, Server, mostly_slow, settled, take_shot

Open = Callable[..., Page]
LOOKS = [
    Look("zh"), Look("en", "dark"), Look("zh", "dark", 390), Look("en", "light", 1280),
    Look("zh", "light", 390), Look("en", "light", 390),
]  # fmt: skip
PROMPT = 4


def at_feedback(server: Server, page_at: Open, look: Look) -> Page:
    page = page_at(server.url + "/feedback", look)
    settled(page)
    expect(page.locator(".next-row").first).to_be_visible()
    return page


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name).click()


def words(page: Page) -> list[str]:
    return page.locator(".words .word").all_inner_texts()


def fork(page: Page) -> str:
    """Click the first bar that u does not fall on; return its character."""
    other = page.locator(".next-row:not(.hit)").first
    label = other.locator(".sign").inner_text()
    other.click()
    return label


def test_a_forced_token_forks_back_undoes_and_play_goes_on_by_itself(
    server: Server, page_at: Open
) -> None:
    page = at_feedback(server, page_at, Look("zh"))
    expect(page.locator(".words .word")).to_have_count(PROMPT)
    coming = page.locator(".next-row.hit .sign").inner_text()
    press(page, "▶ 走一步")
    expect(page.locator(".words .word")).to_have_count(PROMPT + 1)
    assert words(page)[-1] == coming
    press(page, "◀ 退一步")
    expect(page.locator(".words .word")).to_have_count(PROMPT)
    expect(page.locator(".next-row.hit .sign")).to_have_text(coming)
    forced = fork(page)
    expect(page.locator(".words .word").last).to_have_text(forced)
    expect(page.get_by_text("第 1 支：最初的")).to_be_visible()
    expect(page.get_by_text("第 2 支：从第 1 支的第 5 个字分出")).to_be_visible()
    page.get_by_role("button", name="▶▶ 自动写").click()
    page.get_by_role("button", name="❚❚ 停下").wait_for()
    expect(page.locator(".words .word").nth(PROMPT + 3)).to_be_visible()
    press(page, "❚❚ 停下")
    page.get_by_role("button", name="▶▶ 自动写").wait_for()
    press(page, "接着写这一支")
    expect(page.locator(".words .word").nth(PROMPT)).to_have_text(coming)
    page.locator(".words .word").first.click()
    expect(page.locator(".words .word")).to_have_count(PROMPT)
    take_shot(page, "feedback-forked")
    # Presses that come in one instant, before the page can answer: each of them counts.
    page.get_by_role("button", name="▶ 走一步").evaluate(
        "button => { for (let i = 0; i < 3; i++) button.click() }"
    )
    expect(page.locator(".words .word")).to_have_count(PROMPT + 3)
    page.get_by_role("button", name="◀ 退一步").evaluate(
        "button => { button.click(); button.click() }"
    )
    expect(page.locator(".words .word")).to_have_count(PROMPT + 1)


@pytest.mark.parametrize("look", mostly_slow(LOOKS))
def test_a_fork_and_the_measured_curves_in_all_looks(
    server: Server, page_at: Open, look: Look
) -> None:
    page = at_feedback(server, page_at, look)
    zh = look.lang == "zh"
    fork(page)
    expect(page.get_by_text("第 2 支" if zh else "Branch 2:")).to_be_visible()
    for count in (PROMPT + 2, PROMPT + 3):
        press(page, "▶ 走一步" if zh else "▶ Step")
        expect(page.locator(".words .word")).to_have_count(count)
    press(page, "▶ 现在量一次" if zh else "▶ Measure now")
    told = "logit 最大相差" if zh else "Largest logit difference"
    expect(page.get_by_text(told).first).to_be_visible(timeout=150_000)
    settled(page)
    expect(page.locator(".js-plotly-plot")).to_have_count(2)
    page.wait_for_timeout(1000)
    take_shot(page, f"feedback-{look}")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1")


def test_a_tap_on_step_while_an_input_method_is_open_steps_on_the_new_text(
    server: Server, page_at: Open
) -> None:
    page = at_feedback(server, page_at, Look("zh", width=390))
    field = page.get_by_role("textbox", name=catalog("zh", "feedback")["prompt.label"])
    step = page.get_by_role("button", name="▶ 走一步")
    boxes = [each.bounding_box() for each in (field, step)]
    assert boxes[0]
    assert boxes[1]
    assert abs(boxes[0]["y"] - boxes[1]["y"]) < 300  # both are above the keyboard of a phone
    field.fill("")
    field.focus()
    keyboard = page.context.new_cdp_session(page)
    keyboard.send(
        "Input.imeSetComposition", {"text": "小猫", "selectionStart": 2, "selectionEnd": 2}
    )
    place = step.bounding_box()
    assert place
    page.mouse.click(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    expect(page.locator(".words .word")).to_have_count(3)
    assert words(page)[:2] == ["小", "猫"]
