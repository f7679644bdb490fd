"""A worker whose one experiment learns nothing; only tests start it."""

import json
import os
import resource
import sys
import time
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from owi_core import events
from owi_core.errors import SettingError
from owi_core.jobs import worker


@dataclass(frozen=True)
class Params:
    """`gate`: a file that must exist before the last step; `trouble`: what goes wrong there."""

    steps: int = 3
    gate: str = ""
    trouble: str = ""
    seed: int = 0


def step_done(step: int, steps: int) -> events.StepDone:
    return events.StepDone(step, steps, 1.0 / step, 0.1, 1000.0, 0.01 * step, 0.01 * (steps - step))


def run(
    params: Params,
    folder: Path | None = None,
    control: events.Control | None = None,
    resume: bool = False,
) -> Iterator[events.Event]:
    assert folder is not None
    assert control is not None
    while params.trouble == "slow" and params.gate and not os.path.exists(params.gate):
        time.sleep(0.002)
    state = folder / "state.json"
    first = json.loads(state.read_text())["step"] if resume else 1
    yield events.Started("fake", {"steps": params.steps}, "recipe", params.steps, 10)
    for step in range(first, params.steps + 1):
        yield step_done(step, params.steps)
        yield events.Snapshot(step, ["苹果", "它"], 1, [[[[1.0, 0.0], [0.5, 0.5]]]])
        while step == params.steps and params.gate and not os.path.exists(params.gate):
            if control.request == "pause":
                state.write_text(json.dumps({"step": step}))
                yield events.Paused(step)
                return
            if control.request == "stop" and params.trouble != "deaf":
                save(folder)
                yield events.Stopped(step)
                return
            time.sleep(0.002)
    yield from TROUBLES[params.trouble](folder)
    save(folder)
    yield events.Evaluated(params.steps, {"accuracy": 1.0, "stubborn": float("nan")})
    yield events.Finished(
        "fake", {"steps": params.steps}, {"steps": params.steps}, {"code": "learned"}
    )


def save(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"\0" * 2**20)


def diverge(folder: Path) -> Iterator[events.Event]:
    yield events.Diverged(3, {"lr": 10.0}, "lower_lr")


def refuse(folder: Path) -> Iterator[events.Event]:
    raise SettingError("lr_out_of_range", value=10.0)
    yield


def crash(folder: Path) -> Iterator[events.Event]:
    raise ZeroDivisionError
    yield


def die(folder: Path) -> Iterator[events.Event]:
    os._exit(9)
    yield


def chatter(folder: Path) -> Iterator[events.Event]:
    print("a library says hello")
    os.write(1, b'rubbish \xff\n{"event": "step"}\n\n[1]\n')
    yield from ()


def hungry(folder: Path) -> Iterator[events.Event]:
    hoard = bytearray(os.urandom(2**20)) * 300
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        time.sleep(0.01)
        yield step_done(len(hoard), 10**9)


def full_log(folder: Path) -> Iterator[events.Event]:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, 1))
    yield step_done(1, 1)


def full_model(folder: Path) -> Iterator[events.Event]:
    (folder / "model.safetensors").symlink_to("/dev/full")
    yield from ()


def nothing(folder: Path) -> Iterator[events.Event]:
    yield from ()


TROUBLES = {
    "": nothing,
    "deaf": nothing,
    "slow": nothing,
    "diverge": diverge,
    "refuse": refuse,
    "crash": crash,
    "die": die,
    "chatter": chatter,
    "hungry": hungry,
    "full_log": full_log,
    "full_model": full_model,
}

if __name__ == "__main__":
    # Nothing here computes: a second less for each worker.
    sys.modules["torch"] = types.SimpleNamespace(set_num_threads=print)  # type: ignore[assignment]
    fake = types.SimpleNamespace(params=Params, run=run)
    sys.exit(worker.main(sys.stdin, sys.stdout, {"fake": fake}))
