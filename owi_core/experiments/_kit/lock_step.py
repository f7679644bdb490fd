"""Several trainers that take each step together: how models are trained that are compared."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from owi_core.events import Control, Diverged, StepDone
from owi_core.training import Trainer


def lock_step(trainers: Sequence[Trainer], control: Control) -> Iterator[StepDone | Diverged]:
    """Yield one event a step for all, until all have finished or the run is asked to pause or stop.

    A step's loss is the mean over the models; its time is the sum.  When one diverges, that is the
    last event.
    """
    # Without a control of their own: a trainer that saw a request by itself would stop a step
    # earlier or later than the others.
    runs = [trainer.steps() for trainer in trainers]
    while not all(trainer.finished for trainer in trainers) and control.request == "run":
        # Control is looked at once for all, or one of them could be a step ahead.
        done: list[StepDone] = []
        for run in runs:
            event = next(run)
            if isinstance(event, Diverged):
                yield event
                return
            assert isinstance(event, StepDone)
            done.append(event)
        yield _together(done)


def losses_of(trainers: dict[str, Trainer], last: int) -> dict[str, float]:
    """Return each model's mean loss over its last few steps, as `NAME.train_loss_nats`."""
    recent = {name: trainer.recent_loss_nats(last) for name, trainer in trainers.items()}
    return {f"{name}.train_loss_nats": loss for name, loss in recent.items() if loss is not None}


def save_trainers(trainers: dict[str, Trainer], folder: Path) -> None:
    """Save the state of each trainer in a folder `state_NAME`."""
    for name, trainer in trainers.items():
        place = folder / f"state_{name}"
        place.mkdir(parents=True, exist_ok=True)
        trainer.save_state(place)


def load_trainers(trainers: dict[str, Trainer], folder: Path) -> None:
    """Restore what `save_trainers` saved; RunError when the folder has no such state."""
    for name, trainer in trainers.items():
        trainer.load_state(folder / f"state_{name}")


def _together(done: Sequence[StepDone]) -> StepDone:
    return replace(
        done[0],
        # fsum: the mean must not depend on the order of the models.
        loss_nats=math.fsum(event.loss_nats for event in done) / len(done),
        # The models take turns on one thread, so times add up and the speeds combine harmonically.
        tokens_per_second=len(done) / sum(1 / event.tokens_per_second for event in done),
        seconds=sum(event.seconds for event in done),
        seconds_left=sum(event.seconds_left for event in done),
    )
