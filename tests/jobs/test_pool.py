"""The worker pool with workers that are no processes: each step of their life is made by hand."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from owi_core.events import Paused, to_json
from owi_core.jobs import pool as pool_module
from owi_core.jobs.deadlines import Deadlines
from owi_core.jobs.pool import WorkerPool
from owi_core.jobs.tasks import Task
from tests.jobs.conftest import LIMITS, until

READY = '{"event": "ready"}'


class HandWorker:
    """A worker whose lines and exit the test decides."""

    def __init__(self, start: Any, on_line: Callable[..., None], on_exit: Callable[..., None]):
        start()
        self.ready, self.killed = False, False
        self.sent: list[str] = []
        self.line, self.exit = lambda text: on_line(self, text), lambda: on_exit(self)

    @property
    def pid(self) -> int:
        return id(self)

    def send(self, line: str) -> None:
        self.sent.append(line)

    def ask(self, request: str) -> None:
        self.sent.append(request)

    def kill(self) -> None:
        self.killed = True

    def join(self, seconds: float) -> bool:
        return True


class Bench:
    """A pool with what it has reported."""

    def __init__(self, start: Callable[[], Any] = lambda: None, **limits: Any) -> None:
        self.ended: list[Task] = []
        self.free = 0
        self.deadlines = Deadlines()
        self.pool = WorkerPool(
            replace(LIMITS, **limits),
            start,
            self.deadlines,
            threading.Condition(threading.RLock()),
            on_end=self.ended.append,
            on_free=self.note_free,
        )

    def note_free(self) -> None:
        self.free += 1

    @property
    def workers(self) -> list[Any]:
        return list(self.pool._task_of)

    def warm(self) -> list[Any]:
        self.pool.fill(9)
        for worker in self.workers:
            worker.line(READY)
        return self.workers


@pytest.fixture
def make_bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Bench]]:
    monkeypatch.setattr(pool_module, "Worker", HandWorker)
    benches: list[Bench] = []

    def make(*args: Any, **limits: Any) -> Bench:
        benches.append(Bench(*args, **limits))
        return benches[-1]

    yield make
    for bench in benches:
        bench.deadlines.close()
        bench.pool.close()


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return Task("fake", {}, ("recipe", ""), tmp_path, {"a"}, state="running")


@pytest.mark.parametrize(("waiting", "started"), [(0, 1), (1, 1), (2, 2), (9, 3)])
def test_workers_are_started_for_what_waits_and_one_is_kept_warm(
    make_bench: Callable[..., Bench], waiting: int, started: int
) -> None:
    bench = make_bench(slots=3)
    bench.pool.fill(waiting)
    assert len(bench.workers) == started


def test_a_worker_gets_a_task_only_when_it_is_warm(
    make_bench: Callable[..., Bench], task: Task
) -> None:
    bench = make_bench()
    bench.pool.fill(1)
    assert not bench.pool.has_warm
    (worker,) = bench.warm()
    assert bench.pool.idle
    assert bench.free == 1
    bench.pool.assign(task)
    assert bench.pool.pids() == {worker.pid: task.number}
    assert not bench.pool.has_warm
    assert bench.pool.is_busy_with(task)


def test_the_exit_of_a_worker_ends_its_task_and_frees_the_slot(
    make_bench: Callable[..., Bench], task: Task
) -> None:
    bench = make_bench()
    (worker,) = bench.warm()
    bench.pool.assign(task)
    worker.exit()
    assert bench.ended == [task]
    assert bench.free == 2
    assert bench.workers == []


def test_a_task_that_has_its_next_worker_is_not_ended_by_the_exit_of_the_old_one(
    make_bench: Callable[..., Bench], task: Task
) -> None:
    bench = make_bench(slots=2)
    old, new = bench.warm()
    bench.pool.assign(task)
    old.line(to_json(Paused(3)))
    assert task.state == "paused"
    task.state = "running"
    bench.pool.assign(task)
    old.exit()
    assert bench.ended == []
    new.exit()
    assert bench.ended == [task]


def test_a_worker_that_does_not_exit_after_its_last_event_is_killed(
    make_bench: Callable[..., Bench], task: Task
) -> None:
    bench = make_bench(kill_seconds=0.01)
    (worker,) = bench.warm()
    bench.pool.assign(task)
    worker.line(to_json(Paused(3)))
    until(lambda: worker.killed)


def test_a_worker_that_does_not_do_what_it_is_asked_is_killed(
    make_bench: Callable[..., Bench], task: Task
) -> None:
    bench = make_bench()
    (worker,) = bench.warm()
    bench.pool.assign(task)
    bench.pool.ask(task, "stop", 0.01)
    assert worker.sent[-1] == "stop"
    until(lambda: worker.killed)


def test_two_workers_in_a_row_that_never_get_warm_end_the_attempts(
    make_bench: Callable[..., Bench],
) -> None:
    bench = make_bench()
    for _ in range(2):
        bench.pool.fill(1)
        bench.workers[0].exit()
    bench.pool.fill(1)
    assert bench.workers == []
    assert bench.pool.cannot_start
    bench.pool.try_again()
    bench.pool.fill(1)
    assert len(bench.workers) == 1


def test_a_system_that_starts_no_process_ends_the_attempts(
    make_bench: Callable[..., Bench],
) -> None:
    def refuse() -> None:
        raise OSError

    bench = make_bench(refuse)
    bench.pool.fill(1)
    assert bench.pool.cannot_start


def test_a_closed_pool_kills_its_workers_and_starts_none(
    make_bench: Callable[..., Bench],
) -> None:
    bench = make_bench()
    (worker,) = bench.warm()
    bench.pool.close()
    worker.exit()
    bench.pool.fill(1)
    assert worker.killed
    assert bench.workers == []
