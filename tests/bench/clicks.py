"""From a click on a word to its new row on the screen, and what the click costs the server.

A click is timed inside the page, from the event to the frame in which the word that was clicked is
the one that looks, and to the frame in which the whole page has followed. Idle, and while one run
goes on.
"""

import math
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.browsing import ROOT, Server, serving, settled

NAME = "clicks"
CLICKS = 40
PART = "小明把苹果放好，"  # six tokens, so often before the sentence
REPEATED = (1, 9, 19)
LONG_RUN = "/train?v=1&run=language&run.preset=quick&run.steps=20000&end=1"
_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
# Press the word at `index`; return the milliseconds until it looks, and until nothing on the page
# changed any more for 300.
_PRESS = """async ([selector, index]) => {
  const all = (node) => [...node.querySelectorAll("*")].flatMap(
    (each) => [each, ...(each.shadowRoot ? all(each.shadowRoot) : [])]);
  const words = () => all(document).filter(
    (each) => each.matches("button.word") && each.getRootNode().host?.closest(selector)
      || each.matches(`${selector} button.word`));
  const now = () => performance.now() - began;
  const until = async (holds) => {
    while (!holds()) await new Promise(requestAnimationFrame);
    return now();
  };
  let changed = 0;
  const watch = new MutationObserver(() => { changed = now(); });
  const began = performance.now();
  words()[index].click();
  const row = await until(() => words()[index]?.getAttribute("aria-pressed") === "true");
  watch.observe(document.body, {
    subtree: true, childList: true, characterData: true, attributes: true });
  await until(() => changed && now() - changed > 300);
  watch.disconnect();
  return [row, changed];
}"""


def run() -> dict[str, Any]:
    """Return milliseconds and server CPU of each click, and their p50 and p95."""
    with (
        tempfile.TemporaryDirectory() as folder,
        chromium() as browser,
        serving(ROOT / "app.py", Path(folder), OWI_NICE="10") as server,
    ):
        idle = _lengths(browser, server)
        run = browser.new_page()
        start_long_run(run, server)
        beside = _lengths(browser, server)
        assert run.locator("[data-testid=stProgress]").count(), "the run ended too soon"
    slower = {
        name: {tokens: beside[tokens][name] / idle[tokens][name] for tokens in idle}
        for name in ("row_p95", "page_p95")
    }
    return {"idle": idle, "beside_a_run": beside, "beside_to_idle": slower}


def start_long_run(page: Page, server: Server) -> None:
    """Open a link with a long training, start it, and wait until it is under way."""
    page.goto(server.url + LONG_RUN)
    settled(page).locator(".st-key-owi-link_train button").click()
    page.wait_for_selector("[data-testid=stProgress]")


def _lengths(browser: Browser, server: Server) -> dict[str, dict[str, Any]]:
    measured = {}
    for repeated in REPEATED:
        page, received = _rows(browser, server, repeated)
        clicks = _clicks(page, server, received)
        measured[f"{clicks['tokens']} tokens"] = clicks
        page.close()
    return measured


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least this share of the values does not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def _clicks(page: Page, server: Server, received: list[int]) -> dict[str, Any]:
    n = page.locator(".st-key-rows_side_a button.word").count()
    taken: list[tuple[float, float]] = []
    received.clear()
    before = cpu_seconds(server.process.pid)
    for click in range(CLICKS):
        index = (7 * click + 3) % n
        taken.append(tuple(page.evaluate(_PRESS, [".st-key-rows_side_a", index])))
        settled(page)
    cpu = (cpu_seconds(server.process.pid) - before) / CLICKS
    row, whole = ([times[which] for times in taken] for which in (0, 1))
    return {
        "tokens": n,
        "row_p50": percentile(row, 0.5),
        "row_p95": percentile(row, 0.95),
        "page_p50": percentile(whole, 0.5),
        "page_p95": percentile(whole, 0.95),
        "server_cpu_ms": 1000 * cpu,
        "received_kb": sum(received) / CLICKS / 1000,
        "milliseconds": taken,
    }


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process has used, all threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


def _rows(browser: Browser, server: Server, repeated: int) -> tuple[Page, list[int]]:
    """Open the rows page; return it with the sizes of what the server sends, as they arrive."""
    text = PART * repeated + "小红把杯子放在桌子上，小明又拿走了它"
    page = browser.new_page(viewport={"width": 1280, "height": 860})
    received: list[int] = []
    page.on(
        "websocket",
        lambda socket: socket.on("framereceived", lambda frame: received.append(len(frame))),
    )
    page.goto(f"{server.url}/rows?text.A={quote(text)}")
    settled(page).wait_for_selector("canvas.body")
    return page, received


@contextmanager
def chromium() -> Iterator[Browser]:
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=_FLAGS)
        yield browser
        browser.close()
