"""How the browser tests see a page: looks, a server of their own, pictures."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

ROOT = Path(__file__).resolve().parents[2]
APPS = Path(__file__).parent / "apps"
SHOTS = Path(__file__).parent / "shots"

_START_SECONDS = 60.0


@dataclass(frozen=True)
class Look:
    """How one reader sees a page."""

    lang: str = "zh"
    theme: str = "light"
    width: int = 1280

    @property
    def height(self) -> int:
        """Return the window's height: a desk's or a phone's."""
        return 860 if self.width >= 640 else 844

    def __str__(self) -> str:
        return f"{self.lang}-{self.theme}-{self.width}"


LOOKS = [
    Look(lang, theme, width)
    for lang in ("zh", "en")
    for theme in ("light", "dark")
    for width in (1280, 390)
]

# Four of them, in which each two of language, theme and width meet.
EVERY_TWO = [Look("zh"), Look("en", "dark"), Look("zh", "dark", 390), Look("en", "light", 390)]


def mostly_slow(looks: Sequence[Look]) -> list[Any]:
    """Return looks as parameters: the last with every run, the others when slow.

    The usual look, the first, is the one in which all other tests see the pages.
    """
    return slow_but(looks, [looks[-1]])


def slow_but(values: Sequence[Any], often: Sequence[Any]) -> list[Any]:
    """Return values as parameters: those of `often` with every run, the others when slow."""
    return [
        pytest.param(value, id=str(value), marks=() if value in often else pytest.mark.slow)
        for value in values
    ]


@dataclass(frozen=True)
class Server:
    """A running server and where it answers."""

    url: str
    process: subprocess.Popen[bytes]


def workers(server: Server) -> set[int]:
    """The server's worker processes, as the system lists them."""
    found = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(status.read_text().rsplit(")", 1)[1].split()[1])
            command = (status.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if parent == server.process.pid and b"worker" in command:
            found.add(int(status.parent.name))
    return found


def take_shot(page: Page, name: str) -> Path:
    """Save a picture of what the reader sees; return where it lies."""
    SHOTS.mkdir(exist_ok=True)
    path = SHOTS / f"{name}.png"
    height = page.evaluate(
        "() => Math.max(600, ...[...document.querySelectorAll('.stMain, [data-testid=stMain]')]"
        ".map(e => e.scrollHeight))"
    )
    size = page.viewport_size
    assert size is not None
    page.set_viewport_size({"width": size["width"], "height": min(int(height) + 20, 6000)})
    page.wait_for_timeout(300)
    page.screenshot(path=path)
    page.set_viewport_size(size)
    return path


def settled(page: Page, heading: bool = True) -> Page:
    """Wait until the page has been drawn and its script has come to rest; return it."""
    if heading:
        page.wait_for_selector("h1")
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    page.wait_for_selector("[data-testid=stSkeleton]", state="detached")
    return page


def at_rest(page: Page) -> Page:
    """Wait for the run of the page that the last key, click or file has asked for; return it."""
    page.wait_for_timeout(200)
    return settled(page)


def set_number(page: Page, label: str, value: float) -> None:
    """Type a value into a number field and wait until the page has taken it.

    While what stands above a field comes or goes, the old field may stay beside the new one.
    """
    field = page.get_by_role("spinbutton", name=label, exact=True)
    expect(field).to_have_count(1)
    field.fill(str(value))
    field.press("Enter")
    at_rest(page)
    expect(field).to_have_value(str(value))


@contextmanager
def serving(app: Path, log_folder: Path, *, cwd: Path = ROOT, **settings: str) -> Iterator[Server]:
    """Start `streamlit run app` on a free port, wait until it answers, and end it by its pid.

    cwd: the folder whose settings hold.  It has one slot, and its worker steps back for nobody:
    other tests may be running.
    """
    port = _free_port()
    log = log_folder / "server.log"
    command = [sys.executable, "-m", "streamlit", "run", str(app), "--server.port", str(port)]
    command += ["--server.address", "127.0.0.1", "--server.fileWatcherType", "none"]
    command += ["--server.headless", "true"]
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "OWI_STRICT_TEXT": "1",
        "OMP_NUM_THREADS": "1",
        "OWI_SLOTS": "1",
        "OWI_NICE": "0",
        **settings,
    }
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command, cwd=cwd, env=environment, stdout=output, stderr=subprocess.STDOUT
        ) as process,
    ):
        try:
            _wait_for(f"http://127.0.0.1:{port}/_stcore/health", process, log)
            yield Server(f"http://127.0.0.1:{port}", process)
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=15)
    except subprocess.TimeoutExpired:
        process.kill()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    pytest.fail(f"the server did not answer: {log.read_text(encoding='utf-8')[-2000:]}")
