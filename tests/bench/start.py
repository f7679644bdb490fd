"""How soon a page is there, beside Streamlit's own hello page in the same run, in turns.

First paint: from the start of navigation to the first frame in which the main block's `h1` is
visible; the same on every page and on the hello page.  Row: the first frame in which the word
that looks and the number under it are visible.  Cold: the first request that a server ever gets,
and also from `streamlit run` on.  Warm: later ones.  Each visit has an empty browser cache.
"""

import shutil
import statistics
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit.hello
from playwright.sync_api import Browser, sync_playwright

from pages._ui.base.entries import HOME, page_entries
from tests.browser.browsing import ROOT, Server, serving

NAME = "start"
COLD_ROUNDS, WARM_ROUNDS = 5, 5
HELLO = "hello"
HELLO_APP = Path(streamlit.hello.__file__).parent / "streamlit_app.py"
PAGES = [entry.name for entry in page_entries("zh")]
SECONDS = 180
# Looks at each frame, so that a mark is the time of a paint and not of an answer to a question.
_MARKS = """
window.marks = {};
const seen = (node) => Boolean(node?.getClientRects().length);
const look = () => {
  const hosts = [...document.querySelectorAll('.stBidiComponent, .stBidiComponent *')];
  const found = (what) => hosts.map((h) => h.shadowRoot?.querySelector(what)).find(seen);
  const here = {
    paint: document.querySelector('.stMain h1'),
    figure: found('button, canvas') ?? document.querySelector('.stMain .js-plotly-plot'),
    row: found('.word.query')?.parentElement.querySelector('.number:not(:empty)'),
  };
  for (const [name, node] of Object.entries(here)) {
    if (!(name in window.marks) && seen(node)) window.marks[name] = performance.now() / 1000;
  }
  requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""
Marks = dict[str, float]


def run() -> dict[str, Any]:
    """Return medians, ratios to the hello page of the same round, and all values."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        cold = [_cold_round(browser, Path(folder)) for _ in range(COLD_ROUNDS)]
        warm = _warm_rounds(browser, Path(folder))
        browser.close()
    return {"cold": _summary(cold, [HOME]), "warm": _summary(warm, PAGES)}


def _cold_round(browser: Browser, folder: Path) -> dict[str, Marks]:
    """Start each app on a server of its own and open it: its first request ever."""
    marks = {}
    for name in (HELLO, HOME):
        began = time.time()
        with _served(name, folder) as server:
            found = _visit(browser, server.url, "row" if name == HOME else "paint")
        since = found["opened"] - began
        marks[name] = found | {f"{mark}_from_run": since + found[mark] for mark in found}
    return marks


def _warm_rounds(browser: Browser, folder: Path) -> list[dict[str, Marks]]:
    with _served(HELLO, folder) as hello, _served(HOME, folder) as ours:
        places = {HELLO: hello.url} | {name: _address(ours, name) for name in PAGES}
        for name, place in places.items():
            _visit(browser, place, "row" if name == HOME else "paint")
        return [
            {
                name: _visit(browser, place, "row" if name == HOME else "paint")
                for name, place in places.items()
            }
            for _ in range(WARM_ROUNDS)
        ]


def _served(name: str, folder: Path) -> Any:
    app = HELLO_APP if name == HELLO else ROOT / "app.py"
    logs = folder / name
    logs.mkdir(exist_ok=True)
    return serving(app, logs, cwd=app.parent)


def _address(server: Server, name: str) -> str:
    return f"{server.url}/{'' if name == HOME else name}"


def _visit(browser: Browser, url: str, until: str) -> Marks:
    """Open a page in a fresh context; return its marks in seconds, and when it was opened."""
    context = browser.new_context(viewport={"width": 1280, "height": 860}, locale="zh-CN")
    context.add_init_script(_MARKS)
    page = context.new_page()
    page.goto(url, timeout=SECONDS * 1000)
    page.wait_for_function(f"'{until}' in window.marks", timeout=SECONDS * 1000)
    marks: Marks = page.evaluate("({ ...window.marks, opened: performance.timeOrigin / 1000 })")
    context.close()
    return marks


def _summary(rounds: list[dict[str, Marks]], names: list[str]) -> dict[str, Any]:
    """Return, for hello and each page, medians in seconds, ratios of the same round, all values."""
    told: dict[str, Any] = {HELLO: _medians([marks[HELLO] for marks in rounds])}
    for name in names:
        ratios = [marks[name]["paint"] / marks[HELLO]["paint"] for marks in rounds]
        told[name] = _medians([marks[name] for marks in rounds])
        told[name] |= {"to hello": statistics.median(ratios), "all to hello": ratios}
        if name == HOME:
            after = [marks[name]["row"] - marks[name]["paint"] for marks in rounds]
            told[name] |= {"row after paint": statistics.median(after), "all rows after": after}
    return told


def _medians(visits: list[Mapping[str, float]]) -> dict[str, Any]:
    names = {name for visit in visits for name in visit if not name.startswith("opened")}
    values = {name: [visit[name] for visit in visits if name in visit] for name in sorted(names)}
    medians = {name: statistics.median(listed) for name, listed in values.items()}
    return medians | {f"all {name}": listed for name, listed in values.items()}
