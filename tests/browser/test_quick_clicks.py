"""Two quick clicks on a slow network: the page stays alive.

A second request that reaches the server before the browser has the first one's answer is what
`minCachedMessageSize` in .streamlit/config.toml is for: without it these tests end in "Cached
ForwardMsg MISS".
"""

import random
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.browsing import ROOT, Server, settled
from tests.browser.slow_network import delayed, pause_process

Open = Callable[..., Page]
PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py") if path.stem != "__init__")
PAIRS = 50
ROUNDS = 10
DELAYS_MS = (50, 150)
STALL_MS = 250

# Mark what can be clicked; return each one's number.  Left out: what leaves the page, opens a
# dialog over it, asks for a file, or starts a training.
_MARK_TARGETS = """() => {
  const all = (node) => [...node.querySelectorAll("*")].flatMap(
    (each) => [each, ...(each.shadowRoot ? all(each.shadowRoot) : [])]);
  const left = "a, header, [data-testid=stSidebar], [data-testid=stFileUploader],"
    + ".stDownloadButton, [data-testid=stElementToolbar], [data-testid=stPopover], .pictures,"
    + ".st-key-owi_heading,"
    + "[data-testid=stPlotlyChart], [class*='-train'], [class*='-start'], [class*='-pause'],"
    + "[class*='-resume'], [class*='-stop'], [class*='.fresh'], [class*='_fresh']";
  const outside = (node) => {
    for (let at = node; at; at = at.parentElement ?? at.getRootNode().host)
      if (at.matches?.(left)) return false;
    return true;
  };
  window.targets = all(document).filter((node) => {
    const box = node.getBoundingClientRect();
    return node.matches("button, canvas.body, label[data-baseweb]")
      && !node.disabled && box.width > 4 && box.height > 4 && outside(node);
  });
  return window.targets.length;
}"""
# Click two targets, the second after `gap` ms, at the place a share of their size names.
_CLICK_PAIR = """async ([first, second, gap, x, y]) => {
  const click = (node) => {
    const box = node.getBoundingClientRect();
    const where = { clientX: box.left + x * box.width, clientY: box.top + y * box.height };
    const options = { ...where, bubbles: true, composed: true, cancelable: true, button: 0 };
    for (const kind of ["pointerdown", "mousedown", "pointerup", "mouseup"])
      node.dispatchEvent(new PointerEvent(kind, options));
    node.dispatchEvent(new MouseEvent("click", options));
  };
  click(window.targets[first]);
  await new Promise((done) => setTimeout(done, gap));
  if (window.targets[second].isConnected) click(window.targets[second]);
}"""


@pytest.fixture(scope="module", params=DELAYS_MS, ids=lambda delay: f"{delay}ms")
def slow_url(request: pytest.FixtureRequest, server: Server) -> Iterator[str]:
    """The app behind a network that delays each direction."""
    with delayed(server.url, request.param) as url:
        yield url


def listened(page: Page) -> list[str]:
    """Return a list that fills with what the page says of a lost message."""
    lost: list[str] = []
    page.on("console", lambda message: lost.append(message.text) if _is_lost(message.text) else 0)
    return lost


def _is_lost(text: str) -> bool:
    return "ForwardMsg" in text or "MISS" in text


def assert_alive(page: Page, lost: list[str]) -> None:
    """Demand that the page has come to rest, shows no lost connection, and answers."""
    settled(page)
    assert not lost
    assert page.get_by_text("Connection error").count() == 0


def switch_language(page: Page) -> None:
    """Ask the server for something that the reader sees: the page in its other language."""
    lang = page.evaluate("document.documentElement.lang")
    other = {"zh": "en", "en": "zh"}[lang[:2]]
    page.get_by_text({"en": "EN", "zh": "中文"}[other], exact=True).click()
    page.wait_for_function("lang => document.documentElement.lang.startsWith(lang)", arg=other)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["", *PAGES])
def test_fifty_random_pairs_of_quick_clicks_leave_the_page_alive(
    slow_url: str, page_at: Open, name: str
) -> None:
    page = settled(page_at(f"{slow_url}/{name}"))
    lost = listened(page)
    drawn = random.Random(f"{name} {PAIRS}")
    for _ in range(PAIRS):
        click_pair(page, drawn)
        page.wait_for_timeout(300)
        assert_alive(page, lost)
        if not page.url.startswith(f"{slow_url}/{name}".rstrip("/")):
            settled(page.goto(f"{slow_url}/{name}") and page)
    switch_language(page)
    assert_alive(page, lost)


def click_pair(page: Page, drawn: random.Random) -> None:
    """Click twice within 20 to 200 ms: half of the time the same place, else any two."""
    count = page.evaluate(_MARK_TARGETS)
    if not count:
        return
    first = drawn.randrange(count)
    second = first if drawn.random() < 0.5 else drawn.randrange(count)
    where = [drawn.uniform(0.1, 0.9), drawn.uniform(0.1, 0.9)]
    page.evaluate(_CLICK_PAIR, [first, second, drawn.uniform(20, 200), *where])


def test_quick_steps_and_a_restart_leave_feedback_alive(server: Server, page_at: Open) -> None:
    with delayed(server.url, 150) as url:
        page = settled(page_at(f"{url}/feedback"))
        lost = listened(page)
        restart = page.locator(".st-key-feedback-restart button")
        gaps = random.Random(1)
        for _ in range(ROUNDS):
            for _ in range(3):
                click_unless_dead(page.locator(".press.main"), lost)
                page.wait_for_timeout(gaps.uniform(80, 200))
            page.wait_for_timeout(600)
            click_unless_dead(restart, lost)
            page.wait_for_timeout(600)
        assert_alive(page, lost)


def click_unless_dead(target: Locator, lost: list[str]) -> None:
    """Click; a page that is dead says so here, not by two minutes of waiting for the button."""
    assert not lost
    target.click()


@pytest.mark.exhaustive
def test_heads_clicked_at_once_leave_rows_alive_though_the_server_pauses(
    server: Server, page_at: Open
) -> None:
    with delayed(server.url, 150) as url:
        page = settled(page_at(f"{url}/rows"))
        lost = listened(page)
        heads = page.locator("button.thumbnail")
        for number in range(20):
            for place in (1 + number % 3, 2 + number % 3, 3):
                click_unless_dead(heads.nth(place), lost)
                page.wait_for_timeout(100)
            pause_process(server.process.pid, STALL_MS)
            page.wait_for_timeout(1200)
            expect(heads.nth(3)).to_have_attribute("aria-pressed", "true")
            assert_alive(page, lost)


def test_a_second_click_on_old_bars_writes_nothing(server: Server, page_at: Open) -> None:
    with delayed(server.url, 150) as url:
        page = settled(page_at(f"{url}/feedback"))
        words = page.locator(".words .word")
        count = words.count()
        bar = page.locator(".next-row:not(.hit)").first
        meant = bar.locator(".sign").inner_text()
        bar.dblclick()
        expect(words).to_have_count(count + 1)
        page.wait_for_timeout(1500)
        settled(page)
        expect(words).to_have_count(count + 1)
        expect(words.last).to_have_text(meant)


def test_mask_cells_clicked_at_once_are_all_switched(server: Server, page_at: Open) -> None:
    with delayed(server.url, 50) as url:
        page = settled(page_at(f"{url}/step"))
        cells = page.locator(".panel[data-panel=mask] .cell")
        expect(cells.first).to_be_visible()
        before = cells.all_inner_texts()
        picked = (0, 5, 6, 11)
        cells.first.evaluate(
            "async (node, picked) => {"
            " const cells = [...node.closest('.panel').querySelectorAll('.cell')];"
            " for (const at of picked) {"
            "  cells[at].click(); await new Promise((done) => setTimeout(done, 15)); } }",
            list(picked),
        )
        page.wait_for_timeout(1500)
        settled(page)
        after = cells.all_inner_texts()
        changed = [at for at, text in enumerate(after) if text != before[at]]
        assert tuple(changed) == picked


@pytest.mark.parametrize("style", ["zoom: 1.5", "zoom: 0.67", "transform: scale(.8)"])
def test_a_click_on_the_matrix_of_a_zoomed_page_chooses_the_row_under_it(
    server: Server, page_at: Open, style: str
) -> None:
    page = settled(page_at(f"{server.url}/rows"))
    page.evaluate("style => { document.body.style.cssText += style; }", style)
    body = page.locator("canvas.body")
    body.scroll_into_view_if_needed()
    words = page.locator(".st-key-rows_side_a button.word")
    row = 2
    body.evaluate(
        "(node, [row, count]) => { const box = node.getBoundingClientRect();"
        " node.dispatchEvent(new MouseEvent('click', {"
        "  clientX: box.left + 5, clientY: box.top + (row + .5) / count * box.height,"
        "  bubbles: true })); }",
        [row, words.count()],
    )
    expect(words.nth(row)).to_have_attribute("aria-pressed", "true")


def test_choosing_a_word_moves_no_other_word(server: Server, page_at: Open) -> None:
    page = settled(page_at(f"{server.url}/rows"))
    words = page.locator(".st-key-rows_side_a button.word")
    edges = "nodes => nodes.map(n => Math.round(10 * n.getBoundingClientRect().left) / 10)"
    before = words.evaluate_all(edges)
    words.nth(1).click()
    expect(words.nth(1)).to_have_attribute("aria-pressed", "true")
    settled(page)
    assert words.evaluate_all(edges) == before


# Clicks two words within 250 ms; which words looked after the second click, in their order.
_TWO_WORDS = """async ([row, first, second]) => {
  const words = [...document.querySelectorAll("*")].flatMap((e) => e.shadowRoot
    ? [...e.shadowRoot.querySelectorAll("button.word")] : []).slice(0, row);
  const seen = [];
  const look = () => words.forEach((word, at) => {
    if (word.ariaPressed === "true" && seen.at(-1) !== at) seen.push(at);
  });
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  words[first].click();
  await wait(250);
  words[second].click();
  for (let n = 0; n < 150; n += 1) { look(); await wait(10); }
  return seen;
}"""


def test_the_answer_to_a_first_click_does_not_undo_a_second(server: Server, page_at: Open) -> None:
    with delayed(server.url, 250) as url:
        page = settled(page_at(url))
        count = page.locator("[class*=st-key-home-words-A] button.word").count()
        assert page.evaluate(_TWO_WORDS, [count, 4, 2]) == [2]
        settled(page)
        expect(page.locator("button.word").nth(2)).to_have_attribute("aria-pressed", "true")
