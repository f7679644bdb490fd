"""A real browser before a real server.

`page_at` opens a page the way one reader sees it (language, theme, width) and, at the end,
demands that nothing was asked of a foreign host and that no script failed.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.browsing import ROOT, Look, Server, serving, take_shot

# What takes half a second alone takes long beside a server, a run and other people's work.
_PATIENCE_MS = 120_000
expect.set_options(timeout=_PATIENCE_MS)

_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for all tests; skipped where none is installed, except under CI=true."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        if os.environ.get("CI") == "true":
            pytest.fail("no chromium on PATH, and CI=true asks for the browser tests")
        pytest.skip("no chromium on PATH: install it to run the browser tests")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=_FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def server(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The app on a free port, one for each module of tests."""
    with serving(ROOT / "app.py", tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture
def fresh_server(chromium: Browser, tmp_path: Path) -> Iterator[Server]:
    """The app on a free port, started for this test: its first request is the test's."""
    with serving(ROOT / "app.py", tmp_path) as running:
        yield running


@pytest.fixture
def page_at(chromium: Browser) -> Iterator[Callable[..., Page]]:
    """Return `open(url, look=Look())`, which gives a page in a browser context of its own."""
    contexts: list[Any] = []
    complaints: list[str] = []

    def open_(url: str, look: Look | None = None) -> Page:
        look = look or Look()
        context = chromium.new_context(
            viewport={"width": look.width, "height": look.height},
            locale={"zh": "zh-CN", "en": "en-US"}[look.lang],
            color_scheme=look.theme,  # type: ignore[arg-type]
            device_scale_factor=1.5,
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(_PATIENCE_MS)
        _listen(page, complaints)
        page.goto(url)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def shot() -> Callable[[Page, str], Path]:
    """Return `shot(page, name)`: a picture of the whole page in tests/browser/shots."""
    return take_shot


def _listen(page: Page, complaints: list[str]) -> None:
    local = ("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:", "about:")
    page.on(
        "request",
        lambda request: (
            None if request.url.startswith(local) else complaints.append(f"asked {request.url}")
        ),
    )
    page.on("pageerror", lambda error: complaints.append(f"script failed: {error}"))
