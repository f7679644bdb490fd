"""One training step against the same step of other implementations, and its matrix products."""

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import torch
from torch import nn

from tests.bench.clock import in_turns, ratio
from tests.bench.peers import Ours, Size, matrix_products, peers

NAME = "step"
SEEDS = (0, 1, 2)
ROUNDS, REPEATS = 7, 8
SIZES = {"article": Size(), "quick": Size(T=64, B=10)}
PRODUCTS = "matrix products alone"


def run() -> dict[str, Any]:
    """Return CPU seconds and ratios for each size, with dropout 0 and 0.1, and three seeds."""
    torch.set_num_threads(1)
    measured = {}
    for name, size in SIZES.items():
        for dropout in (0.0, 0.1):
            case = replace(size, dropout=dropout)
            measured[f"{name}, dropout {dropout}"] = [_measure(case, seed) for seed in SEEDS]
    return {"sizes": {name: asdict(size) for name, size in SIZES.items()}, "measured": measured}


def _measure(size: Size, seed: int) -> dict[str, Any]:
    torch.manual_seed(seed)
    models = {"ours": Ours(size, seed), **peers(size)}
    works: dict[str, Callable[[], Any]] = {n: _step(m, size) for n, m in models.items()}
    works[PRODUCTS] = matrix_products(size)
    seconds = in_turns(works, ROUNDS, REPEATS)
    others = [name for name in models if name != "ours"]
    return {
        "seconds": seconds,
        "to_products": {name: ratio(seconds, name, PRODUCTS) for name in models},
        "ours_to": {name: ratio(seconds, "ours", name) for name in others},
    }


def _step(model: nn.Module, size: Size) -> Callable[[], None]:
    """Return one whole step: loss, gradient, its norm clipped, AdamW."""
    ids = torch.randint(size.vocab_size, (size.B, size.T))
    targets = torch.randint(size.vocab_size, (size.B, size.T))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    model.train()

    def work() -> None:
        model(ids, targets).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return work
