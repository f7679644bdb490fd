"""The lines between a server and its worker: a job and requests in, events out.

    in    job       {"version": 1, "experiment", "params", "folder", "resume", "caps"}   once
          request   {"control": "pause" | "stop"}                            as often as wanted
    out   ready     {"event": "ready", "version": 1, "pid", "memory_mb"}      torch is imported
          events    as in `owi_core.events`; the last one says how the run ended

Each message is one line of JSON. The schema carries a version, because a worker may run on another
machine, where the code may be older.
"""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from owi_core.errors import RunError
from owi_core.events import Diverged, Failed, Finished, Paused, Stopped
from owi_core.jobs.memory import memory_mb

JOB_VERSION = 1
# In the folder of a run, beside its model.
EVENTS_FILE = "events.jsonl"
# Nothing follows an event of these kinds.
LAST_EVENTS = (Diverged, Failed, Finished, Paused, Stopped)


@dataclass(frozen=True)
class Caps:
    """Hard limits of one run; past either it is stopped and fails."""

    seconds: float = 600.0
    memory_mb: float = 1500.0


@dataclass(frozen=True)
class Job:
    """What a worker is asked to do."""

    experiment: str
    params: dict[str, Any]
    folder: str
    resume: bool = False
    caps: Caps = Caps()
    version: int = JOB_VERSION

    def to_json(self) -> str:
        """Return the job as one line, without its line end."""
        return json.dumps(asdict(self), ensure_ascii=True, allow_nan=False)


def read_job(line: str | bytes) -> Job:
    """Return the job that a line holds.

    Raises RunError("job_unreadable", reason) for any other line.
    """
    try:
        data = json.loads(line)
        caps = Caps(**data.pop("caps", {}))
        job = Job(**data, caps=caps)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise RunError("job_unreadable", reason="not JSON") from error
    for reason, wrong in _faults(job):
        if wrong:
            raise RunError("job_unreadable", reason=reason)
    return job


def read_request(line: bytes) -> Literal["pause", "stop"] | None:
    """Return what a line asks of the run; None for any other line."""
    with suppress(ValueError, AttributeError, RecursionError):
        request = json.loads(line).get("control")
        # Compared, not looked up in a set: the value may be a list, which has no hash.
        if request in ("pause", "stop"):
            return "pause" if request == "pause" else "stop"
    return None


def ready_line() -> str:
    """Return the line with which a worker reports that it can take a job."""
    return json.dumps(
        {"event": "ready", "version": 1, "pid": os.getpid(), "memory_mb": memory_mb()}
    )


def _faults(job: Job) -> Iterator[tuple[str, bool]]:
    """Yield each field's name with whether its value is wrong.

    JSON has one kind of number and Python counts True as 1, hence the tests for bool.
    """
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
    # NaN fails both comparisons, and infinity the second.
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e9
