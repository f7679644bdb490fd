"""A session's hold on a training: what a page reads of it and may ask for."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from owi_core.events import Evaluated, Event
from owi_core.jobs import tasks
from owi_core.jobs.tasks import ENDED, UNDER_WAY, State, Task

E = TypeVar("E", bound=Event)


class Manager(Protocol):
    """The part of the manager that a run needs."""

    def pause(self, task: Task) -> bool: ...

    def resume(self, task: Task) -> bool: ...

    def stop(self, task: Task, session: str) -> bool: ...

    def runs(self, session: str) -> list["Run"]: ...

    def others(self, task: Task, session: str) -> int: ...

    def queue_position(self, task: Task) -> int: ...

    def wait(self, condition: Callable[[], bool], seconds: float) -> bool: ...


class Run:
    """A session's hold on a training, its own or one that others watch as well.

    What never changes is copied from the task. What changes is read from it each time, without the
    manager's lock: each value is replaced or appended to as a whole, so that a page may see one of
    a moment ago, but never half of one.
    """

    def __init__(self, manager: Manager, task: Task, session: str, shared: bool) -> None:
        self._manager = manager
        self._left = False
        self.task = task
        self.session = session
        self.shared = shared  # joined rather than started by this session
        self.id = task.number
        self.experiment = task.experiment
        self.params: Mapping[str, Any] = task.params
        self.folder = task.folder
        self.private = task.private

    @property
    def state(self) -> State:
        """The state for this session: a shared run that it has left counts as stopped."""
        return "stopped" if self._left else self.task.state

    @property
    def under_way(self) -> bool:
        return self.state in UNDER_WAY

    @property
    def code(self) -> str:
        """Why it failed or was lost; empty otherwise."""
        return self.task.code

    @property
    def values(self) -> Mapping[str, Any]:
        """The values that belong to `code`."""
        return self.task.values

    @property
    def others(self) -> int:
        """How many other sessions watch the same task."""
        return self._manager.others(self.task, self.session)

    @property
    def held(self) -> bool:
        """Whether its session still has it."""
        return self in self._manager.runs(self.session)

    @property
    def queue_position(self) -> int:
        """1 for the next task, 0 for one that does not wait."""
        return self._manager.queue_position(self.task)

    @property
    def has_model(self) -> bool:
        return (self.folder / "model.safetensors").is_file()

    @property
    def losses(self) -> list[tuple[int, float | None]]:
        """(step, loss in nats), as many as were sent."""
        return list(self.task.losses)

    @property
    def evaluated(self) -> list[Evaluated]:
        """The measurements, in order."""
        return list(self.task.evaluated)

    def latest(self, kind: type[E]) -> E | None:
        """Return the newest event of a kind."""
        event = self.task.latest.get(kind)
        return event if isinstance(event, kind) else None

    def events(self, since: int = 0) -> list[Event]:
        """Return the events that were sent, from the one with that number on."""
        return tasks.read_events(self.task.lines[since:])

    def history(self) -> list[Event]:
        """Return all events, also those too frequent to be sent; reads a file."""
        return tasks.history(self.task)

    def pause(self) -> bool:
        """Save and free the slot; False when others watch it or it is not under way."""
        return self._manager.pause(self.task)

    def resume(self) -> bool:
        """Queue a paused run again."""
        return self._manager.resume(self.task)

    def stop(self) -> None:
        """End it; while others watch it, only leave it."""
        self._left = self._manager.stop(self.task, self.session)

    def onlooker(self) -> "Onlooker":
        """Return the same run for a viewer who can change nothing."""
        return Onlooker(self._manager, self.task, "", shared=False)

    def wait(self, *states: State, seconds: float = 10.0) -> State:
        """Block until it is in one of the states (any that has ended, when none is given)."""
        wanted = set(states) or ENDED
        self._manager.wait(lambda: self.state in wanted, seconds)
        return self.state


class Onlooker(Run):
    """A run seen by a viewer who can change nothing and does not count among those who watch."""

    @property
    def others(self) -> int:
        return 0

    def pause(self) -> bool:
        return False

    def resume(self) -> bool:
        return False

    def stop(self) -> None:
        pass
