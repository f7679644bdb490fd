"""One training as the server knows it: its state, what it has reported, where its files are."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from owi_core.errors import RunError
from owi_core.events import (
    Diverged,
    Evaluated,
    Event,
    Failed,
    Finished,
    Paused,
    StepDone,
    Stopped,
    from_json,
)
from owi_core.jobs.messages import EVENTS_FILE, Caps, Job

State = Literal[
    "queued", "running", "pausing", "paused", "stopping",
    "finished", "stopped", "diverged", "failed", "lost",
]  # fmt: skip

HAS_WORKER = frozenset({"running", "pausing", "stopping"})
UNDER_WAY = HAS_WORKER | {"queued"}
ENDED = frozenset({"finished", "stopped", "diverged", "failed", "lost"})
# The same recipe gives the same numbers, so these need not be made twice.
SHAREABLE = frozenset({"queued", "running", "finished", "diverged"})

_STATE_AFTER: dict[type[Event], State] = {
    Diverged: "diverged",
    Failed: "failed",
    Finished: "finished",
    Paused: "paused",
    Stopped: "stopped",
}
# What makes two trainings the same: their recipe, and the session that owns it ("": shared by all).
Key = tuple[str, str]
_ids = itertools.count(1)


@dataclass(eq=False)
class Task:
    """One training; several sessions may watch it. Guarded by its manager's lock."""

    experiment: str
    params: dict[str, Any]
    key: Key
    folder: Path
    watchers: set[str]
    state: State = "queued"
    begun: bool = False
    resume: bool = False
    code: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    skipped: int = 0
    losses: list[tuple[int, float | None]] = field(default_factory=list)
    evaluated: list[Evaluated] = field(default_factory=list)
    latest: dict[type[Event], Event] = field(default_factory=dict)
    used: int = 0
    number: int = field(default_factory=lambda: next(_ids))

    def job(self, caps: Caps) -> Job:
        """Return the job that a worker is sent for it."""
        return Job(self.experiment, self.params, str(self.folder), self.resume, caps)

    @property
    def owner(self) -> str:
        """The session that alone may see a private task; empty for a shared one."""
        return self.key[1]

    @property
    def private(self) -> bool:
        return bool(self.owner)

    def report(self, line: str, event: Event | None) -> bool:
        """Note a line of the worker, with the event in it; return whether it was the last one."""
        if event is None:
            self.skipped += 1
            return False
        # After a stop or a breach of its limits the run has ended; later events change nothing.
        return self.state in HAS_WORKER and self._take(line, event)

    def _take(self, line: str, event: Event) -> bool:
        self.begun = True
        self.lines.append(line)
        self.latest[type(event)] = event
        if isinstance(event, StepDone):
            self.losses.append((event.step, event.loss_nats))
        if isinstance(event, Evaluated):
            self.evaluated.append(event)
        state = _STATE_AFTER.get(type(event))
        if state is None:
            return False
        self.state = state
        self.resume = state == "paused"
        if isinstance(event, Failed):
            self.code, self.values = event.code, event.values
        return True

    def fail(self, state: State, code: str, **values: Any) -> None:
        """End it for a reason that its worker could not report."""
        self.state, self.code, self.values = state, code, values

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())


def read_events(lines: Iterator[str] | list[str]) -> list[Event]:
    """Return the events in the lines; a line that is not an event is left out."""
    events = []
    for line in lines:
        try:
            events.append(from_json(line))
        except RunError:
            continue
    return events


def history(task: Task) -> list[Event]:
    """Return all events of a run, also the steps and snapshots that were too frequent to send."""
    try:
        with open(task.folder / EVENTS_FILE, encoding="utf-8") as file:
            events = read_events(file)
    except OSError:
        events = []
    return events or read_events(task.lines)
