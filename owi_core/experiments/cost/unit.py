"""One unit of a measurement: it has a name, and can be interrupted."""

from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from owi_core.events import Control, Event
from owi_core.experiments._kit.results import BaseResult

NO_TRAINING = {"steps": 0, "batch_size": 1, "lr": 1e-3}  # what a part says that only measures
Measure = Callable[[Control], Generator[Event, None, Any]]


class Result(BaseResult):
    """The result of any part; each part declares its own in a subclass."""


class Unit(NamedTuple):
    """What is measured in one go.

    `measure` yields events and returns plain numbers: a paused run keeps the units that are done
    as JSON, and `result` of the part makes typed objects of all of them at the end.
    """

    name: str
    measure: Measure


class Interrupted(Exception):  # noqa: N818  (not an error)
    """The run was asked to pause or stop, or `event` has ended it."""

    def __init__(self, event: Event | None = None) -> None:
        self.event = event
        super().__init__()


def look_up(control: Control) -> None:
    """Raise Interrupted when the run is asked to pause or stop."""
    if control.request != "run":
        raise Interrupted


def quiet(work: Callable[[Control], Any]) -> Measure:
    """Return a measurement that yields no events."""

    def measure(control: Control) -> Generator[Event, None, Any]:
        look_up(control)
        return work(control)
        # Never reached; the statement alone makes this function a generator.
        yield  # a generator all the same

    return measure
