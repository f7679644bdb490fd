"""What a worker accepts, and that it never outlives its parent."""

import json
import string
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from owi_core.errors import RunError
from owi_core.events import Failed, StepDone, Stopped, from_json
from owi_core.jobs.memory import memory_mb
from owi_core.jobs.messages import Caps, Job, read_job
from owi_core.jobs.worker_process import start_python
from tests.jobs.conftest import is_alive, start_fake_worker, until

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
GOOD = {"version": 1, "experiment": "fake", "params": {}, "folder": "/tmp/x", "resume": False}


@pytest.fixture
def worker() -> Iterator["subprocess.Popen[bytes]"]:
    process = start_fake_worker()
    assert json.loads(process.stdout.readline())["event"] == "ready"
    yield process
    process.stdin.close()
    process.wait(5)
    process.stdout.close()


def tell(process: "subprocess.Popen[bytes]", line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(line.encode() + b"\n")
    process.stdin.flush()


def job_line(folder: Path, **params: Any) -> str:
    return Job("fake", params, str(folder)).to_json()


@given(
    params=st.dictionaries(st.text(), st.integers() | st.text() | st.booleans()),
    resume=st.booleans(),
    seconds=st.floats(0.1, 1e6),
)
def test_job_reads_back_as_it_was_written(
    params: dict[str, Any], resume: bool, seconds: float
) -> None:
    job = Job("fake", params, "/tmp/x", resume, Caps(seconds=seconds))
    assert read_job(job.to_json()) == job


@given(st.binary() | st.text(string.printable) | JSON.map(json.dumps))
def test_rubbish_is_refused_as_a_job_with_a_code(line: str | bytes) -> None:
    with pytest.raises(RunError) as error:
        read_job(line)
    assert error.value.code == "job_unreadable"


@given(st.sampled_from(sorted(GOOD)), JSON)
def test_wrong_value_in_a_job_is_refused_or_harmless(name: str, value: Any) -> None:
    try:
        job = read_job(json.dumps(GOOD | {name: value}))
    except RunError:
        return
    assert read_job(job.to_json()) == job


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"version": True},
        {"folder": "relative"},
        {"folder": "/tmp/\0"},
        {"resume": 1},
        {"caps": {"seconds": -1}},
        {"caps": {"seconds": float("nan")}},
        {"caps": {"minutes": 1}},
        {"more": 1},
    ],
)
def test_job_out_of_shape_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(RunError, match="job_unreadable"):
        read_job(json.dumps(GOOD | change))


def test_memory_is_measured_in_megabytes() -> None:
    assert 10 < memory_mb() < 10_000


def test_idle_worker_ends_when_its_parent_is_gone(worker: "subprocess.Popen[bytes]") -> None:
    worker.stdin.close()
    assert worker.wait(2) == 0


def test_busy_worker_stops_when_its_parent_is_gone(
    worker: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    tell(worker, job_line(tmp_path, gate=str(tmp_path / "gate")))
    worker.stdout.readline()
    worker.stdin.close()
    assert worker.wait(2) == 0
    assert isinstance(from_json(worker.stdout.readlines()[-1].decode()), Stopped)


def test_worker_stuck_in_a_run_ends_with_its_parent_too(
    worker: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    tell(worker, job_line(tmp_path, gate=str(tmp_path / "gate"), trouble="deaf"))
    worker.stdin.close()
    assert worker.wait(5) == 1


def test_killed_server_leaves_no_worker_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # what a killed server cannot delete
    server = start_python("-m", "tests.jobs.fake_server", str(tmp_path / "gate"))
    assert server.stdout is not None
    worker = int(server.stdout.readline())
    assert is_alive(worker)
    server.kill()
    server.wait(5)
    until(lambda: not is_alive(worker))
    assert server.stdin is not None
    server.stdin.close()
    server.stdout.close()


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("{}", "job_unreadable"),
        ("", "job_unreadable"),
        (json.dumps(GOOD | {"experiment": "other"}), "experiment_unknown"),
        (json.dumps(GOOD | {"params": {"nonsense": 1}}), "job_unreadable"),
    ],
)
def test_job_that_cannot_be_done_is_answered_with_a_code(
    worker: "subprocess.Popen[bytes]", line: str, code: str, tmp_path: Path
) -> None:
    tell(worker, line.replace("/tmp/x", str(tmp_path)))
    event = from_json(worker.stdout.readline().decode())
    assert isinstance(event, Failed)
    assert event.code == code


def test_unknown_control_lines_are_ignored(
    worker: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    tell(worker, job_line(tmp_path, gate=str(gate)))
    for line in ("rubbish", "[1]", '{"control": "explode"}', '{"control": ["stop"]}'):
        tell(worker, line)
    gate.touch()
    events = [from_json(line.decode()) for line in worker.stdout]
    assert events[-1].event == "finished"


def test_nothing_but_events_reaches_the_pipe(
    worker: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    tell(worker, job_line(tmp_path, trouble="chatter"))
    lines = worker.stdout.readlines()
    assert not [line for line in lines if b"a library says hello" in line]
    assert any(isinstance(from_json(lines[i].decode()), StepDone) for i in (1, 2))
