"""The child process that trains: one job comes in as a JSON line, events go out as JSON lines.

    in    job       {"version": 1, "experiment", "params", "folder", "resume", "caps"}   once
          control   {"control": "pause" | "stop"}                            as often as wanted
    out   ready     {"event": "ready", "version": 1, "pid", "memory_mb"}      torch is imported
          events    as in `owi_core.events`; the last one says how the run ended

The end of stdin ends the worker, so a server that is killed leaves no orphan.
"""

import errno
import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout, suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NoReturn, Protocol, TextIO

from owi_core.errors import OwiError, RunError
from owi_core.events import (
    Control,
    Diverged,
    Event,
    Failed,
    Finished,
    Paused,
    Snapshot,
    StepDone,
    Stopped,
    to_json,
)

JOB_VERSION = 1
EVENTS_FILE = "events.jsonl"
# No space left, or more than this process or this user may write.
FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
LAST_EVENTS = (Diverged, Failed, Finished, Paused, Stopped)

# Seconds between two events of a kind on the pipe; the events file gets every one.
PACE: dict[type, float] = {Snapshot: 0.25, StepDone: 0.1}
# A run looks at its control each step, so one that goes on longer than this is stuck.
STOP_GRACE_SECONDS = 2.0
# How far a run steps back behind the pages; 0 where nobody else is to be spared.
NICE = 10


@dataclass(frozen=True)
class Caps:
    """Hard limits of one run; past either it is stopped and fails."""

    seconds: float = 600.0
    memory_mb: float = 1500.0


@dataclass(frozen=True)
class Job:
    """What a worker is asked to do, as it goes over the pipe."""

    experiment: str
    params: dict[str, Any]
    folder: str
    resume: bool = False
    caps: Caps = Caps()
    version: int = JOB_VERSION

    def to_json(self) -> str:
        """The job as one line, without its line end."""
        return json.dumps(asdict(self), ensure_ascii=True, allow_nan=False)


def read_job(line: str | bytes) -> Job:
    """The job that a line holds.

    Raises RunError("job_unreadable", reason) for anything else, however odd.
    """
    try:
        data = json.loads(line)
        caps = Caps(**data.pop("caps", {}))
        job = Job(**data, caps=caps)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise RunError("job_unreadable", reason=type(error).__name__) from error
    for reason, wrong in _faults(job):
        if wrong:
            raise RunError("job_unreadable", reason=reason)
    return job


def _faults(job: Job) -> Iterator[tuple[str, bool]]:
    yield "version", job.version is True or job.version != JOB_VERSION
    yield "experiment", not isinstance(job.experiment, str)
    yield "params", not isinstance(job.params, dict)
    yield "folder", not _is_path(job.folder)
    yield "resume", not isinstance(job.resume, bool)
    for field in fields(job.caps):
        yield field.name, not _is_positive(getattr(job.caps, field.name))


def _is_path(value: object) -> bool:
    return isinstance(value, str) and os.path.isabs(value) and "\0" not in value


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e9


class Runnable(Protocol):
    """The part of an experiment that a worker needs."""

    @property
    def params(self) -> Callable[..., Any]: ...

    @property
    def run(self) -> Callable[..., Iterator[Event]]: ...


def main(
    stdin: TextIO,
    stdout: TextIO,
    experiments: Mapping[str, Runnable] | None = None,
    nice: int = NICE,
) -> int:
    """Warm up, say so, do one job and end the process; return early only when there was none."""
    # The pipe is for events alone: what a library prints goes where tracebacks go.
    with redirect_stdout(sys.stderr):
        _lower_priority(nice)
        known = _shipped_experiments() if experiments is None else experiments
        pipe = _Pipe(stdout)
        ready = {"event": "ready", "version": 1, "pid": os.getpid(), "memory_mb": memory_mb()}
        pipe.write(json.dumps(ready))
        lines = _lines(stdin.fileno())
        line = next(lines, None)
        if line is None:
            return 0
        try:
            job = read_job(line)
        except RunError as error:
            pipe.write(to_json(Failed(error.code, error.values)))
            return 2
        _work(job, known, lines, pipe)
        return _leave()


def _work(
    job: Job, experiments: Mapping[str, Runnable], lines: Iterator[bytes], pipe: "_Pipe"
) -> None:
    """Pass a run's events on, at their pace, while two threads watch the parent and the caps."""
    control = Control()
    watch = _Watch(job.caps, control, pipe)
    for target, args in ((_listen, (lines, control)), (watch.look, ())):
        threading.Thread(target=target, args=args, daemon=True).start()
    try:
        _pass_on(_events(job, experiments, control), job, watch, pipe)
    except OSError as error:  # of the events file
        pipe.write(to_json(_mishap(error)))


def _pass_on(events: Iterator[Event], job: Job, watch: "_Watch", pipe: "_Pipe") -> None:
    pace = _Pace()
    with _Log(job) as log:
        for event in events:
            told = watch.verdict(event)
            line = to_json(told)
            log.write(line)
            for due in pace.due(type(told), line, time.monotonic()):
                pipe.write(due)
            if isinstance(told, LAST_EVENTS):
                break


def _leave() -> NoReturn:
    """End the process at once: at low priority, tidying torch away can take over a second."""
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(0)


def _events(job: Job, experiments: Mapping[str, Runnable], control: Control) -> Iterator[Event]:
    """The run's events; whatever it raises becomes the last of them."""
    try:
        if job.experiment not in experiments:
            known = ", ".join(experiments)
            raise RunError("experiment_unknown", name=job.experiment, known=known)
        experiment = experiments[job.experiment]
        params = _params(experiment, job.params)
        yield from experiment.run(params, Path(job.folder), control, job.resume)
    except OwiError as error:
        yield Failed(error.code, error.values)
    except Exception as error:
        yield _mishap(error)


def _mishap(error: Exception) -> Failed:
    """Return what to tell of a failure that nobody foresaw; the log has the rest."""
    with suppress(OSError):  # the log may lie on the same full disk
        traceback.print_exception(error, file=sys.stderr)
    full = isinstance(error, OSError) and error.errno in FULL
    return Failed("disk_full" if full else "worker_crashed", {})


def _params(experiment: Runnable, values: dict[str, Any]) -> Any:
    try:
        return experiment.params(**values)
    except TypeError as error:
        raise RunError("job_unreadable", reason="params") from error


def _listen(lines: Iterator[bytes], control: Control) -> None:
    """Hand the parent's wishes on; when the parent is gone, stop, or else drop dead."""
    for line in lines:
        wish = _wish(line)
        if wish and control.request != "stop":
            control.request = wish
    control.request = "stop"
    time.sleep(STOP_GRACE_SECONDS)
    os._exit(1)


def _wish(line: bytes) -> Any:
    with suppress(ValueError, AttributeError, RecursionError):
        wish = json.loads(line).get("control")
        return wish if wish in ("pause", "stop") else None
    return None


class _Watch:
    """Stops a run that takes longer or more memory than its caps allow."""

    def __init__(self, caps: Caps, control: Control, pipe: "_Pipe") -> None:
        self._caps, self._control, self._pipe = caps, control, pipe
        self._began = time.monotonic()
        self._failed: Failed | None = None

    def look(self) -> None:
        while self._failed is None:
            time.sleep(0.2)
            self._failed = self._breach()
        self._control.request = "stop"
        time.sleep(STOP_GRACE_SECONDS)
        self._pipe.write(to_json(self._failed))
        os._exit(1)

    def verdict(self, event: Event) -> Event:
        """The event, or the broken cap where the run only says that it was stopped."""
        if self._failed is not None and isinstance(event, LAST_EVENTS):
            return self._failed
        return event

    def _breach(self) -> Failed | None:
        if time.monotonic() - self._began > self._caps.seconds:
            return Failed("run_too_long", {"limit": self._caps.seconds})
        used = memory_mb()
        if used > self._caps.memory_mb:
            return Failed("run_too_large", {"used": round(used), "limit": self._caps.memory_mb})
        return None


class _Pace:
    """Thins out the frequent events; the newest one held back is told before the end."""

    def __init__(self) -> None:
        self._told: dict[type, float] = {}
        self._held: dict[type, str] = {}

    def due(self, kind: type, line: str, now: float) -> list[str]:
        """The lines to send now, in order, when an event of a kind arrives at `now` seconds."""
        self._held.pop(kind, None)
        self._held[kind] = line
        is_end = kind in LAST_EVENTS
        ripe = [held for held in self._held if is_end or self._is_ripe(held, now)]
        for held in ripe:
            self._told[held] = now
        return [self._held.pop(held) for held in ripe]

    def _is_ripe(self, kind: type, now: float) -> bool:
        return now - self._told.get(kind, float("-inf")) >= PACE.get(kind, 0.0)


class _Pipe:
    """Whole lines from any thread; a reader that has gone ends the worker."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._lock = stream, threading.Lock()

    def write(self, line: str) -> None:
        with self._lock:
            try:
                self._stream.write(line + "\n")
                self._stream.flush()
            except (BrokenPipeError, OSError):
                os._exit(1)


class _Log:
    """Every event of a run, beside its model, for whoever looks back through its time."""

    def __init__(self, job: Job) -> None:
        folder = Path(job.folder)
        folder.mkdir(parents=True, exist_ok=True)
        mode = "a" if job.resume else "w"
        # Line by line: the last one lies here before anybody is told that the run has ended.
        # Half a surrogate pair in a user's text becomes its JSON escape, which reads back as typed.
        self._file = open(  # noqa: SIM115
            folder / EVENTS_FILE, mode, 1, encoding="utf-8", errors="backslashreplace"
        )

    def write(self, line: str) -> None:
        self._file.write(line + "\n")

    def __enter__(self) -> "_Log":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _lines(fd: int) -> Iterator[bytes]:
    """Lines from a descriptor.

    Not through `sys.stdin`: a thread that waits inside its buffer makes Python abort at exit.
    """
    rest = b""
    while chunk := os.read(fd, 65536):
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole


def memory_mb(pid: int | None = None) -> float:
    """Resident memory of this process now (where only the peak is known, the peak).

    pid: another process instead; 0 where it is gone or the system does not tell.
    """
    with suppress(OSError, ValueError, AttributeError):
        pages = int(Path(f"/proc/{pid or 'self'}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
    if pid is not None:
        return 0.0
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def _lower_priority(nice: int) -> None:
    """Run on one thread at low priority, so that a run does not slow down the pages of others."""
    if hasattr(os, "nice"):
        with suppress(OSError):
            os.nice(nice)
    import torch

    torch.set_num_threads(1)


def _shipped_experiments() -> Mapping[str, Runnable]:
    # What nearly every experiment needs is imported while the worker waits for its job.
    import owi_core.experiments._kit.session  # noqa: F401
    from owi_core.experiments import EXPERIMENTS

    return EXPERIMENTS
