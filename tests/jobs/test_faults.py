"""What goes wrong around a run: full disks, frozen workers, clocks that jump, servers that died."""

import errno
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from owi_core.errors import RunError
from owi_core.jobs.deadlines import Deadlines
from owi_core.jobs.messages import Caps
from owi_core.jobs.worker_process import start_python
from tests.house.source import app, called_name, where
from tests.jobs.conftest import Make, until

WALL_CLOCK = {("time", "time"), ("datetime", "now"), ("datetime", "today"), ("date", "today")}


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A disk of its own for temporary files, with room for one model and not for two."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1536k", "tmpfs", str(place)]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip("a small disk has to be mounted for this, and that is not permitted here")
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_full_disk_ends_the_run_with_a_code_and_leaves_the_others(
    make: Make, small_disk: Path
) -> None:
    manager = make()
    first, second = (manager.submit("fake", {"seed": seed}, f"{seed}") for seed in (1, 2))
    assert (first.wait(), first.code) == ("finished", "")
    assert (second.wait(), second.code) == ("failed", "disk_full")
    assert first.has_model
    assert first.history()[-1].event == "finished"
    manager.release("2")
    manager.wait(manager.idle, 5)
    assert manager.submit("fake", {"steps": 2, "trouble": "diverge"}, "3").wait() == "diverged"


@pytest.mark.parametrize("trouble", ["full_log", "full_model"])
def test_file_that_takes_no_more_ends_the_run_with_a_code(make: Make, trouble: str) -> None:
    manager = make()
    run = manager.submit("fake", {"trouble": trouble}, "a")
    assert (run.wait(), run.code) == ("failed", "disk_full")
    assert manager.submit("fake", {}, "a").wait() == "finished"


def test_no_room_for_a_new_folder_is_told_with_a_code(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = make()

    def full(**_: Any) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(tempfile, "mkdtemp", full)
        with pytest.raises(RunError, match="disk_full"):
            manager.submit("fake", {}, "a")
    assert manager.runs("a") == []
    assert manager.submit("fake", {}, "a").wait() == "finished"


def test_frozen_worker_is_ended_and_the_queue_goes_on(make: Make, gate: Path) -> None:
    manager = make(caps=Caps(seconds=1.0), pause_seconds=0.1)
    run = manager.submit("fake", {"gate": str(gate)}, "a")
    waiting = manager.submit("fake", {"seed": 1}, "b")
    assert manager.wait(lambda: bool(run.losses), 5)
    (pid,) = manager.pids()
    os.kill(pid, signal.SIGSTOP)
    assert (run.wait(), run.code, run.values) == ("failed", "run_too_long", {"limit": 1.0})
    assert waiting.wait() == "finished"


def test_worker_that_never_gets_warm_is_given_up(make: Make) -> None:
    manager = make(
        start=lambda: start_python("-c", "import time; time.sleep(600)"), start_seconds=0.1
    )
    run = manager.submit("fake", {}, "a")
    assert (run.wait(), run.code) == ("failed", "worker_not_started")
    until(lambda: manager.pids() == {})


def test_clock_that_jumps_back_delays_nothing(
    make: Make, gate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = make(grace_seconds=0.05, keep_seconds=60)
    run = manager.submit("fake", {"gate": str(gate)}, "a")
    assert manager.wait(lambda: bool(run.losses), 5)
    hour_ago = time.time() - 3600
    monkeypatch.setattr(time, "time", lambda: hour_ago)
    manager.leave("a")
    assert run.wait() == "stopped"


def test_deadline_heeds_only_the_clock_that_never_jumps(monkeypatch: pytest.MonkeyPatch) -> None:
    now, rung = [100.0], threading.Event()
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    deadlines = Deadlines()
    deadlines.set("a", 5.0, rung.set)
    monkeypatch.setattr(time, "time", lambda: 0.0)
    now[0] = 106.0
    deadlines.set("b", 60.0, lambda: None)  # wakes the thread
    assert rung.wait(5)
    deadlines.close()


def test_nothing_in_the_app_asks_for_the_time_of_day() -> None:
    asked = [
        where(module, call)
        for module in app()
        for call in module.calls()
        if (_owner(call), called_name(call)) in WALL_CLOCK
    ]
    assert asked == []


def _owner(call: Any) -> str:
    owner = getattr(call.func, "value", None)
    return str(getattr(owner, "id", getattr(owner, "attr", "")))


def test_folder_of_a_killed_server_is_swept_by_the_next(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    alive = make()
    server = start_python("-m", "tests.jobs.fake_server", str(tmp_path / "gate"))
    assert server.stdout is not None
    assert server.stdin is not None
    with server.stdin, server.stdout:
        server.stdout.readline()
        (left,) = set(tmp_path.glob("owi-*")) - {alive.root}
        make()
        assert left.exists()
        server.kill()
        server.wait(5)
    make()
    assert not left.exists()
    assert alive.root.exists()


def test_folder_that_is_not_a_servers_is_let_be(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "owi-notes").mkdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "lock").touch()
    (tmp_path / "owi-link").symlink_to(elsewhere)
    make()
    assert (tmp_path / "owi-notes").exists()
    assert (elsewhere / "lock").exists()
