"""Several models trained in lock step on the same batches, side by side."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from owi_core.events import Control, Diverged, Evaluated, Event, StepDone
from owi_core.experiments._kit.ending import early_end
from owi_core.experiments._kit.lock_step import load_trainers, lock_step, losses_of, save_trainers
from owi_core.training import Trainer


@dataclass(frozen=True)
class Race:
    """Models by kind, each with its trainer; `live` measures them while they train."""

    name: str
    trainers: dict[str, Trainer]
    live: Callable[[], dict[str, float]]
    live_every: int
    loss_every: int = 5

    @property
    def steps(self) -> int:
        return next(iter(self.trainers.values())).config.steps

    @property
    def finished(self) -> bool:
        return all(trainer.finished for trainer in self.trainers.values())


def run_races(races: Sequence[Race], folder: Path | None, control: Control) -> Iterator[Event]:
    """Yield the events of all races, one after another, with steps counted through.

    Ends early with Diverged, Paused or Stopped; paused, the state of all is left in `folder`.
    """
    total, before = sum(race.steps for race in races), 0
    for race in races:
        for event in _lock_step(race, control):
            yield _counted(event, before, total)
            if isinstance(event, Diverged):
                return
        if not race.finished:
            step = before + _place(race)
            yield early_end(step, folder, control, save_state=lambda place: _save(races, place))
            return
        before += race.steps


def load_races(races: Sequence[Race], folder: Path) -> None:
    """Go on where `run_races` was paused."""
    for race in races:
        load_trainers(_named(race), folder)


def _lock_step(race: Race, control: Control) -> Iterator[Event]:
    """Let all models take each step together, and measure them now and then."""
    # A resumed race has reported its start already.
    if _place(race) == 0:
        yield Evaluated(0, race.live())
    for event in lock_step(list(race.trainers.values()), control):
        yield event
        if isinstance(event, StepDone):
            yield from _measured(race, event.step)


def _measured(race: Race, step: int) -> Iterator[Evaluated]:
    """Yield the losses now and then, and less often what `live` measures."""
    # A loss costs nothing to report; `live` runs every model on held-out data.
    metrics: dict[str, float] = {}
    if step % race.loss_every == 0:
        metrics = losses_of(race.trainers, race.loss_every)
    if step % race.live_every == 0 or race.finished:
        metrics |= race.live()
    if metrics:
        yield Evaluated(step, metrics)


def _counted(event: Event, before: int, total: int) -> Event:
    if isinstance(event, StepDone):
        step = before + event.step
        # The trainers estimate their own race only; what is left of all races follows from its
        # pace.
        left = event.seconds / event.step * (total - step)
        return replace(event, step=step, steps=total, seconds_left=left)
    return replace(event, step=before + event.step) if isinstance(event, Evaluated) else event


def _place(race: Race) -> int:
    # They differ only when one has diverged in the middle of a step.
    return min(trainer.step for trainer in race.trainers.values())


def _save(races: Sequence[Race], folder: Path) -> None:
    for race in races:
        save_trainers(_named(race), folder)


def _named(race: Race) -> dict[str, Trainer]:
    # Races of one run may train the same kinds: the race is part of the folder name.
    return {f"{race.name}_{kind}": trainer for kind, trainer in race.trainers.items()}
