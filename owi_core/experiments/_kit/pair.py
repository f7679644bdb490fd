"""Two models trained in lock step, in one run and one stream of events: what a lesson compares.

The first of the two is the right one and is left in the run's folder; the other is left in a folder
of its name inside.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from owi_core import checkpoints
from owi_core.checkpoints import Bundle
from owi_core.events import Control, Diverged, Evaluated, Event, Paused, Stopped
from owi_core.experiments._kit.lock_step import load_trainers, lock_step, losses_of, save_trainers
from owi_core.training import Trainer

LOSS_EVERY = 4  # steps between two points of a curve


class Side(NamedTuple):
    """One of the two models, and where its trainer stands."""

    name: str
    bundle: Bundle
    trainer: Trainer


Sides = tuple[Side, Side]


def train_both(
    sides: Sides,
    folder: Path | None,
    control: Control,
    measure: Callable[[], dict[str, float]],
    measure_every: int,
) -> Iterator[Event]:
    """Let both take each step together; an early end is the end of both.

    Between steps, Evaluated holds both training losses (`NAME.train_loss_nats`), and every
    `measure_every` steps what `measure` returns. Ends early with Diverged, Paused or Stopped; the
    last two leave models and state in `folder`.
    """
    for event in lock_step([side.trainer for side in sides], control):
        yield event
        if isinstance(event, Diverged):
            return
        if event.step % LOSS_EVERY == 0 and event.step < event.steps:
            measured = measure() if event.step % measure_every == 0 else {}
            yield Evaluated(event.step, recent_losses(sides) | measured)
    if not all(side.trainer.finished for side in sides):
        yield _early_end(sides, folder, control)


def recent_losses(sides: Sides) -> dict[str, float]:
    """Return both mean training losses of the last few steps, by name of model and metric."""
    return losses_of(_trainers(sides), LOSS_EVERY)


def load_states(sides: Sides, folder: Path) -> None:
    """Go on where a paused run of both stands; RunError when the folder holds no such state."""
    load_trainers(_trainers(sides), folder)


def save_both(sides: Sides, folder: Path) -> None:
    """Leave the first model in `folder` and the other one in a folder of its name inside."""
    first, other = sides
    checkpoints.save(first.bundle, folder)
    checkpoints.save(other.bundle, folder / other.name)


def _early_end(sides: Sides, folder: Path | None, control: Control) -> Paused | Stopped:
    step = sides[0].trainer.step
    if folder is not None:
        save_both(sides, folder)
    if control.request != "pause":
        return Stopped(step)
    if folder is not None:
        save_trainers(_trainers(sides), folder)
    return Paused(step)


def _trainers(sides: Sides) -> dict[str, Trainer]:
    return {side.name: side.trainer for side in sides}
