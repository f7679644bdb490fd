"""The queue, the sharing and the ends of runs, with real child processes that learn nothing."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from owi_core.errors import RunError
from owi_core.events import Evaluated, Finished, Snapshot, StepDone
from owi_core.jobs import worker_process
from owi_core.jobs.manager import JobManager
from owi_core.jobs.messages import Caps
from owi_core.jobs.runs import Run
from owi_core.jobs.worker_process import start_python
from tests.jobs.conftest import Make, is_alive, start_fake_worker, until


def submit(manager: JobManager, session: str = "a", **params: object) -> Run:
    return manager.submit("fake", params, session)


def at_gate(manager: JobManager, gate: Path, session: str = "a", **params: object) -> Run:
    """A run that waits in its last step."""
    run = submit(manager, session, gate=str(gate), **params)
    assert manager.wait(lambda: bool(run.losses), 5)
    return run


def pid_of(manager: JobManager, run: Run) -> int:
    return next(pid for pid, number in manager.pids().items() if number == run.id)


def test_run_reports_its_events_and_leaves_a_folder(make: Make) -> None:
    run = submit(make(), steps=4)
    assert run.wait() == "finished"
    assert run.has_model
    assert run.latest(Finished) == run.events()[-1]
    assert run.losses[-1] == (4, 0.25)
    assert run.events(since=2) == run.events()[2:]
    assert run.task.skipped == 0


def test_history_has_every_step_and_snapshot(make: Make) -> None:
    run = submit(make(), steps=50)
    run.wait()
    history = run.history()
    assert [e.step for e in history if isinstance(e, StepDone)] == list(range(1, 51))
    assert [e.step for e in history if isinstance(e, Snapshot)] == list(range(1, 51))


def test_frequent_events_are_thinned_out_but_the_last_one_arrives(make: Make) -> None:
    run = submit(make(), steps=50)
    run.wait()
    sent = [e.step for e in run.events() if isinstance(e, Snapshot)]
    assert sent[0] == 1
    assert sent[-1] == 50
    assert len(sent) < 20


def test_number_that_is_not_finite_arrives_as_none(make: Make) -> None:
    run = submit(make())
    run.wait()
    evaluated = run.latest(Evaluated)
    assert evaluated is not None
    assert evaluated.metrics == {"accuracy": 1.0, "stubborn": None}


def test_warm_worker_becomes_the_run_and_is_replaced(make: Make) -> None:
    manager = make()
    assert manager.wait(manager.idle, 5)
    (warm,) = manager.pids()
    run = submit(manager)
    assert manager.pids() == {warm: run.id}
    run.wait()
    assert manager.wait(manager.idle, 5)
    assert warm not in manager.pids()


def test_queue_is_first_come_first_served_and_shows_the_place(make: Make, gate: Path) -> None:
    manager = make()
    first = at_gate(manager, gate)
    second, third = submit(manager, "b", seed=1), submit(manager, "c", seed=2)
    assert [r.queue_position for r in (first, second, third)] == [0, 1, 2]
    assert len(manager.pids()) == 1
    second.stop()
    assert third.queue_position == 1
    gate.touch()
    assert third.wait() == "finished"
    assert second.state == "stopped"


def test_two_slots_train_two_runs_at_once(make: Make, gate: Path) -> None:
    manager = make(slots=2)
    runs = [at_gate(manager, gate, seed=seed) for seed in (1, 2)]
    waiting = submit(manager, seed=3)
    assert len({pid_of(manager, run) for run in runs}) == 2
    assert waiting.queue_position == 1
    gate.touch()
    assert [run.wait() for run in (*runs, waiting)] == ["finished"] * 3


def test_pause_frees_the_slot_and_resume_goes_on_from_there(make: Make, gate: Path) -> None:
    manager = make()
    run = at_gate(manager, gate, steps=3)
    assert run.pause()
    assert run.state == "pausing"
    assert run.wait("paused") == "paused"
    assert submit(manager, "b", seed=1).wait() == "finished"
    assert run.resume()
    assert run.wait("running") == "running"
    gate.touch()
    assert run.wait() == "finished"
    steps = [e.step for e in run.history() if isinstance(e, StepDone)]
    assert steps == [1, 2, 3, 3]


def test_waiting_run_can_be_paused_and_resumed(make: Make, gate: Path) -> None:
    manager = make()
    at_gate(manager, gate)
    run = submit(manager, seed=1)
    assert run.pause()
    assert (run.state, run.queue_position) == ("paused", 0)
    assert run.resume()
    gate.touch()
    assert run.wait() == "finished"


def test_stop_ends_the_worker_within_half_a_second(make: Make, gate: Path) -> None:
    manager = make()
    run = at_gate(manager, gate)
    pid = pid_of(manager, run)
    began = time.monotonic()
    run.stop()
    assert run.wait() == "stopped"
    until(lambda: not is_alive(pid))
    assert time.monotonic() - began < 0.5
    assert run.has_model


def test_run_that_still_prepares_is_stopped_and_paused_at_once(make: Make, gate: Path) -> None:
    manager = make()
    run = submit(manager, gate=str(gate), trouble="slow")
    run.wait("running")
    assert run.pause()
    assert run.state == "paused"
    assert run.resume()
    run.wait("running")
    run.stop()
    assert run.state == "stopped"
    assert not run.has_model
    assert submit(manager, seed=1).wait() == "finished"


def test_worker_that_does_not_heed_stop_is_killed(make: Make, gate: Path) -> None:
    manager = make(kill_seconds=0.2)
    run = at_gate(manager, gate, trouble="deaf")
    pid = pid_of(manager, run)
    run.stop()
    assert run.state == "stopping"
    assert run.wait() == "stopped"
    until(lambda: not is_alive(pid))
    assert submit(manager, seed=1).wait() == "finished"


def test_killed_worker_loses_its_run_and_the_queue_goes_on(make: Make, gate: Path) -> None:
    manager = make()
    run = at_gate(manager, gate)
    waiting = submit(manager, "b", seed=1)
    os.kill(pid_of(manager, run), signal.SIGKILL)
    assert run.wait() == "lost"
    assert run.code == "worker_lost"
    assert waiting.wait() == "finished"
    assert manager.wait(manager.idle, 5)


def test_killed_warm_worker_is_replaced(make: Make) -> None:
    manager = make()
    manager.wait(manager.idle, 5)
    (warm,) = manager.pids()
    os.kill(warm, signal.SIGKILL)
    assert manager.wait(lambda: warm not in manager.pids() and manager.idle(), 5)
    assert submit(manager).wait() == "finished"


def test_workers_that_cannot_start_are_not_tried_for_ever(make: Make) -> None:
    manager = make(start=lambda: start_python("-c", "raise SystemExit(3)"))
    run = submit(manager)
    assert run.wait() == "failed"
    assert run.code == "worker_not_started"
    assert manager.pids() == {}


@pytest.mark.parametrize(
    ("trouble", "state", "code"),
    [
        ("diverge", "diverged", ""),
        ("refuse", "failed", "lr_out_of_range"),
        ("crash", "failed", "worker_crashed"),
        ("die", "lost", "worker_lost"),
    ],
)
def test_trouble_in_a_run_is_told_and_the_next_run_works(
    make: Make, trouble: str, state: str, code: str
) -> None:
    manager = make()
    run = submit(manager, trouble=trouble)
    assert (run.wait(), run.code) == (state, code)
    assert submit(manager).wait() == "finished"


def test_rubbish_from_a_worker_is_skipped_and_counted(make: Make) -> None:
    run = submit(make(), trouble="chatter")
    assert run.wait() == "finished"
    assert run.task.skipped == 4


def test_run_that_exceeds_its_time_fails(make: Make, gate: Path) -> None:
    run = submit(make(caps=Caps(seconds=0.2)), gate=str(gate))
    assert run.wait() == "failed"
    assert (run.code, run.values) == ("run_too_long", {"limit": 0.2})


def test_run_that_exceeds_its_memory_fails(make: Make) -> None:
    run = submit(make(caps=Caps(memory_mb=150)), trouble="hungry")
    assert run.wait() == "failed"
    assert run.code == "run_too_large"
    assert run.values["used"] > run.values["limit"] == 150


def test_same_recipe_is_shared_while_it_runs_and_when_it_is_done(make: Make, gate: Path) -> None:
    manager = make()
    first = at_gate(manager, gate)
    second = at_gate(manager, gate, "b")
    assert (first.shared, second.shared) == (False, True)
    assert (second.id, first.others, second.others) == (first.id, 1, 1)
    gate.touch()
    assert second.wait() == "finished"
    late = at_gate(manager, gate, "c")
    assert (late.shared, late.state, late.id) == (True, "finished", first.id)


def test_fresh_trains_here_and_now(make: Make) -> None:
    manager = make()
    first = submit(manager)
    first.wait()
    again = manager.submit("fake", {}, "a", fresh=True)
    assert not again.shared
    assert again.id != first.id
    assert again.wait() == "finished"


@pytest.mark.parametrize("trouble", ["refuse", "die"])
def test_failed_run_is_not_shared(make: Make, trouble: str) -> None:
    manager = make()
    first = submit(manager, trouble=trouble)
    first.wait()
    assert not submit(manager, "b", trouble=trouble).shared


def test_stop_leaves_a_run_that_others_watch(make: Make, gate: Path) -> None:
    manager = make()
    first, second = at_gate(manager, gate), at_gate(manager, gate, "b")
    assert not first.pause()
    first.stop()
    assert (first.state, second.state) == ("stopped", "running")
    assert second.others == 0
    second.stop()
    assert second.wait() == "stopped"


def test_after_a_reload_the_reader_alone_is_watching(make: Make, gate: Path) -> None:
    manager = make()
    at_gate(manager, gate, steps=3)
    (again,) = manager.join("a", "reloaded")
    assert again.others == 1  # a copied tab: both are there
    manager.leave("a")
    assert again.others == 0
    assert again.pause()
    assert again.wait("paused") == "paused"
    again.stop()
    assert again.state == "stopped"


def test_private_run_is_never_shared_with_another_session(make: Make) -> None:
    manager = make()
    mine = manager.submit("fake", {}, "a", private=True)
    yours = manager.submit("fake", {}, "b", private=True)
    public = manager.submit("fake", {}, "c")
    assert len({mine.id, yours.id, public.id}) == 3
    assert mine.folder != yours.folder
    assert [run.wait() for run in (mine, yours, public)] == ["finished"] * 3
    assert manager.submit("fake", {}, "a", private=True).id == mine.id
    assert [run.id for run in manager.runs("b")] == [yours.id]


def test_session_that_leaves_frees_its_slot_after_a_grace(make: Make, gate: Path) -> None:
    manager = make(grace_seconds=0.05, keep_seconds=60)
    run = at_gate(manager, gate)
    waiting = submit(manager, "b", seed=1)
    manager.leave("a")
    assert waiting.wait() == "finished"
    assert run.state == "stopped"
    assert run.has_model


def test_session_that_comes_back_keeps_its_run(make: Make, gate: Path) -> None:
    manager = make(grace_seconds=0.05, keep_seconds=0.1)
    run, other = at_gate(manager, gate), submit(manager, "b", seed=1)
    manager.leave("a")
    manager.touch("a")
    manager.leave("b")
    assert other.wait() == "stopped"
    assert run.state == "running"


def test_release_deletes_what_only_this_session_may_see(make: Make, gate: Path) -> None:
    manager = make()
    shared = submit(manager)
    private = manager.submit("fake", {}, "a", private=True)
    private.wait()
    unfinished = at_gate(manager, gate)
    own = manager.session_folder("a")
    manager.release("a")
    assert shared.folder.exists()
    assert not private.folder.exists()
    assert not own.exists()
    assert manager.wait(manager.idle, 5)
    assert not unfinished.folder.exists()
    assert manager.runs("a") == []


def test_quota_deletes_the_shared_result_not_used_for_longest(make: Make) -> None:
    manager = make(shared_mb=2.5)
    runs = [submit(manager, "a", seed=seed) for seed in (1, 2)]
    assert [run.wait() for run in runs] == ["finished"] * 2
    submit(manager, "b", seed=1)
    manager.release("a")
    last = submit(manager, "c", seed=3)
    last.wait()
    assert manager.wait(manager.idle, 5)
    assert [run.folder.exists() for run in (*runs, last)] == [True, False, True]
    assert not submit(manager, "b", seed=2).shared


def test_private_results_have_a_quota_of_their_own(make: Make) -> None:
    manager = make(private_mb=1.5)
    shared = submit(manager)
    private = [manager.submit("fake", {"seed": s}, "a", private=True) for s in (1, 2)]
    assert [run.wait() for run in private] == ["finished"] * 2
    assert manager.wait(manager.idle, 5)
    assert [run.has_model for run in (shared, *private)] == [True, False, True]


def test_session_may_not_fill_the_queue(make: Make, gate: Path) -> None:
    manager = make(unfinished_per_session=2)
    at_gate(manager, gate)
    submit(manager, seed=1)
    with pytest.raises(RunError) as error:
        submit(manager, seed=2)
    assert (error.value.code, error.value.values) == ("too_many_runs", {"limit": 2})
    assert submit(manager, "b", seed=2).state == "queued"


def test_ended_runs_of_a_session_are_let_go_when_there_are_many(make: Make) -> None:
    manager = make(ended_per_session=1)
    runs = []
    for seed in range(3):
        runs.append(manager.submit("fake", {"seed": seed}, "a", private=True))
        runs[-1].wait()
    assert not runs[0].folder.exists()
    assert [run.id for run in manager.runs("a")] == [runs[1].id, runs[2].id]


def test_a_worker_runs_at_the_priority_of_its_limits(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[str, ...]] = []

    def start(*args: str) -> "subprocess.Popen[bytes]":
        started.append(args)
        return start_fake_worker()

    monkeypatch.setattr(worker_process, "start_python", start)
    manager = make(start=None, nice=3)
    assert manager.wait(manager.idle, 5)
    assert started == [("-m", "owi_core", "worker", "--nice", "3")]
