"""The scores with and without their division by √d_head: how sharp, how stuck, how slow.

Shapes: T tokens, D = d_head.
"""

import math
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from owi_core import masks
from owi_core.attention import attention_pattern, attention_scores
from owi_core.corpora.recall import recall_samples
from owi_core.events import Control, Event, Number
from owi_core.experiments._kit.results import Value, Verdict
from owi_core.experiments.cost import recall
from owi_core.experiments.cost.recall import Settings, answers
from owi_core.experiments.cost.unit import Measure, Unit, quiet
from owi_core.experiments.cost.unit import Result as PartResult

USUAL = {
    "length": 32,
    "window": 6,
    "d_model": 64,
    "n_head": 1,
    "steps": 200,
    "batch_size": 32,
    "lr": 3e-3,
}
D_HEADS = (8, 16, 32, 64, 128)
N_ROWS, N_KEYS = 256, 64
SCALED, UNSCALED = "scaled", "unscaled"
N_ASKED = 512
SLOWER_NATS = 0.05


@dataclass(frozen=True)
class Rows:
    """Rows of fresh scores: spread, softmax, and the gradient at the scores and at q."""

    std: Number
    entropy_nats: Number
    largest_weight: Number
    gradient_norm: Number
    gradient_norm_median: Number
    gradient_at_q_median: Number


@dataclass(frozen=True)
class Trained:
    """A training: its loss at every step, and how often its model is right."""

    losses: list[Number]
    accuracy: Number


@dataclass(frozen=True)
class Result(PartResult):
    """by_d_head: of "scaled" and "unscaled"; d_head: the trained models' own."""

    by_d_head: dict[str, dict[str, Rows]]
    d_head: int
    uniform_entropy_nats: Number
    scaled: Trained
    unscaled: Trained


def units(params: Settings) -> list[Unit]:
    """Return the spread of fresh scores, then one training with the division and one without."""
    spread = Unit("spread", quiet(lambda _: {str(D): spread_of(D, params.seed) for D in D_HEADS}))
    return [spread, *(Unit(name, _measure(name, params)) for name in (SCALED, UNSCALED))]


def metrics(done: Mapping[str, Any]) -> dict[str, float]:
    """Return how often each model trained so far is right."""
    return {name: done[name]["accuracy"] for name in (SCALED, UNSCALED) if name in done}


def result(params: Settings, done: Mapping[str, Any]) -> Result:
    """Return the spreads by d_head, both trainings, and the models' own d_head."""
    trained = {name: done[name] for name in (SCALED, UNSCALED)}
    d_head = params.d_model // params.n_head
    uniform = math.log(N_KEYS)
    return Result.from_dict(
        {"by_d_head": done["spread"], "d_head": d_head, "uniform_entropy_nats": uniform} | trained
    )


def verdict(result: Result) -> Verdict:
    """Return whether the unscaled rows are sharper, and whether its model learned later."""
    largest = result.by_d_head[str(max(D_HEADS))]
    scaled, unscaled = result.scaled, result.unscaled
    sharper = largest[UNSCALED].entropy_nats < largest[SCALED].entropy_nats / 2
    # Mean loss over the training: the final losses may be equal though one learned later.
    behind = _area(unscaled.losses) - _area(scaled.losses)
    # Less than this is the luck of the batches.
    slower = behind > SLOWER_NATS
    code = ("sharp" if sharper else "alike") + ("_slower" if slower else "_no_slower")
    values: dict[str, Value] = {
        "std": largest[UNSCALED].std,
        "entropy": largest[UNSCALED].entropy_nats,
        "entropy_scaled": largest[SCALED].entropy_nats,
        "behind": behind,
        "d_head": result.d_head,
        "accuracy": unscaled.accuracy,
        "accuracy_scaled": scaled.accuracy,
    }
    return Verdict(code, sharper and slower, values)


def spread_of(D: int, seed: int) -> dict[str, dict[str, float]]:
    """Return what fresh q, k ~ N(0, 1) of width D give, with the division and without."""
    rng = torch.Generator().manual_seed(seed)
    q = torch.randn(1, 1, N_ROWS, D, generator=rng).requires_grad_()
    k = torch.randn(1, 1, N_KEYS, D, generator=rng)
    # Any fixed gradient from above: what gets through depends on the softmax alone.
    upstream = torch.randn(1, 1, N_ROWS, N_KEYS, generator=rng)
    names = {SCALED: True, UNSCALED: False}
    return {n: _of_rows(attention_scores(q, k, scale=on), upstream, q) for n, on in names.items()}


def _of_rows(scores: Tensor, upstream: Tensor, q: Tensor) -> dict[str, float]:
    """Spread and entropy of rows, and the norms of the gradient at their scores and at q.

    The two tell different stories: the division shrinks the gradient on its way from the scores to
    q by the same √D, so a row whose scores get less may still pass more on to q.
    """
    pattern = attention_pattern(scores, masks.bidirectional(N_KEYS)[:1])
    # A saturated softmax lets hardly any gradient through to the scores.
    at_scores, at_q = torch.autograd.grad(pattern, (scores, q), upstream, retain_graph=True)
    norms = at_scores.norm(dim=-1).flatten()  # (N_ROWS,)
    pattern = pattern.detach()
    entropy = -torch.xlogy(pattern, pattern).sum(dim=-1)
    return {
        "std": float(scores.detach().std()),
        "entropy_nats": float(entropy.mean()),
        "largest_weight": float(pattern.max(dim=-1).values.mean()),
        "gradient_norm": float(norms.mean()),
        "gradient_norm_median": float(norms.median()),
        "gradient_at_q_median": float(at_q.norm(dim=-1).median()),
    }


def _measure(name: str, params: Settings) -> Measure:
    def measure(control: Control) -> Generator[Event, None, dict[str, Any]]:
        model = recall.transformer(params, scale_scores=name == SCALED)
        losses = yield from recall.train(model, params, (SCALED, UNSCALED).index(name), 2, control)
        # Drawn with another seed than the training sentences.
        rng = torch.Generator().manual_seed(params.seed + 1)
        T = params.length
        # All distances, as in training.
        ids, words = recall_samples(N_ASKED, T - 1, range(1, T), rng)
        right = answers(model, ids).argmax(dim=-1) == words
        return {
            "losses": [round(loss, 5) for loss in losses],
            "accuracy": float(right.double().mean()),
        }

    return measure


def _area(losses: list[float]) -> float:
    """The mean loss over the whole training: small where a model learned soon."""
    # A run of 0 steps has no losses.
    return sum(losses) / len(losses) if losses else math.nan
