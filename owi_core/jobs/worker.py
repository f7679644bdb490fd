"""The child process that trains: it takes one job, writes its events and ends.

    main thread   read the job, run the experiment, write each event
    listen        read the server's requests                          (watchdog.py)
    watch         compare time and memory with the caps               (watchdog.py)

A process and not a thread of the server, because torch and Python's lock would slow down the pages
of all other users. One job per process, because memory that torch has taken is not given back.
`messages` has the lines that go in and out.
"""

import errno
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Any, NoReturn, Protocol, TextIO

from owi_core import process
from owi_core.errors import OwiError, RunError
from owi_core.events import Control, Event, Failed, to_json
from owi_core.jobs.messages import LAST_EVENTS, Job, read_job, ready_line
from owi_core.jobs.output import EventLog, Pace, Pipe, read_lines
from owi_core.jobs.watchdog import Watchdog, listen

# No space left, or more than this process or this user may write.
FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
# How far the priority is lowered, where the command does not say otherwise.
NICE = 10


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
    """Get warm, report it, do one job and end the process; return only when there was no job."""
    # The pipe is for events alone: what a library prints goes to stderr, with the tracebacks.
    with redirect_stdout(sys.stderr):
        process.prepare_worker(nice)
        known = _shipped_experiments() if experiments is None else experiments
        pipe = Pipe(stdout)
        pipe.write(ready_line())
        lines = read_lines(stdin.fileno())
        line = next(lines, None)
        if line is None:  # the server ended before it had a job
            return 0
        try:
            job = read_job(line)
        except RunError as error:
            pipe.write(to_json(Failed(error.code, error.values)))
            return 2
        _work(job, known, lines, pipe)
        return _leave()


def _work(
    job: Job, experiments: Mapping[str, Runnable], lines: Iterator[bytes], pipe: Pipe
) -> None:
    """Write a run's events, while two threads watch the server and the caps."""
    control = Control()
    watchdog = Watchdog(job.caps, control, pipe)
    # Daemons: they never end by themselves, and must not keep the process alive.
    threading.Thread(target=listen, args=(lines, control), daemon=True).start()
    threading.Thread(target=watchdog.watch, daemon=True).start()
    try:
        _write(_events(job, experiments, control), job, watchdog, pipe)
    except OSError as error:  # of the events file: `_events` turns all others into an event
        pipe.write(to_json(_unexpected(error)))


def _write(events: Iterator[Event], job: Job, watchdog: Watchdog, pipe: Pipe) -> None:
    """Write each event to the log, and those that are due to the pipe, up to the last event."""
    pace = Pace()
    with EventLog(job) as log:
        for event in events:
            judged = watchdog.verdict(event)
            line = to_json(judged)
            log.write(line)
            for due in pace.due(type(judged), line, time.monotonic()):
                pipe.write(due)
            if isinstance(judged, LAST_EVENTS):
                break


def _leave() -> NoReturn:
    """End the process at once: at low priority, unloading torch can take over a second.

    Until then the slot would be taken. All files are closed and the pipe is flushed by now.
    """
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(0)


def _events(job: Job, experiments: Mapping[str, Runnable], control: Control) -> Iterator[Event]:
    """Yield the run's events; an exception becomes the last of them."""
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
        yield _unexpected(error)


def _unexpected(error: Exception) -> Failed:
    """Return the event for a failure without a code of ours; the server's log has the traceback."""
    with suppress(OSError):  # the log may be on the same full disk
        traceback.print_exception(error, file=sys.stderr)
    full = isinstance(error, OSError) and error.errno in FULL
    return Failed("disk_full" if full else "worker_crashed", {})


def _params(experiment: Runnable, values: dict[str, Any]) -> Any:
    try:
        return experiment.params(**values)
    except TypeError as error:
        raise RunError("job_unreadable", reason="params") from error


def _shipped_experiments() -> Mapping[str, Runnable]:
    # What nearly every experiment needs is imported while the worker waits for its job.
    import owi_core.experiments._kit.session  # noqa: F401
    from owi_core.experiments import EXPERIMENTS

    return EXPERIMENTS
