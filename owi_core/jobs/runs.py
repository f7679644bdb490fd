"""A session's hold on a training: what a page asks of it and reads from it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

from owi_core.events import Evaluated, Event
from owi_core.jobs import tasks
from owi_core.jobs.tasks import ENDED, UNDER_WAY, State, Task

E = TypeVar("E", bound=Event)


class Manager(Protocol):
    """What a run asks of the manager that made it."""

    def pause(self, task: Task) -> bool: ...

    def resume(self, task: Task) -> bool: ...

    def stop(self, task: Task, session: str) -> bool: ...

    def runs(self, session: str) -> list["Run"]: ...

    def queue_position(self, task: Task) -> int: ...

    def wait(self, condition: Callable[[], bool], seconds: float) -> bool: ...


class Run:
    """A session's hold on a training, its own or one that others watch as well."""

    def __init__(self, manager: Manager, task: Task, session: str, shared: bool) -> None:
        self._manager, self._task, self._left = manager, task, False
        self.session = session
        self.shared = shared

    @property
    def id(self) -> int:
        return self._task.number

    @property
    def experiment(self) -> str:
        return self._task.experiment

    @property
    def params(self) -> Mapping[str, Any]:
        return self._task.params

    @property
    def folder(self) -> Path:
        return self._task.folder

    @property
    def private(self) -> bool:
        return self._task.private

    @property
    def state(self) -> State:
        """Where it stands, for this session: a shared run that was left counts as stopped."""
        return "stopped" if self._left else self._task.state

    @property
    def under_way(self) -> bool:
        return self.state in UNDER_WAY

    @property
    def code(self) -> str:
        """Why it failed or was lost; empty otherwise."""
        return self._task.code

    @property
    def values(self) -> Mapping[str, Any]:
        return self._task.values

    @property
    def skipped(self) -> int:
        """Lines from the worker that were no events."""
        return self._task.skipped

    @property
    def others(self) -> int:
        """How many other sessions watch this very run."""
        return len(self._task.watchers - {self.session})

    @property
    def held(self) -> bool:
        """Whether its session still has it."""
        return self in self._manager.runs(self.session)

    @property
    def queue_position(self) -> int:
        """1 for the next in turn, 0 when it is not waiting."""
        return self._manager.queue_position(self._task)

    @property
    def has_model(self) -> bool:
        return (self.folder / "model.safetensors").is_file()

    @property
    def losses(self) -> list[tuple[int, float | None]]:
        """(step, loss in nats), as many as were sent."""
        return list(self._task.losses)

    @property
    def evaluated(self) -> list[Evaluated]:
        """The measurements, in order."""
        return list(self._task.evaluated)

    def latest(self, kind: type[E]) -> E | None:
        """The newest event of a kind."""
        event = self._task.latest.get(kind)
        return event if isinstance(event, kind) else None

    def events(self, since: int = 0) -> list[Event]:
        """What was reported, from the event with that number on."""
        return tasks.read_events(self._task.lines[since:])

    def history(self) -> list[Event]:
        """All events, also those too frequent to be sent while it ran; reads a file."""
        return tasks.history(self._task)

    def pause(self) -> bool:
        """Save and free the slot; False when others watch it or it is not under way."""
        return self._manager.pause(self._task)

    def resume(self) -> bool:
        """Queue a paused run again."""
        return self._manager.resume(self._task)

    def stop(self) -> None:
        """End it; while others watch it, only leave it."""
        self._left = self._manager.stop(self._task, self.session)

    def onlooker(self) -> "Onlooker":
        """Return the same run for somebody who only looks on."""
        return Onlooker(self._manager, self._task, "", shared=False)

    def wait(self, *states: State, seconds: float = 10.0) -> State:
        """Block until it is in one of the states (any that has ended, when none is named)."""
        wanted = set(states) or ENDED
        self._manager.wait(lambda: self.state in wanted, seconds)
        return self.state


class Onlooker(Run):
    """A run seen by somebody without a say in it, who does not count among those who watch it."""

    @property
    def others(self) -> int:
        return 0

    def pause(self) -> bool:
        return False

    def resume(self) -> bool:
        return False

    def stop(self) -> None:
        pass
