"""The sessions of the job engine: how many runs one may hold, and what its absence ends."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from owi_core.errors import RunError
from owi_core.jobs.deadlines import Deadlines
from owi_core.jobs.runs import Run
from owi_core.jobs.sessions import Sessions
from owi_core.jobs.tasks import State, Task
from tests.jobs.conftest import LIMITS, until

NO_MANAGER: Any = None


@pytest.fixture
def deadlines() -> Iterator[Deadlines]:
    opened = Deadlines()
    yield opened
    opened.close()


@pytest.fixture
def sessions(tmp_path: Path, deadlines: Deadlines) -> Sessions:
    limits = replace(LIMITS, grace_seconds=0.01, keep_seconds=0.03)
    return Sessions(
        tmp_path, replace(limits, unfinished_per_session=2, ended_per_session=1), deadlines
    )


def run(session: str, state: State) -> Run:
    task = Task("fake", {}, ("recipe", ""), Path(), {session}, state=state)
    return Run(NO_MANAGER, task, session, shared=False)


def test_a_session_lists_its_own_runs_in_order(sessions: Sessions) -> None:
    first, other, second = run("a", "queued"), run("b", "queued"), run("a", "running")
    for each in (first, other, second):
        sessions.add(each)
    assert sessions.runs("a") == [first, second]
    assert sessions.runs("nobody") == []


def test_one_unfinished_run_too_many_is_refused(sessions: Sessions) -> None:
    for state in ("running", "paused"):
        sessions.make_room("a")
        sessions.add(run("a", state))
    with pytest.raises(RunError) as error:
        sessions.make_room("a")
    assert (error.value.code, error.value.values) == ("too_many_runs", {"limit": 2})
    assert sessions.make_room("b") == []


def test_the_oldest_of_too_many_ended_runs_goes(sessions: Sessions) -> None:
    old, new, other = run("a", "finished"), run("a", "failed"), run("a", "running")
    for each in (old, other, new):
        sessions.add(each)
    assert sessions.make_room("a") == [old]
    assert sessions.runs("a") == [other, new]


def test_a_session_that_is_removed_leaves_no_folder(sessions: Sessions) -> None:
    held = run("a", "finished")
    sessions.add(held)
    folder = sessions.folder("a")
    assert folder == sessions.folder("a")
    assert folder.is_dir()
    assert sessions.remove("a") == [held]
    assert not folder.exists()
    assert sessions.remove("a") == []


def test_a_session_that_stays_away_loses_first_its_runs_then_its_results(
    sessions: Sessions,
) -> None:
    lost: list[str] = []
    sessions.leave("a", lambda: lost.append("runs"), lambda: lost.append("results"))
    assert lost == []
    until(lambda: lost == ["runs", "results"])


def test_a_session_that_comes_back_loses_nothing(sessions: Sessions, deadlines: Deadlines) -> None:
    lost: list[str] = []
    sessions.leave("a", lambda: lost.append("runs"), lambda: lost.append("results"))
    sessions.touch("a")
    passed: list[str] = []
    deadlines.set("later", 0.1, lambda: passed.append("later"))
    until(lambda: passed == ["later"])
    assert lost == []
