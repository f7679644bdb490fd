"""A class at one server: the queue, everybody's own rows, and what is left when they have gone."""

import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.browser.browsing import ROOT, Server, serving, workers
from tests.load.client import Session

pytestmark = pytest.mark.slow
NOUNS = ("苹果", "杯子", "书包", "帽子", "钥匙", "盒子")
TOGETHER = 10
MOST_MB = 50.0
# Streamlit keeps a session that has left for two minutes, in case it comes back.
KEPT_SECONDS = 130.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(ROOT / "app.py", tmp_path_factory.mktemp("load"), OWI_GRACE_SECONDS="1") as one:
        yield one


def ask_for_training(reader: Session, seed: int) -> None:
    """Open a link that starts a run which ends in no test by itself."""
    run = {"run": "language", "run.preset": "quick", "run.steps": "20000", "run.seed": str(seed)}
    reader.open("train", v="1", **run, end="1")
    reader.press("owi.link_train")


def progress(reader: Session) -> str:
    reader.poll()
    return reader.said("progress")


def is_training(reader: Session) -> bool:
    return re.search(r"第 \d+ /", reader.said("progress")) is not None


def stop(reader: Session) -> None:
    reader.press("train-stop")
    reader.watch(lambda reader: not reader.is_polling)


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "waited in vain"
        time.sleep(0.05)


def resident_mb(server: Server) -> float:
    pages = Path(f"/proc/{server.process.pid}/statm").read_text().split()[1]
    return int(pages) * 4096 / 2**20


def own_row(server: Server, index: int) -> None:
    """Read a sentence of one's own, look from a word, and find both as they were asked for."""
    noun = NOUNS[index]
    with Session(server.url) as reader:
        reader.open("rows", **{"text.A": f"小明把{noun}放在桌子上，小红拿走了它"})
        for word in (index, index + 1):
            reader.click_word("rows.words.A", word)
            row = reader.data("rows.words.A")
            assert row["labels"][2] == noun
            assert row["query"] == word
            assert abs(sum(row["weights"]) - 1) < 1e-3


def test_queue_keeps_its_order_and_pages_are_drawn_meanwhile(server: Server) -> None:
    readers = [Session(server.url) for _ in range(4)]
    for seed, reader in enumerate(readers):
        ask_for_training(reader, 100 + seed)
    first, *waiting = readers
    first.watch(is_training)
    places = ["下一个就是它", "前面还有 1 个", "前面还有 2 个"]
    for reader, place in zip(waiting, places, strict=True):
        assert place in progress(reader)
    with ThreadPoolExecutor(len(NOUNS)) as pool:
        list(pool.map(lambda index: own_row(server, index), range(len(NOUNS))))
    for nobody_ahead, (done, reader) in enumerate(zip(readers, waiting, strict=False), start=1):
        stop(done)
        reader.watch(is_training)
        for later, place in zip(waiting[nobody_ahead:], places, strict=False):
            assert place in progress(later)
    stop(waiting[-1])
    for reader in readers:
        reader.close()


def test_killed_browser_frees_the_slot_for_the_one_who_waits(server: Server) -> None:
    with Session(server.url) as waiter:
        killed = Session(server.url)
        ask_for_training(killed, 200)
        killed.watch(is_training)
        ask_for_training(waiter, 201)
        assert "下一个就是它" in progress(waiter)
        killed.drop()
        waiter.watch(is_training)
        stop(waiter)


def test_killed_server_leaves_no_worker_and_the_next_sweeps_its_folder(
    tmp_path: Path,
) -> None:
    with serving(ROOT / "app.py", tmp_path, TMPDIR=str(tmp_path)) as server:
        reader = Session(server.url)
        ask_for_training(reader, 300)
        reader.watch(is_training)
        (left,) = tmp_path.glob("owi-*")
        orphans = workers(server)
        server.process.kill()
        until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in orphans))
        assert left.exists()
    with serving(ROOT / "app.py", tmp_path, TMPDIR=str(tmp_path)) as server:
        with Session(server.url) as reader:
            reader.open("train")
        assert not left.exists()


def come_and_go(server: Server, count: int, first_seed: int) -> None:
    """Let sessions come and leave, so many there at a time; every tenth has a run under way."""
    there: list[Session] = []
    for index in range(count):
        reader = Session(server.url)
        if index % 10:
            reader.open("rows")
        else:
            ask_for_training(reader, first_seed + index)
        there.append(reader)
        if len(there) == TOGETHER:
            there.pop(0).close()
    for reader in there:
        reader.close()


def forgotten_mb(server: Server) -> float:
    """Return the server's memory once it has forgotten who has left."""
    time.sleep(KEPT_SECONDS)
    with Session(server.url) as reader:  # a session that leaves makes it look for older ones
        reader.open("rows")
    until(lambda: len(workers(server)) == 1)
    return resident_mb(server)


def test_two_hundred_sessions_leave_nothing_behind(server: Server) -> None:
    come_and_go(server, 20, 1000)
    before = resident_mb(server)
    come_and_go(server, 200, 2000)
    until(lambda: len(workers(server)) == 1)
    full, after = resident_mb(server), forgotten_mb(server)
    print(f"(before, after 200 sessions, forgotten: {before:.0f}, {full:.0f}, {after:.0f} MB)")
    assert after - before < MOST_MB
    with Session(server.url) as reader:
        ask_for_training(reader, 5000)
        reader.watch(is_training)
        stop(reader)
