"""Two models trained in lock step, in one run and one stream of events: what a lesson compares.

The first of the two is the right one and is left in the run's folder; the other is left in a folder
of its name inside.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from owi_core import checkpoints
from owi_core.checkpoints import Bundle
from owi_core.errors import OwiError
from owi_core.events import Control, Diverged, Evaluated, Event, Finished, Started
from owi_core.experiments._kit.ending import early_end
from owi_core.experiments._kit.lock_step import load_trainers, lock_step, losses_of, save_trainers
from owi_core.experiments._kit.params import BaseParams, recipe
from owi_core.experiments._kit.results import BaseResult, Verdict
from owi_core.experiments._kit.session import remarks_on
from owi_core.training import Trainer

LOSS_EVERY = 4  # steps between two points of a loss curve
MEASURE_EVERY = 20  # steps between two live measurements; a multiple of LOSS_EVERY


class Side(NamedTuple):
    """One of the two models with its trainer."""

    name: str
    bundle: Bundle
    trainer: Trainer


Sides = tuple[Side, Side]


R = TypeVar("R", bound=BaseResult)


@dataclass(frozen=True)
class Pair(Generic[R]):
    """A paired run before its first step, and how it is measured: while it trains, and at its end.

    measure_live gives metrics by `NAME.metric`; measure gives the result.
    """

    sides: Sides
    measure_live: Callable[[], dict[str, float]]
    measure: Callable[[], R]
    verdict: Callable[[R], Verdict]
    remarks: tuple[OwiError, ...] = ()


def run_pair(
    name: str,
    params: BaseParams,
    pair: Pair[R],
    folder: Path | None,
    control: Control | None,
    resume: bool,
) -> Iterator[Event]:
    """Yield the events of a whole paired run, or of the rest of a paused one.

    Both models are left in `folder`.  Ends with Finished, or early with Diverged, Paused or
    Stopped; an early end is the end of both.
    """
    sides = pair.sides
    first = sides[0]
    if resume and folder is not None:
        load_trainers(_trainers(sides), folder)
    steps, n_params = first.trainer.config.steps, first.bundle.model.n_params
    remarks = remarks_on(first.trainer, pair.remarks)
    uniform = math.log(first.bundle.model.config.vocab_size)
    yield Started(name, asdict(params), recipe(name, params), steps, n_params, remarks, uniform)
    if first.trainer.step == 0:
        yield Evaluated(0, pair.measure_live())
    yield from _train(pair, folder, control or Control())
    if not all(side.trainer.finished for side in sides):
        return
    # The last point of the curves comes before the result is measured: `measure` may change the
    # models (tying redraws rows that no sentence trained), and a curve shows training alone.
    yield Evaluated(steps, _recent_losses(sides) | pair.measure_live())
    result = pair.measure()
    if folder is not None:
        save_both(sides, folder)
    verdict = pair.verdict(result).to_dict()
    yield Finished(name, asdict(params), result.to_dict(), verdict)


def final_loss(side: Side) -> float:
    """Return a model's mean training loss at its end, in nats, after one step at least."""
    loss = side.trainer.recent_loss_nats()
    assert loss is not None
    return loss


def save_both(sides: Sides, folder: Path) -> None:
    """Leave the first model in `folder` and the other one in a folder of its name inside."""
    first, other = sides
    # The right model takes the place where every page looks for the model of a run.
    checkpoints.save(first.bundle, folder)
    checkpoints.save(other.bundle, folder / other.name)


def _train(pair: Pair[R], folder: Path | None, control: Control) -> Iterator[Event]:
    """Yield the events of all steps, between them both losses and, less often, live metrics."""
    sides = pair.sides
    for event in lock_step([side.trainer for side in sides], control):
        yield event
        if isinstance(event, Diverged):
            return
        if event.step % LOSS_EVERY == 0 and event.step < event.steps:
            # Losses are cheap; live metrics run both models on held-out data.
            measured = pair.measure_live() if event.step % MEASURE_EVERY == 0 else {}
            yield Evaluated(event.step, _recent_losses(sides) | measured)
    if not all(side.trainer.finished for side in sides):
        yield early_end(
            sides[0].trainer.step,
            folder,
            control,
            save_state=lambda place: save_trainers(_trainers(sides), place),
            save_models=lambda place: save_both(sides, place),
        )


def _recent_losses(sides: Sides) -> dict[str, float]:
    """Return both mean training losses of the last few steps, by name of model and metric."""
    return losses_of(_trainers(sides), LOSS_EVERY)


def _trainers(sides: Sides) -> dict[str, Trainer]:
    return {side.name: side.trainer for side in sides}
