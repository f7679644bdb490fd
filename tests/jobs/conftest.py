"""A manager with fake workers, and proof after each test that nothing was left behind."""

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from owi_core.jobs.limits import Limits
from owi_core.jobs.manager import JobManager
from owi_core.jobs.messages import Caps
from owi_core.jobs.worker_process import start_python

Make = Callable[..., JobManager]
LIMITS = Limits(slots=1, nice=10, shared_mb=200.0, private_mb=40.0, grace_seconds=20.0, caps=Caps())


def start_fake_worker() -> Any:
    return start_python("-m", "tests.jobs.fake_worker")


def plain_recipe(experiment: str, params: Mapping[str, Any]) -> str:
    return repr((experiment, sorted(params.items())))


def until(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    """Wait for what no event announces, such as the end of a process."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.002)


def is_alive(pid: int) -> bool:
    """Is there still such a process, a zombie counted in?"""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def make() -> Iterator[Make]:
    """Make managers that are closed afterwards, checking that they leave nothing."""
    managers: list[JobManager] = []
    pids: set[int] = set()
    before = set(threading.enumerate())  # of an app that another test of this process has opened

    def start() -> Any:
        process = start_fake_worker()
        pids.add(process.pid)
        return process

    def make_one(start: Callable[[], Any] = start, **limits: Any) -> JobManager:
        managers.append(JobManager(plain_recipe, replace(LIMITS, **limits), start))
        return managers[-1]

    yield make_one
    for manager in managers:
        manager.close()
        assert not manager.root.exists()
    assert not [pid for pid in pids if is_alive(pid)]
    assert not [t.name for t in set(threading.enumerate()) - before if t.name.startswith("owi-")]


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """Fake runs given this path end only once the file exists."""
    return tmp_path / "gate"
