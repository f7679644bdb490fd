"""A run's whole story in arrays, small enough to keep: losses, measurements, pattern over time."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from owi_core.events import Evaluated, Event, Snapshot, StepDone

# More points than a chart has pixels only cost time.
MAX_POINTS = 600


@dataclass(frozen=True)
class Film:
    """What a run reported, by step.

    patterns: (S, L, H, T, T) float16, one for each of the S snapshots; row `query` was watched.
    """

    losses: tuple[tuple[int, float], ...] = ()
    evaluated: tuple[Evaluated, ...] = ()
    steps: tuple[int, ...] = ()
    patterns: npt.NDArray[np.float16] = field(
        default_factory=lambda: np.zeros((0, 0, 0, 0, 0), np.float16)
    )
    labels: tuple[str, ...] = ()
    query: int = 0

    @property
    def n_layer(self) -> int:
        return int(self.patterns.shape[1])

    @property
    def n_head(self) -> int:
        return int(self.patterns.shape[2])

    def rows(self, layer: int, head: int | None) -> npt.NDArray[np.float32]:
        """The watched row through time, (S, T); head None is the mean over heads."""
        return watched_row(self.patterns, self.query, layer, head)


def film(events: Sequence[Event]) -> Film:
    """The story that a run's events tell; of snapshots of several sentences, the last one's."""
    shots = [event for event in events if isinstance(event, Snapshot)]
    shots = [shot for shot in shots if shot.tokens == shots[-1].tokens]
    story = Film(
        losses=thinned([(e.step, e.loss_nats) for e in events if isinstance(e, StepDone)]),
        evaluated=tuple(event for event in events if isinstance(event, Evaluated)),
    )
    if not shots:
        return story
    return Film(
        losses=story.losses,
        evaluated=story.evaluated,
        steps=tuple(shot.step for shot in shots),
        patterns=np.array([shot.pattern for shot in shots], np.float16),
        labels=tuple(shots[-1].tokens),
        query=shots[-1].query,
    )


def watched_row(
    patterns: npt.NDArray[np.floating], query: int, layer: int, head: int | None
) -> npt.NDArray[np.float32]:
    """One query's row, (…, T), of patterns (…, L, H, T, T)."""
    heads = patterns[..., layer, :, query, :].astype(np.float32)
    return heads.mean(axis=-2) if head is None else heads[..., head, :]


def thinned(
    points: Sequence[tuple[int, float | None]], most: int = MAX_POINTS
) -> tuple[tuple[int, float], ...]:
    """At most so many of the points, evenly taken, the last one always among them."""
    known = [(step, value) for step, value in points if value is not None]
    stride = -(-len(known) // most) or 1
    return tuple(known[::-1][::stride][::-1])


def metric(events: Sequence[Evaluated], name: str) -> list[tuple[int, float]]:
    """One measurement over the steps, where it was made."""
    known = [(event.step, event.metrics.get(name)) for event in events]
    return [(step, value) for step, value in known if value is not None]
