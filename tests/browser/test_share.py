"""Sharing in a real browser: a link made here shows the same on another server, and copies."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

from pages._ui.frame.frame import page_entries
from tests.browser.browsing import ROOT, Look, Server, serving, settled, slow_but, take_shot
from tests.browser.test_step import typed

Open = Callable[..., Page]
PAGES = [entry.name for entry in page_entries("zh")]
EMOJI = "小明把👨‍👩‍👧放在🍎上，小红拿走了它"
# Every text that is seen, also in components; what fields and switches hold; what charts draw.
SEEN = """() => {
  const texts = [], states = [];
  const walk = (node) => {
    if (node.nodeType === Node.TEXT_NODE && node.textContent.trim()) {
      texts.push(node.textContent.trim());
    }
    if (node.nodeType !== Node.ELEMENT_NODE || /STYLE|SCRIPT/.test(node.tagName)) return;
    if (node.dataset.testid === "stPlotlyChart") return;
    if (node.matches("input")) states.push(node.type === "checkbox" ? node.checked : node.value);
    const pressed = node.getAttribute("aria-pressed") ?? node.getAttribute("aria-checked");
    if (pressed !== null) states.push(`${node.textContent} ${pressed}`);
    for (const child of [...(node.shadowRoot?.childNodes ?? []), ...node.childNodes]) walk(child);
  };
  walk(document.querySelector(".stMain"));
  const drawn = [...document.querySelectorAll(".js-plotly-plot")].map(
    (chart) => chart.data.map(({ x, y, z, text }) => [x, y, z, text]));
  return JSON.stringify([texts, states, drawn], (key, value) =>
    ArrayBuffer.isView(value) ? [...value] : value);
}"""
# A line about the link itself, clocks, which no recipe holds, and whether a fold is open.
NOT_THE_VIEW = re.compile(r"^share|^链接里的|用时|\d s$|^keyboard_arrow_")


def path_of(name: str) -> str:
    return "/" if name == "home" else f"/{name}"


def seen(page: Page) -> list[Any]:
    """Return what the page shows once it has come to rest."""
    before = ""
    while (now := str(settled(page).evaluate(SEEN))) != before:
        before = now
        page.wait_for_timeout(400)
    texts, states, drawn = json.loads(now)
    return [[text for text in texts if not NOT_THE_VIEW.search(text)], states, rounded(drawn)]


def rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return round(value, 5) if isinstance(value, float) else value


def shared(page: Page) -> str:
    """Press the share button; return the link in the dialog, and close it."""
    page.get_by_role("button", name="分享").click()
    link = page.get_by_test_id("stDialog").get_by_label("链接")
    expect(link).to_have_value(re.compile(r"&end=1$"))
    found = link.input_value()
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("stDialog")).to_have_count(0)
    return found


def fill(page: Page, key: str, value: str) -> None:
    field = page.locator(f".st-key-{key} input")
    field.fill(value)
    field.press("Enter")
    field.blur()
    settled(page)


def on_home(page: Page) -> None:
    page.locator("button.word").nth(4).click()


def on_rows(page: Page) -> None:
    fill(page, "rows_side_a", EMOJI)
    expect(page.locator(".st-key-rows_side_a button.word").nth(2)).to_have_text("👨‍👩‍👧")
    page.locator(".st-key-rows_side_a button.word").nth(4).click()
    page.get_by_role("button", name="第 1 层, 头 2").click()
    expect(page.get_by_text("第 1 层，头 2")).to_be_visible()


def on_step(page: Page) -> None:
    page.wait_for_selector("button.cell[data-panel=norm]")
    typed(page, "x", 0, 1, "3.5")
    page.locator("button.cell[data-panel=pattern]").nth(5).click()


def on_train(page: Page) -> None:
    page.get_by_text("更多设置").click()
    for name, value in (("steps", "6"), ("n_train", "100")):
        fill(page, f"train-swap-{name}", value)
    page.get_by_text("▶ 开始训练").click()
    expect(page.locator(".st-key-train-layer")).to_be_visible(timeout=150_000)
    # The place is below what a finished run brings: it moves until all of that is there.
    expect(page.get_by_text("没有学会").first).to_be_visible()
    settled(page).locator(".st-key-train-layer").get_by_text("1", exact=True).click()
    layer = page.locator(".st-key-train-layer").get_by_role("radio", name="1")
    expect(layer).to_be_checked()


def on_masking(page: Page) -> None:
    fill(page, "masking-padded", "苹果放不进书包，因为它太小了")


def on_tying(page: Page) -> None:
    page.get_by_role("button", name="写入").click()
    expect(page.get_by_text("只有共用的动了")).to_be_visible()


def on_feedback(page: Page) -> None:
    page.get_by_role("button", name="▶ 走一步").click()
    expect(page.locator(".words .word")).to_have_count(5)
    settled(page)  # the bars below are still those of the step before until it has
    page.locator(".next-row:not(.hit)").first.click()
    expect(page.get_by_text("第 2 支：")).to_be_visible()


def on_connections(page: Page) -> None:
    fill(page, "connections-a", EMOJI)
    # Until the maps of the new words are there, the choice below them comes and goes.
    page.wait_for_function(
        "() => [...document.querySelectorAll('.js-plotly-plot')]"
        ".some((chart) => JSON.stringify(chart.layout).includes('🍎'))"
    )
    settled(page)
    page.locator(".st-key-connections-two-fresh").get_by_text("LSTM").click()


def on_projection(page: Page) -> None:
    page.get_by_role("button", name="头 1", exact=True).nth(1).click()
    expect(page.get_by_test_id("stMetricValue").nth(1)).to_have_text(re.compile(r"^−0\.0[1-9]"))


def on_cost(page: Page) -> None:
    page.locator(".st-key-cost-reach-ways").get_by_text("前后都看").click()


def on_compare(page: Page) -> None:
    page.get_by_text("先用首页的两句话试试").click()
    settled(page)
    page.locator(".st-key-rows_side_a button.word").nth(4).click()
    expect(page.locator(".st-key-rows_side_a").get_by_text("苹果 = ")).to_have_count(0)


def on_translation(page: Page) -> None:
    page.get_by_text("更多设置").click()
    for name, value in (("steps_sentences", "8"), ("d_model", "16")):
        fill(page, f"translation-{name}", value)
    page.get_by_text("▶ 开始训练").click()
    expect(page.get_by_text("一个词一个词地看")).to_be_visible(timeout=150_000)
    page.locator(".st-key-translation-target button").nth(1).click()


def on_families(page: Page) -> None:
    page.get_by_text("更多设置").click()
    for name, value in (("steps", "4"), ("n_train", "100"), ("d_model", "16")):
        fill(page, f"families-{name}", value)
    page.get_by_text("▶ 开始训练").click()
    expect(page.get_by_text("同一句话，三种看法")).to_be_visible(timeout=150_000)
    page.locator(".st-key-families-read").get_by_text("在句末问").click()


def on_watch(page: Page) -> None:
    fill(page, "watch-code", "k7m 2qx")
    expect(page.get_by_text("现在没有训练用这个课堂码")).to_be_visible()


CHANGES: dict[str, Callable[[Page], None]] = {
    name.removeprefix("on_"): change
    for name, change in list(globals().items())
    if name.startswith("on_")
}


@pytest.fixture(scope="module")
def elsewhere(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A freshly started server that knows nothing of the first one."""
    with serving(ROOT / "app.py", tmp_path_factory.mktemp("elsewhere")) as running:
        yield running


@pytest.mark.parametrize("name", slow_but(PAGES, ["home", "rows", "train"]))
def test_a_link_shows_the_same_tokens_choices_and_numbers_elsewhere(
    server: Server, elsewhere: Server, page_at: Open, name: str
) -> None:
    page = page_at(server.url + path_of(name))
    usual = seen(page)
    CHANGES[name](page)
    view = seen(page)
    assert view != usual
    link = shared(page)
    assert link.startswith(server.url + path_of(name))
    other = page_at(link.replace(server.url, elsewhere.url), Look(lang="en"))
    if "run=" in link:
        other.get_by_role("button", name="训练链接里写的").click()
        expect(other.get_by_text("链接里的训练已按同样的配方在这里重做")).to_be_visible(
            timeout=150_000
        )
    settled(other)
    if name == "connections":  # Its maps are a run of its own, made by that server's first worker.
        expect(other.get_by_test_id("stProgress")).to_have_count(0, timeout=60_000)
    for ours, theirs in zip(view, seen(other), strict=True):
        assert "\n".join(map(str, theirs)) == "\n".join(map(str, ours))
    take_shot(other, f"share-{name}")


def test_the_link_is_copied_without_https(server: Server, page_at: Open) -> None:
    page = page_at("about:blank")
    page.add_init_script(
        "Object.defineProperty(window, 'isSecureContext', {value: false});"
        "Object.defineProperty(navigator, 'clipboard', {value: undefined});"
    )
    page.goto(server.url + "/rows")
    settled(page)
    page.get_by_role("button", name="分享").click()
    dialog = page.get_by_test_id("stDialog")
    link = dialog.get_by_label("链接").input_value()
    dialog.get_by_role("button", name="复制链接").click()
    expect(dialog.get_by_role("button", name="✓ 已复制")).to_be_visible()
    expect(dialog.locator("img")).to_be_visible()
    page.keyboard.press("Escape")
    field = page.locator(".st-key-rows_side_a input")
    field.fill("")
    field.focus()
    page.keyboard.press("Control+V")
    expect(field).to_have_value(link)


def test_no_script_of_a_hostile_link_runs(server: Server, page_at: Open) -> None:
    nasty = quote("<img src=x onerror=alert(1)><script>alert(1)</script>")
    alerts: list[str] = []
    for path in (f"/rows?text.A={nasty}&{nasty}=1&v={nasty}", f"/step?source={nasty}&text={nasty}"):
        page = page_at(server.url + path)
        page.on("dialog", lambda dialog: alerts.append(dialog.message))
        expect(settled(page).get_by_text("链接里没有用上的")).to_be_visible()
        assert page.locator(".stMain img[src=x], .stMain script").count() == 0
    assert alerts == []


@pytest.mark.parametrize("look", [Look("zh"), Look("en", "dark", 390)], ids=str)
def test_the_button_stands_beside_the_question_and_the_code_fits(
    server: Server, page_at: Open, look: Look
) -> None:
    page = settled(page_at(server.url + "/rows", look))
    button = page.locator("[class*=st-key-owi-share] button")
    box, title = button.bounding_box(), page.locator("h1").bounding_box()
    assert box is not None
    assert title is not None
    assert title["y"] - 5 <= box["y"] <= title["y"] + 40
    assert title["x"] + title["width"] <= box["x"]
    assert box["x"] + box["width"] <= look.width
    button.click()
    code = page.get_by_test_id("stDialog").locator("img")
    expect(code).to_be_visible()
    drawn = code.bounding_box()
    assert drawn is not None
    assert drawn["x"] + drawn["width"] <= look.width
    assert drawn["width"] > 280
    take_shot(page, f"share-dialog-{look}")
