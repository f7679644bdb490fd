"""The learning rate of each model in the recall comparison, by the same small search for all.

Every model is trained at every rate of the grid, with seeds that no figure uses.  The best rate has
the highest accuracy, mean over distances and seeds; of equal ones, the one with the lowest loss.
owi_core/experiments/connections/settings.py holds the rates that were found.
"""

from typing import Any

import torch

from owi_core.events import Finished
from owi_core.experiments import connections
from owi_core.experiments.connections.settings import RATES_TRIED, Params
from owi_core.peers import KINDS

NAME = "rates"
SEEDS = (100, 101)


def run() -> dict[str, Any]:
    """Return accuracy and loss of each model at each rate, and the best rates."""
    torch.set_num_threads(1)
    found: dict[str, dict[str, dict[str, float]]] = {kind: {} for kind in KINDS}
    for rate in RATES_TRIED:
        results = [_trained(rate, seed) for seed in SEEDS]
        for kind in KINDS:
            models = [result[kind] for result in results]
            found[kind][f"{rate:g}"] = {
                "accuracy": _mean([_mean(m["accuracy_by_distance"].values()) for m in models]),
                "loss_nats": _mean([m["final_loss_nats"] for m in models]),
            }
        print(rate, {kind: found[kind][f"{rate:g}"] for kind in KINDS}, flush=True)
    return {"tried": found, "best": {kind: best(rates) for kind, rates in found.items()}}


def best(rates: dict[str, dict[str, float]]) -> float:
    """Return the rate with the highest accuracy; of equal ones, that with the lowest loss."""
    return float(max(rates, key=lambda r: (rates[r]["accuracy"], -rates[r]["loss_nats"])))


def _trained(rate: float, seed: int) -> dict[str, Any]:
    *_, last = connections.run(Params(part="recall", lr=rate, seed=seed))
    assert isinstance(last, Finished), last
    models: dict[str, Any] = last.result["models"]
    return models


def _mean(values: Any) -> float:
    values = list(values)
    return round(sum(values) / len(values), 4)
