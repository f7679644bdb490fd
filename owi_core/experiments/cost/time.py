"""Time of one training step and of one forward pass against length, model by model.

Shapes: B = 1, T tokens.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from owi_core.events import Control, Number
from owi_core.experiments._kit.results import Value, Verdict
from owi_core.experiments.cost.models import timed_models
from owi_core.experiments.cost.unit import NO_TRAINING, Unit, look_up, quiet
from owi_core.experiments.cost.unit import Result as PartResult
from owi_core.masks import Reach
from owi_core.peers import Plan
from owi_core.probes.timing import Sweep, sweep

USUAL = {"length": 2048, "window": 64, "d_model": 64, "n_head": 2} | NO_TRAINING
SHORTEST, VOCABULARY = 16, 64
KINDS = ("transformer", "explicit", "window", "rnn", "lstm", "gru", "cnn", "cell")
# Matrices of T × T scores that a training step holds at its peak beside one a layer: the scores
# before and after the mask, and their gradient.
_TRANSIENT = 2
_NUMBERS_PER_TOKEN = 40  # activations of one layer per token and feature, about


@dataclass(frozen=True)
class Timed:
    """Both sweeps of one model; stopped: the cap that ended a sweep, or None, and where it did."""

    n_params: int
    step_seconds_by_length: dict[str, Number]
    slope: float | None
    stopped: str | None
    stopped_at: int | None
    forward_seconds_by_length: dict[str, Number]
    forward_slope: float | None
    forward_stopped: str | None
    forward_stopped_at: int | None
    spent_seconds: Number


@dataclass(frozen=True)
class Result(PartResult):
    """Every model by name, the memory of the scores, and the time that all took."""

    models: dict[str, Timed]
    score_bytes_by_length: dict[str, int]
    spent_seconds: Number
    cap_seconds: Number
    cap_mb: int


class Settings(Protocol):
    """What this part reads of the experiment's parameters."""

    seed: int
    length: int
    d_model: int
    n_layer: int
    n_head: int
    cap_seconds: float
    cap_mb: int

    @property
    def reach(self) -> Reach: ...


def lengths_up_to(longest: int) -> list[int]:
    """Return 16, 32, 64 … and at the end `longest` itself."""
    # Doubling spaces the points evenly on a logarithmic axis.
    doubled = [SHORTEST * 2**n for n in range(int(math.log2(longest / SHORTEST)) + 1)]
    return sorted({*doubled, longest})


def units(params: Settings) -> list[Unit]:
    """Return one unit a model: both its sweeps, within the caps."""
    # The block is as long as the longest text: every length fits into one model.
    plan = Plan(VOCABULARY, params.length, attention_layers=params.n_layer, n_head=params.n_head)
    models = timed_models(plan, params.d_model, params.reach, params.seed)
    return [Unit(kind, quiet(_measure(kind, model, params))) for kind, model in models]


def metrics(done: Mapping[str, Any]) -> dict[str, float]:
    """Return the seconds of a training step measured so far, by `kind.length`."""
    return {
        f"{kind}.{length}": seconds
        for kind, part in done.items()
        for length, seconds in part["step_seconds_by_length"].items()
    }


def result(params: Settings, done: Mapping[str, Any]) -> Result:
    """Return both sweeps of every model, the memory of the scores, and the time all took."""
    lengths = lengths_up_to(params.length)
    found = {
        "models": done,
        "score_bytes_by_length": {
            str(T): score_bytes(T, params.n_head, params.n_layer) for T in lengths
        },
        "spent_seconds": sum(part["spent_seconds"] for part in done.values()),
        "cap_seconds": 2 * params.cap_seconds * len(done),
        "cap_mb": params.cap_mb,
    }
    return Result.from_dict(found)


def verdict(result: Result) -> Verdict:
    """Return where the chain overtakes fused attention, if it does, and whether the caps held."""
    chain, fused = (result.models[k].step_seconds_by_length for k in ("lstm", "transformer"))
    common = [length for length in chain if length in fused]
    at = overtaken_at(chain, fused)
    last = common[-1] if common else None
    values: dict[str, Value] = {
        "length": at,
        "longest": None if last is None else int(last),
        "ratio": None if last is None else round(chain[last] / fused[last], 2),
        "spent": round(result.spent_seconds, 1),
        "cap": result.cap_seconds,
    }
    code = "nothing_timed" if last is None else _finding(at, int(common[0]))
    passed = last is not None and result.spent_seconds <= result.cap_seconds
    return Verdict(code, passed, values)


def _finding(at: int | None, shortest: int) -> str:
    if at is None:
        return "chain_never"
    return "chain_always" if at == shortest else "chain_overtakes"


def overtaken_at(chain: Mapping[str, float], fused: Mapping[str, float]) -> int | None:
    """Return the length from which on the chain is the faster one, up to the last measured."""
    at = None
    for length in (length for length in chain if length in fused):
        faster = chain[length] < fused[length]
        # Reset when the chain falls behind again: one lucky length is not an overtaking.
        at = (at or int(length)) if faster else None
    return at


def score_bytes(T: int, n_head: int, n_layer: int) -> int:
    """Return the memory of all T × T scores in float32."""
    return T * T * 4 * n_head * n_layer


def predicted_bytes(kind: str, T: int, params: Settings) -> int:
    """Return about what a training step will hold at its peak."""
    # Everything but the scores grows linearly with T.
    rest = T * params.d_model * 4 * _NUMBERS_PER_TOKEN * params.n_layer
    if kind != "explicit":
        return rest
    return rest + score_bytes(T, params.n_head, params.n_layer + _TRANSIENT)


def _measure(kind: str, model: nn.Module, params: Settings) -> Callable[[Control], dict[str, Any]]:
    rng = torch.Generator().manual_seed(params.seed)
    # Any tokens: time does not depend on what they are.
    ids = torch.randint(VOCABULARY, (1, params.length), generator=rng)

    def work(control: Control) -> dict[str, Any]:
        began = time.process_time()
        step, forward = (
            _sweep(make, kind, model, ids, params, control) for make in (_training_step, _forward)
        )
        return {
            "n_params": model.n_params,
            "step_seconds_by_length": _by_length(step),
            "slope": step.slope,
            "stopped": step.stopped,
            "stopped_at": step.stopped_at,
            "forward_seconds_by_length": _by_length(forward),
            "forward_slope": forward.slope,
            "forward_stopped": forward.stopped,
            "forward_stopped_at": forward.stopped_at,
            "spent_seconds": time.process_time() - began,
        }

    return work


def _sweep(
    once: Callable[[nn.Module, Tensor], None],
    kind: str,
    model: nn.Module,
    ids: Tensor,
    params: Settings,
    control: Control,
) -> Sweep:
    def make(T: int) -> Callable[[], None]:
        def work() -> None:
            # Inside the timed function: a request is answered within one step, not one sweep.
            look_up(control)
            once(model, ids[:, :T])

        return work

    return sweep(
        make,
        lengths_up_to(params.length),
        cap_seconds=params.cap_seconds,
        cap_bytes=params.cap_mb * 2**20,
        bytes_of=lambda T: predicted_bytes(kind, T, params),
    )


def _training_step(model: nn.Module, ids: Tensor) -> None:
    """Forward, loss on every token, backward."""
    loss = F.cross_entropy(model(ids).logits.flatten(0, 1), ids.flatten())
    loss.backward()  # type: ignore[no-untyped-call]
    # Otherwise gradients add up and the memory of the first step stays.
    model.zero_grad()


def _forward(model: nn.Module, ids: Tensor) -> None:
    with torch.no_grad():
        model(ids)


def _by_length(measured: Sweep) -> dict[str, float]:
    return {str(T): s for T, s in zip(measured.lengths, measured.seconds, strict=True)}
