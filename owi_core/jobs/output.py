"""Where a worker's events go: all of them into a file, the newest at a limited pace to the server.

A small model makes 500 steps a second. The page polls three times a second, so that sending every
event would only keep server and worker busy with parsing and writing JSON.
"""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from owi_core.events import Snapshot, StepDone
from owi_core.jobs.messages import EVENTS_FILE, LAST_EVENTS, Job

# Seconds between two events of a kind on the pipe. A snapshot is the largest event by far.
PACE: dict[type, float] = {Snapshot: 0.25, StepDone: 0.1}


class Pace:
    """Thins out the frequent events; the newest one held back is sent before the last event."""

    def __init__(self) -> None:
        self._sent_at: dict[type, float] = {}
        self._held: dict[type, str] = {}

    def due(self, kind: type, line: str, now: float) -> list[str]:
        """Return the lines to send now, in order, when an event of a kind arrives at `now`."""
        # Removed first, so that the new line comes last: the dict keeps the order of arrival.
        self._held.pop(kind, None)
        self._held[kind] = line
        is_end = kind in LAST_EVENTS
        due = [held for held in self._held if is_end or self._is_due(held, now)]
        for held in due:
            self._sent_at[held] = now
        return [self._held.pop(held) for held in due]

    def _is_due(self, kind: type, now: float) -> bool:
        return now - self._sent_at.get(kind, float("-inf")) >= PACE.get(kind, 0.0)


class Pipe:
    """Writes whole lines from any thread; ends the process when no one reads them any more."""

    def __init__(self, stream: TextIO) -> None:
        # The watchdog writes from its own thread: without the lock two lines could be mixed.
        self._stream, self._lock = stream, threading.Lock()

    def write(self, line: str) -> None:
        with self._lock:
            try:
                self._stream.write(line + "\n")
                self._stream.flush()
            except OSError:
                # The server is gone. Unwinding would only write to the same broken pipe again.
                os._exit(1)


class EventLog:
    """A file with every event of a run, beside its model; a page reads it as the run's history."""

    def __init__(self, job: Job) -> None:
        folder = Path(job.folder)
        folder.mkdir(parents=True, exist_ok=True)
        mode = "a" if job.resume else "w"
        # Buffered by line: the last event is in the file before the server hears that the run has
        # ended. backslashreplace: half a surrogate pair in a user's text becomes its JSON escape,
        # which is read back as it was typed.
        self._file = open(  # noqa: SIM115
            folder / EVENTS_FILE, mode, 1, encoding="utf-8", errors="backslashreplace"
        )

    def write(self, line: str) -> None:
        self._file.write(line + "\n")

    def __enter__(self) -> "EventLog":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def read_lines(fd: int) -> Iterator[bytes]:
    """Yield the lines that arrive at a file descriptor, until its end.

    Not from `sys.stdin`: a thread that waits inside its buffer holds a lock that Python wants at
    exit, and the interpreter aborts.
    """
    rest = b""
    while chunk := os.read(fd, 65536):
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole
