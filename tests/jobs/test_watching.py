"""The codes under which a class follows a run: who sees what, how long, and what it costs."""

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from owi_core.events import StepDone
from owi_core.jobs import watching
from owi_core.jobs.manager import JobManager
from owi_core.jobs.runs import Run
from owi_core.jobs.tasks import Task
from owi_core.jobs.watching import LENGTH, LETTERS, Register, plain
from tests.jobs.conftest import Make
from tests.jobs.test_jobs import at_gate, submit


@pytest.fixture
def register() -> Register:
    return Register()


def shown(register: Register, run: Run, place: str = "train") -> str:
    return register.show(place, run, "train", None)


def test_a_class_sees_the_run_and_neither_keeps_nor_holds_it(
    make: Make, gate: Path, register: Register
) -> None:
    manager = make()
    run = at_gate(manager, gate)
    sight = register.sight(shown(register, run))
    assert sight is not None
    seen = sight.run
    assert (seen.id, seen.state, seen.losses) == (run.id, "running", run.losses)
    assert seen.latest(StepDone) == run.latest(StepDone)
    assert run.others == 0
    assert list(manager.pids().values()) == [run.id]
    assert run.pause()  # refused where others watch
    assert run.wait("paused") == "paused"
    run.stop()
    assert seen.state == "stopped"


def test_who_looks_on_can_change_nothing(make: Make, gate: Path, register: Register) -> None:
    run = at_gate(make(), gate)
    sight = register.sight(shown(register, run))
    assert sight is not None
    assert not sight.run.pause()
    assert not sight.run.resume()
    sight.run.stop()
    assert run.state == "running"
    gate.touch()
    assert run.wait() == "finished"
    assert sight.run.state == "finished"


def test_the_code_goes_along_to_the_next_run_in_its_place(make: Make, register: Register) -> None:
    manager = make()
    code = shown(register, submit(manager, steps=2))
    elsewhere = submit(manager, steps=3)
    assert register.follow("masking", elsewhere) is None
    second = submit(manager, steps=4)
    assert register.follow("train", second) == code
    sight = register.sight(code)
    assert sight is not None
    assert sight.run.id == second.id


def test_the_code_does_not_go_along_to_what_reads_a_private_text(
    make: Make, register: Register
) -> None:
    manager = make()
    first = submit(manager, steps=2)
    code = shown(register, first)
    private = manager.submit("fake", {"steps": 3}, "a", private=True)
    assert register.follow("train", private) is None
    sight = register.sight(code)
    assert sight is not None
    assert sight.run.id == first.id
    assert shown(register, private) == code  # its owner has pressed
    assert register.follow("train", private) == code


def test_a_code_ends_when_asked_and_with_its_session(make: Make, register: Register) -> None:
    manager = make()
    code = shown(register, submit(manager, steps=2))
    register.end("train", "a")
    assert register.sight(code) is None
    code = shown(register, submit(manager, steps=2))
    manager.release("a")
    assert register.sight(code) is None
    shown(register, submit(manager, session="b", steps=2))
    assert len(register) == 1  # what is dead is swept away


def test_there_is_one_code_for_each_place_and_not_too_many_in_all(
    make: Make, register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "MOST_CODES", 3)
    run = submit(make(), steps=2)
    codes = [shown(register, run, f"place {n}") for n in range(5)]
    assert len(set(codes)) == 5
    assert len(register) == 3
    assert [register.sight(code) is not None for code in codes] == [False, False, True, True, True]
    assert shown(register, run, "place 4") == codes[4]


def test_codes_are_many_and_easy_to_tell_apart(make: Make, register: Register) -> None:
    assert len(LETTERS) ** LENGTH > 800_000_000
    assert not set(LETTERS) & set("O0I1L")
    run = submit(make(), steps=2)
    codes = {shown(register, run, str(n)) for n in range(200)}
    assert len(codes) == 200
    assert {len(code) for code in codes} == {LENGTH}
    assert set("".join(codes)) == set(LETTERS)


def test_a_code_is_known_however_it_is_typed() -> None:
    assert plain(" k7m-2qx ") == "K7M2QX"
    assert plain("Ｋ７Ｍ　２ＱＸ") == "K7M2QX"  # as a Chinese keyboard types it


@given(st.text(max_size=60))
def test_no_text_is_a_code_by_accident_or_an_error(text: str) -> None:
    register = Register()
    manager: Any = SimpleNamespace(runs=lambda _session: [run])
    run = Run(manager, Task("fake", {}, ("", ""), Path(), set()), "a", False)
    code = shown(register, run)
    assert register.sight(code) is not None
    assert register.sight(text) is None or plain(text) == code


def test_many_threads_may_ask_at_once(make: Make, register: Register) -> None:
    manager: JobManager = make()
    run = submit(manager, steps=2)
    code = shown(register, run)
    failed: list[BaseException] = []

    def ask(number: int) -> None:
        try:
            for _ in range(50):
                shown(register, run, f"place {number}")
                assert register.sight(code) is not None
                register.end(f"place {number}", "a")
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert len(register) == 1
