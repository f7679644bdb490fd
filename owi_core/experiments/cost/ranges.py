"""Time, memory and exactness of every kind of range, each really computed as it is meant to be.

Shapes: B = 1, H heads, T tokens, D = d_head.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from msgspec import UNSET, UnsetType
from torch import Tensor

from owi_core import masks, ranges
from owi_core.events import Control, Number
from owi_core.experiments._kit.results import Value, Verdict
from owi_core.experiments.cost.unit import NO_TRAINING, Unit, look_up, quiet
from owi_core.experiments.cost.unit import Result as PartResult
from owi_core.masks import Range, Reach
from owi_core.probes.memory import peak_bytes
from owi_core.probes.timing import cpu_seconds

USUAL = {"length": 4096, "window": 64, "d_model": 64, "n_head": 2} | NO_TRAINING
KINDS: tuple[Range, ...] = ("full", "window", "window_global", "dilated", "shifted", "linear")
EXPLICIT = "explicit"
LAYER = 1  # the second layer: there the dilation has holes and the blocks are shifted
LARGEST_DIFFERENCE = 1e-5
# Scores before and after the mask, the pattern, and a gradient for one of them at a time.
MATRICES_HELD = 3.2
Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Measured:
    """One kind of range at one length, forward and backward together.

    Explicit attention beyond the memory cap is not run: it has needed_bytes in place of a time.
    Only kinds that are compared with the dense reference have a difference.
    """

    score_bytes: int
    step_seconds: Number | UnsetType = UNSET
    peak_bytes: int | UnsetType = UNSET
    difference: Number | UnsetType = UNSET
    gradient_difference: Number | UnsetType = UNSET
    stopped: str | UnsetType = UNSET
    needed_bytes: int | UnsetType = UNSET

    @property
    def time_and_memory(self) -> tuple[float, int] | None:
        """CPU seconds and peak bytes, or None where it was not run."""
        if isinstance(self.step_seconds, UnsetType) or isinstance(self.peak_bytes, UnsetType):
            return None
        return self.step_seconds, self.peak_bytes


@dataclass(frozen=True)
class WindowShare:
    """What the window takes, as a share of others; None where explicit attention was not run."""

    time_of_full: Number
    memory_of_explicit: float | None
    memory_of_full: Number


@dataclass(frozen=True)
class Result(PartResult):
    """by_length: kinds by name at half the length and at the whole."""

    by_length: dict[str, dict[str, Measured]]
    window_share: dict[str, WindowShare]
    difference_max: Number
    gradient_difference_max: Number


class Settings(Protocol):
    """What this part reads of the experiment's parameters."""

    seed: int
    length: int
    d_model: int
    n_head: int
    cap_mb: int

    @property
    def reach(self) -> Reach: ...


def units(params: Settings) -> list[Unit]:
    """Return one unit for each kind at half the length and at the whole."""
    return [
        Unit(f"{kind}.{T}", quiet(_measure(kind, T, params)))
        # Two lengths show how each kind grows.
        for T in (params.length // 2, params.length)
        for kind in (*KINDS, EXPLICIT)
    ]


def metrics(done: Mapping[str, Any]) -> dict[str, float]:
    """Return the seconds measured so far, by `kind.length`."""
    return {name: part["step_seconds"] for name, part in done.items() if "step_seconds" in part}


def result(params: Settings, done: Mapping[str, Any]) -> Result:
    """Return the measurements by length and kind, and the shares that the claim is about."""
    lengths = (params.length // 2, params.length)
    measured = {str(T): {kind: done[f"{kind}.{T}"] for kind in (*KINDS, EXPLICIT)} for T in lengths}
    found = {
        "by_length": measured,
        "window_share": {length: window_share(part) for length, part in measured.items()},
        "difference_max": _largest(measured, "difference"),
        "gradient_difference_max": _largest(measured, "gradient_difference"),
    }
    return Result.from_dict(found)


def window_share(part: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the window's time over that of fused, and its memory over that of explicit full."""
    window, full, explicit = part["window"], part["full"], part[EXPLICIT]
    held = explicit.get("peak_bytes")
    return {
        "time_of_full": window["step_seconds"] / full["step_seconds"],
        "memory_of_explicit": window["peak_bytes"] / held if held else None,
        "memory_of_full": window["peak_bytes"] / full["peak_bytes"],
    }


def verdict(result: Result) -> Verdict:
    """Return whether the window is exact, faster than fused and smaller than explicit attention."""
    shares = list(result.window_share.values())
    # The worst of both lengths: the claim must hold at each.
    slowest = max(share.time_of_full for share in shares)
    memories = [s.memory_of_explicit for s in shares if s.memory_of_explicit is not None]
    largest = max(memories, default=None)
    off = max(result.difference_max, result.gradient_difference_max)
    exact = off <= LARGEST_DIFFERENCE
    if not exact:
        code = "window_differs"
    elif slowest >= 1:
        code = "window_slower"
    elif largest is None:
        code = "memory_unknown"
    else:
        code = "window_wins" if largest < 1 else "window_larger"
    values: dict[str, Value] = {
        "time": round(slowest, 3),
        "memory": None if largest is None else round(largest, 3),
        "difference": off,
    }
    return Verdict(code, code == "window_wins", values)


def dense(kind: Range, q: Tensor, k: Tensor, v: Tensor, reach: Reach, layer: int) -> Tensor:
    """Return what a kind of range means, by T × T matrices: another way to the same numbers."""
    T = q.shape[2]
    if kind == "linear":
        # Linear attention has no softmax: its rows are divided by their own sum.
        weights = (F.elu(q) + 1) @ (F.elu(k) + 1).transpose(-2, -1) * masks.causal(T)
        return weights / weights.sum(dim=-1, keepdim=True) @ v
    return ranges.explicit_attention(q, k, v, masks.of_layer(kind, T, layer, reach))


def differences(kind: Range, T: int, params: Settings) -> dict[str, float]:
    """Return the largest difference to the dense reference.

    difference: of the outputs.  gradient_difference: of the gradients of q, k and v, as a share of
    the largest one, since a position that all others see collects from T of them.
    """
    outputs, gradients = 0.0, 0.0
    for head in draw(T, params):  # head by head: the reference needs T × T for each
        z, *sparse = _with_gradients(
            lambda q, k, v: ranges.attend(kind, q, k, v, params.reach, LAYER), head
        )
        z_dense, *reference = _with_gradients(
            lambda q, k, v: dense(kind, q, k, v, params.reach, LAYER), head
        )
        outputs = max(outputs, float((z - z_dense).abs().max()))
        for a, b in zip(sparse, reference, strict=True):
            # Relative: a global position collects gradient from all T queries.
            gradients = max(gradients, float((a - b).abs().max() / b.abs().max()))
    return {"difference": outputs, "gradient_difference": gradients}


def draw(T: int, params: Settings) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Return q, k, v ~ N(0, 1) of each head, (1, 1, T, D)."""
    rng = torch.Generator().manual_seed(params.seed)
    D = params.d_model // params.n_head
    numbers = torch.randn(params.n_head, 3, 1, 1, T, D, generator=rng)
    return [(q.clone(), k.clone(), v.clone()) for q, k, v in numbers]


def _largest(measured: Mapping[str, Mapping[str, Any]], name: str) -> float:
    every = [part for kinds in measured.values() for part in kinds.values()]
    return float(max(part[name] for part in every if name in part))


def _measure(kind: str, T: int, params: Settings) -> Callable[[Control], dict[str, Any]]:
    if kind == EXPLICIT:
        return _measure_explicit(T, params)

    def work(control: Control) -> dict[str, Any]:
        pairs = ranges.pairs_computed(kind, T, params.reach)  # type: ignore[arg-type]

        def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            return ranges.attend(kind, q, k, v, params.reach, LAYER)  # type: ignore[arg-type]

        measured = _step(attend, T, params, control)
        look_up(control)
        exact = differences(kind, T, params)  # type: ignore[arg-type]
        return measured | exact | {"score_bytes": pairs * 4 * params.n_head}

    return work


def _measure_explicit(T: int, params: Settings) -> Callable[[Control], dict[str, Any]]:
    def work(control: Control) -> dict[str, Any]:
        scores = T * T * 4 * params.n_head
        # Refused by calculation; trying would take the memory first.
        needed = round(MATRICES_HELD * scores)
        if needed > params.cap_mb * 2**20:
            return {"stopped": "memory", "needed_bytes": needed, "score_bytes": scores}
        mask = masks.causal(T)

        def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            return ranges.explicit_attention(q, k, v, mask)

        return _step(attend, T, params, control) | {"score_bytes": scores}

    return work


def _step(attend: Attend, T: int, params: Settings, control: Control) -> dict[str, Any]:
    """Time and memory of forward and backward together."""
    heads = draw(T, params)
    q, k, v = (torch.cat(part, dim=1).requires_grad_() for part in zip(*heads, strict=True))

    def work() -> None:
        look_up(control)
        attend(q, k, v).sum().backward()  # type: ignore[no-untyped-call]
        # Freed between repetitions, or peak memory would count two steps.
        q.grad = k.grad = v.grad = None

    return {"step_seconds": cpu_seconds(work), "peak_bytes": peak_bytes(work)}


def _with_gradients(attend: Attend, head: tuple[Tensor, ...]) -> list[Tensor]:
    q, k, v = (x.detach().requires_grad_() for x in head)
    z = attend(q, k, v)
    # Different for every number: a mistake in one place is not hidden by another.
    upstream = torch.linspace(-1, 1, z.numel()).view(z.shape)
    return [z.detach(), *torch.autograd.grad(z, (q, k, v), upstream)]
