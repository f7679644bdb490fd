"""A class of thirty at one server with one slot, and one reader alone, in the same run.

All open their pages at one moment; then half of the thirty click a word every two seconds, four ask
for a training, and the others turn to another page now and then, each in a rhythm of their own.
Milliseconds are those until all that was asked for has arrived; a browser's own drawing comes on
top and is measured in `clicks`.
"""

import os
import re
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

from tests.bench.clicks import cpu_seconds, percentile
from tests.browser.browsing import ROOT, Server, serving
from tests.load.client import Session

NAME = "load"
SECONDS = 60.0
CLICKERS, TRAINERS, VISITORS = 15, 4, 11
EVERY_SECONDS, VISIT_SECONDS = 2.0, 10.0
PAGES = ("rows", "", "masking", "feedback", "tying")
WORDS = "rows.words.A"


def run() -> dict[str, Any]:
    """Return the milliseconds alone and among thirty, their ratios, and the queue."""
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(ROOT / "app.py", Path(folder), OWI_NICE="10") as server,
    ):
        _warm(server)
        alone = _measured(server, clickers=1, trainers=0, visitors=1)
        among = _measured(server, clickers=CLICKERS, trainers=TRAINERS, visitors=VISITORS)
    return {
        "alone": alone,
        "among_thirty": among,
        "opening_p95_to_alone": among["opening"]["p95"] / alone["opening"]["p95"],
        "click_p95_to_alone": among["click"]["p95"] / alone["click"]["p95"],
        "page_p95_to_alone": among["page"]["p95"] / alone["page"]["p95"],
        "load_average": os.getloadavg()[0],
    }


def _warm(server: Server) -> None:
    with Session(server.url) as reader:
        for page in PAGES:
            reader.open(page)
        reader.open("rows")
        for word in range(len(reader.data(WORDS)["labels"])):
            reader.click_word(WORDS, word)


def _measured(server: Server, clickers: int, trainers: int, visitors: int) -> dict[str, Any]:
    """Let so many of each kind come at once and stay for a while."""
    pacers = clickers + visitors
    together = Barrier(pacers + trainers)
    before = cpu_seconds(server.process.pid)
    with ThreadPoolExecutor(pacers + trainers) as pool:
        training = [pool.submit(_train, server, seed, together) for seed in range(trainers)]
        clicking = [pool.submit(_click, server, i, clickers, together) for i in range(clickers)]
        visiting = [pool.submit(_visit, server, i, visitors, together) for i in range(visitors)]
        clicks = [each.result() for each in clicking]
        visits = [each.result() for each in visiting]
        queue = [each.result() for each in training]
    found: dict[str, Any] = {
        "opening": _summary([opened for opened, _ in clicks + visits]),
        "click": _summary([taken for _, each in clicks for taken in each]),
        "page": _summary([taken for _, each in visits for taken in each]),
        "server_cpu_share": (cpu_seconds(server.process.pid) - before) / SECONDS,
    }
    return found | ({"places_seen": queue} if queue else {})


def _summary(seconds: list[float]) -> dict[str, Any]:
    taken = [1000 * value for value in seconds]
    return {"p50": percentile(taken, 0.5), "p95": percentile(taken, 0.95), "count": len(taken)}


def _click(server: Server, index: int, of: int, together: Barrier) -> tuple[float, list[float]]:
    with Session(server.url) as reader:
        together.wait()
        opened = reader.open("rows")
        words = len(reader.data(WORDS)["labels"])
        together.wait()
        taken = _paced(
            lambda turn: reader.click_word(WORDS, (index + 3 * turn) % words),
            EVERY_SECONDS,
            EVERY_SECONDS * index / of,
        )
        return opened, taken


def _visit(server: Server, index: int, of: int, together: Barrier) -> tuple[float, list[float]]:
    with Session(server.url) as reader:
        together.wait()
        opened = reader.open(PAGES[index % len(PAGES)])
        together.wait()
        taken = _paced(
            lambda turn: reader.open(PAGES[(index + turn + 1) % len(PAGES)]),
            VISIT_SECONDS,
            VISIT_SECONDS * index / of,
        )
        return opened, taken


def _paced(act: Callable[[int], float], every: float, first: float) -> list[float]:
    """Act every so many seconds, counted from the beginning of each act; return what each took."""
    taken: list[float] = []
    until = time.monotonic() + SECONDS
    time.sleep(first)
    while (began := time.monotonic()) < until:
        taken.append(act(len(taken)))
        time.sleep(max(0.0, began + every - time.monotonic()))
    return taken


def _train(server: Server, seed: int, together: Barrier) -> list[int]:
    """Ask for a training and watch it; return the places in the queue that were seen, 0 at work."""
    link = {"run": "language", "run.preset": "quick", "run.steps": "300", "run.seed": str(seed)}
    with Session(server.url) as reader:
        together.wait()
        reader.open("train", v="1", **link, end="1")
        reader.press("owi.link_train")
        together.wait()
        until, places = time.monotonic() + SECONDS, list[int]()
        while time.monotonic() < until and reader.is_polling:
            place = _place(reader.said("progress"))
            if place not in places[-1:]:
                places.append(place)
            reader.poll()
        return places


def _place(told: str) -> int:
    ahead = re.search(r"前面还有 (\d+) 个", told)
    return int(ahead.group(1)) + 1 if ahead else int("下一个" in told)
