"""Memory of the whole app with one run: server and worker, beside what a small cloud machine has.

rss: resident pages of each process.  anonymous: those of them that no file lies behind.  Libraries
are the same pages in both, and a container is charged for them once: the whole is all that is
anonymous and the larger rest.  Every page is opened once, then one run is started and looked at.
"""

import re
import tempfile
from pathlib import Path
from typing import Any

from pages._ui.base.entries import page_entries
from tests.bench.clicks import chromium, start_long_run
from tests.browser.browsing import ROOT, serving, settled

NAME = "memory"
LEAST_MB, MOST_MB = 690, 2_700  # what Streamlit Community Cloud gives an app
PATIENCE_MS = 300_000


def run() -> dict[str, Any]:
    """Return megabytes when the server is idle, when all pages were opened, and with one run."""
    with (
        tempfile.TemporaryDirectory() as folder,
        chromium() as browser,
        serving(ROOT / "app.py", Path(folder)) as server,
    ):
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(server.url)
        settled(page)
        first = family(server.process.pid)
        for entry in page_entries("zh")[1:]:
            page.goto(f"{server.url}/{entry.name}")
            settled(page)
        opened = family(server.process.pid)
        start_long_run(page, server)
        page.wait_for_timeout(5_000)
        with_run = family(server.process.pid)
    whole = counted_once(with_run)
    return {
        "home": first,
        "home_mb": counted_once(first),
        "all_pages": opened,
        "all_pages_mb": counted_once(opened),
        "with_one_run": with_run,
        "whole_mb": whole,
        "of_least": whole / LEAST_MB,
        "of_most": whole / MOST_MB,
    }


def family(pid: int) -> dict[str, dict[str, float]]:
    """Return the memory in MB of the server and of its workers."""
    children = Path(f"/proc/{pid}/task").glob("*/children")
    workers = [int(word) for path in children for word in path.read_text().split()]
    found = {"server": memory(pid)}
    return found | {f"worker {i}": memory(worker) for i, worker in enumerate(workers, 1)}


def counted_once(found: dict[str, dict[str, float]]) -> float:
    """Return the memory of processes together, the files behind them counted once."""
    own = sum(each["anonymous"] for each in found.values())
    return own + max(each["rss"] - each["anonymous"] for each in found.values())


def memory(pid: int) -> dict[str, float]:
    """Return a process's resident memory in MB, and what of it is anonymous."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    found = {}
    for name in ("Rss", "Anonymous"):
        match = re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)
        found[name.lower()] = int(match[1]) / 1024 if match else 0.0
    return found
