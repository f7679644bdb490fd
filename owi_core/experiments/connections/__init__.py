"""RNN, LSTM, GRU, convolution and Transformer of one size: what reaches what, at what cost.

Parts: maps (influence in freshly drawn models, for any two sentences), recall (trained: a word
over a distance), data (trained: a rule of two neighbours, from few to many sentences), time.
"""

import math
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from owi_core import peers
from owi_core.events import Control, Evaluated, Event, Finished, Started
from owi_core.experiments._kit.params import recipe
from owi_core.experiments._kit.race import Race, load_races, run_races
from owi_core.experiments._kit.results import Value, Verdict, given
from owi_core.experiments.connections.maps import LINEAR, maps_of_fresh_models
from owi_core.experiments.connections.results import Result
from owi_core.experiments.connections.settings import NAMES, Found, Params, merge
from owi_core.experiments.connections.tasks import (
    DATA_SIZES,
    data_race,
    data_result,
    recall_race,
    recall_result,
    time_result,
)

NAME = "connections"
GOOD = 0.95
MARGIN = 0.05  # two accuracies nearer than this are alike
__all__ = ["NAME", "Params", "Result", "run"]


def run(
    params: Params,
    folder: Path | None = None,
    control: Control | None = None,
    resume: bool = False,
) -> Iterator[Event]:
    """Draw the maps, then train what the part asks for, and measure."""
    # First: a sentence that cannot be read is refused before any training.
    maps = maps_of_fresh_models(params) if params.part in ("maps", "all") else None
    races = prepare(params)
    if resume and folder is not None:
        load_races(races, folder)
    model: Any = races[0].trainers["transformer"].model if races else None
    n_params = model.n_params if races else 0
    # Several races have several vocabularies, and so no ln V of the run.
    uniform = math.log(model.lm_head.out_features) if len(races) == 1 else None
    # Progress is a share of steps, so there must be one at least.
    steps = sum(race.steps for race in races) or 1  # a part that only measures is one step
    yield Started(NAME, asdict(params), recipe(NAME, params), steps, n_params, [], uniform)
    yield from run_races(races, folder, control or Control())
    if not all(race.finished for race in races):
        return
    result = measure(params, races, maps)
    # The one step of a part that only measures.
    if not races:
        yield Evaluated(1, {})
    yield Finished(NAME, asdict(params), result.to_dict(), verdict(result).to_dict())


def prepare(params: Params) -> list[Race]:
    """Return the trainings of a part; none for the maps."""
    races = []
    if params.part in ("recall", "all"):
        races.append(recall_race(params))
    if params.part in ("data", "all"):
        races += [data_race(params, n) for n in DATA_SIZES]
    return races


def measure(params: Params, races: list[Race], maps: Found | None) -> Result:
    """Return what was found, by model; `maps` was found before."""
    found: Found = {"part": params.part, "models": {}}
    if maps is not None:
        merge(found, maps)
    for race in races:
        merge(found, recall_result(params, race) if race.name == "recall" else data_result(race))
    if params.part in ("time", "all"):
        merge(found, time_result(params))
    return Result.from_dict(found)


def verdict(result: Result) -> Verdict:
    """Return what may be said of the part that was measured; of all, what recall says."""
    say = {
        "maps": _maps_verdict,
        "recall": _recall_verdict,
        "data": _data_verdict,
        "time": _time_verdict,
        "all": _recall_verdict,
    }
    return say[result.part](result)


def _recall_verdict(result: Result) -> Verdict:
    d = str(given(result.longest, 0))
    far = {
        kind: given(model.accuracy_by_distance, {})[d]
        for kind, model in result.models.items()
        if kind in peers.CAUSAL
    }
    ours = far.pop("transformer")
    # Another model that recalls as far takes away the claim that only attention does.
    also = [NAMES[kind] for kind, accuracy in far.items() if accuracy >= GOOD]
    code = "far_not_learned" if ours < GOOD else "far_others_too" if also else "far_attention_alone"
    values: dict[str, Value] = {
        "distance": int(d),
        "accuracy": ours,
        "cnn": far["cnn"],
        "also": also,
    }
    return Verdict(code, ours >= GOOD, values)


def _maps_verdict(result: Result) -> Verdict:
    named = {"transformer": "transformer", "cnn": "cnn", "linear": LINEAR}
    values: dict[str, float] = {}
    for name, kind in named.items():
        change = result.models[kind].map_numbers("fresh").input_dependence
        if change is None:
            return Verdict("maps_unequal", True, {})
        values[name] = change
    moves = values["transformer"] > values["cnn"] and values["linear"] == 0
    return Verdict("maps_attention_moves" if moves else "maps_as_measured", moves, values)


def _data_verdict(result: Result) -> Verdict:
    """Say which model learns best from few sentences, and how attention does."""
    few, most = str(DATA_SIZES[1]), str(DATA_SIZES[-1])
    by_data = {kind: given(m.accuracy_by_data, {}) for kind, m in result.models.items()}
    from_few = {kind: accuracy[few] for kind, accuracy in by_data.items()}
    best = max(from_few, key=from_few.__getitem__)
    # Where attention is a wrong tool: the rule is local, and a window knows that beforehand.
    behind = from_few["transformer"] < from_few[best] - MARGIN
    values: dict[str, Value] = {
        "few": int(few),
        "accuracy": from_few["transformer"],
        "best": NAMES[best],
        "best_accuracy": from_few[best],
        "most": int(most),
        "most_accuracy": by_data["transformer"][most],
    }
    code = "data_wrong_tool" if behind else "data_no_harm"
    return Verdict(code, behind, values)


def _time_verdict(result: Result) -> Verdict:
    """Say whose step is the most expensive at the longest length that all reached."""
    by_length = {k: given(m.step_seconds_by_length, {}) for k, m in result.models.items()}
    # A sweep may stop early: only lengths that all reached are compared.
    common = set.intersection(*map(set, by_length.values()))
    length = max(common, key=int, default="")
    if not length:
        return Verdict("time_none", False, {})
    taken = {kind: seconds[length] for kind, seconds in by_length.items()}
    first, last = min(taken, key=taken.__getitem__), max(taken, key=taken.__getitem__)
    values: dict[str, Value] = {
        "length": int(length),
        "fastest": NAMES[first],
        "slowest": NAMES[last],
        "fast_ms": round(1000 * taken[first], 2),
        "slow_ms": round(1000 * taken[last], 2),
    }
    return Verdict("time_measured", True, values)
