"""One unit of a measurement: it has a name, and can be interrupted."""

from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from owi_core.events import Control, Event

NO_TRAINING = {"steps": 0, "batch_size": 1, "lr": 1e-3}  # what a part says that only measures
Measure = Callable[[Control], Generator[Event, None, Any]]


class Unit(NamedTuple):
    """What is measured in one go; `measure` yields events and returns plain numbers for JSON."""

    name: str
    measure: Measure


class Interrupted(Exception):  # noqa: N818  (it is no error)
    """Somebody wants the run to pause or to stop, or `event` has ended it."""

    def __init__(self, event: Event | None = None) -> None:
        self.event = event
        super().__init__()


def look_up(control: Control) -> None:
    """Raise Interrupted when the run shall not go on."""
    if control.request != "run":
        raise Interrupted


def quiet(work: Callable[[Control], Any]) -> Measure:
    """Return a measurement that reports nothing on its way."""

    def measure(control: Control) -> Generator[Event, None, Any]:
        look_up(control)
        return work(control)
        yield  # a generator all the same

    return measure
