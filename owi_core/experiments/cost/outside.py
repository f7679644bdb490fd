"""What a model can still answer when the needed word is outside its window."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from owi_core import masks
from owi_core.corpora.recall import N_KEYS, RECALL_CHANCE, recall_samples
from owi_core.events import Control, Event, Number
from owi_core.experiments._kit.results import Value, Verdict
from owi_core.experiments.cost import recall
from owi_core.experiments.cost.models import KernelTransformer, ranged
from owi_core.experiments.cost.recall import answers
from owi_core.experiments.cost.unit import Measure, Unit
from owi_core.experiments.cost.unit import Result as PartResult
from owi_core.masks import Range, Reach
from owi_core.probes.reach import linked

USUAL = {
    "length": 32,
    "window": 6,
    "d_model": 32,
    "n_head": 2,
    "steps": 250,
    "batch_size": 32,
    "lr": 1e-2,
}
KINDS: tuple[Range, ...] = ("full", "window", "window_global", "dilated", "shifted", "linear")
PER_DISTANCE = 64
LEARNED, NEAR_CHANCE = 0.95, 0.06


class Settings(recall.Settings, Protocol):
    """What this part reads of the experiment's parameters."""

    @property
    def reach(self) -> Reach: ...


@dataclass(frozen=True)
class Kind:
    """How often the model of one kind of range is right; None where no distance is of that sort.

    accuracy_one_layer: within reach of one layer.  accuracy_relayed: only through several.
    outside_change_max: how far the answer moves when a word outside the reach is exchanged.
    """

    accuracy_by_distance: dict[str, Number]
    linked_by_distance: list[bool]
    accuracy_all: Number
    accuracy_one_layer: float | None
    accuracy_relayed: float | None
    accuracy_outside: float | None
    outside_change_max: Number
    final_loss_nats: float | None


@dataclass(frozen=True)
class Result(PartResult):
    """Every kind of range by name, and what the masks predict about them."""

    kinds: dict[str, Kind]
    chance: Number
    window: int
    n_layer: int


def units(params: Settings) -> list[Unit]:
    """Return one unit for each kind of range: train, then ask at every distance."""
    return [Unit(kind, _measure(kind, place, params)) for place, kind in enumerate(KINDS)]


def metrics(done: Mapping[str, Any]) -> dict[str, float]:
    """Return the accuracies so far, by `kind.distance`."""
    return {
        f"{kind}.{distance}": accuracy
        for kind, part in done.items()
        for distance, accuracy in part["accuracy_by_distance"].items()
    }


def result(params: Settings, done: Mapping[str, Any]) -> Result:
    """Return every kind's accuracies, and what the masks predict about them."""
    about = {"window": params.reach.size, "n_layer": params.n_layer}
    return Result.from_dict({"kinds": done, "chance": RECALL_CHANCE} | about)


def verdict(result: Result) -> Verdict:
    """Return whether the window answers inside its reach, and fails outside."""
    full, window = result.kinds["full"], result.kinds["window"]
    outside, change = window.accuracy_outside, window.outside_change_max
    if change:
        code = "leaks"
    elif full.accuracy_all < LEARNED or (window.accuracy_one_layer or 0.0) < LEARNED:
        code = "not_learned_yet"
    elif outside is None:
        code = "nothing_outside"
    else:
        code = "stops_dead" if outside <= RECALL_CHANCE + NEAR_CHANCE else "luckier_than_chance"
    values: dict[str, Value] = {
        "full": full.accuracy_all,
        "inside": window.accuracy_one_layer,
        "relayed": window.accuracy_relayed,
        "outside": outside,
        "chance": RECALL_CHANCE,
        "window": result.window,
        "n_layer": result.n_layer,
    }
    return Verdict(code, code == "stops_dead", values)


def linked_distances(kind: Range, T: int, n_layer: int, reach: Reach) -> list[list[bool]]:
    """Return for each layer, and each distance 1 … T − 1, whether the last position is linked."""
    # From the masks alone, without any model: what the measurement is held against.
    reached = linked(masks.by_layer(kind, T, n_layer, reach))
    # Keys run from far to near; distances count from the last position backwards.
    return [row.flip(0)[1:].tolist() for row in reached[:, -1]]


def _measure(kind: Range, place: int, params: Settings) -> Measure:
    def measure(control: Control) -> Generator[Event, None, dict[str, Any]]:
        # Every kind starts from the same weights; only its range differs.
        model = ranged(recall.transformer(params), kind, params.reach)
        losses = yield from recall.train(model, params, place, len(KINDS), control)
        return ask(model, kind, params) | {"final_loss_nats": _mean(losses[-10:])}

    return measure


def ask(model: KernelTransformer, kind: Range, params: Settings) -> dict[str, Any]:
    """Return how often the model is right at every distance, within and without its reach."""
    T = params.length
    rng = torch.Generator().manual_seed(params.seed + 1)
    at_each = [recall_samples(PER_DISTANCE, T - 1, (d,), rng) for d in range(1, T)]
    ids, words = (torch.cat(parts) for parts in zip(*at_each, strict=True))
    said = answers(model, ids)
    right = (said[:, :N_KEYS].argmax(dim=-1) == words).view(T - 1, PER_DISTANCE)
    # By distance: PER_DISTANCE samples of each were stacked in order.
    accuracy = right.double().mean(dim=1)
    by_layer = torch.tensor(linked_distances(kind, T, params.n_layer, params.reach))
    # first: seen directly.  last & ~first: handed on by a position between.
    first, last = by_layer[0], by_layer[-1]
    # Another word in the same place: where nothing links it, not one bit may change.
    other = torch.where(ids < N_KEYS, (ids + 1) % N_KEYS, ids)
    change = (answers(model, other) - said).abs().amax(dim=-1).view(T - 1, PER_DISTANCE)
    # Only where no layer links the two positions; there even one bit would be a leak.
    hidden = change[~last]
    return {
        "accuracy_by_distance": {str(d + 1): a for d, a in enumerate(accuracy.tolist())},
        "linked_by_distance": last.tolist(),
        "accuracy_all": float(accuracy.mean()),
        "accuracy_one_layer": _share(accuracy[first]),
        "accuracy_relayed": _share(accuracy[last & ~first]),
        "accuracy_outside": _share(accuracy[~last]),
        "outside_change_max": float(hidden.max()) if hidden.numel() else 0.0,
    }


def _share(accuracies: torch.Tensor) -> float | None:
    return float(accuracies.mean()) if len(accuracies) else None


def _mean(losses: list[float]) -> float | None:
    return sum(losses) / len(losses) if losses else None
