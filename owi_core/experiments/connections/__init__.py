"""RNN, LSTM, GRU, convolution and Transformer of one size: who reaches whom, and what that costs.

Parts: maps (influence in freshly drawn models, for one's own sentences), recall (trained: a word
over a distance), data (trained: a rule of two neighbours, from few to many sentences), time.
"""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from owi_core import peers
from owi_core.events import Control, Evaluated, Event, Finished, Started
from owi_core.experiments._kit.params import recipe
from owi_core.experiments._kit.race import Race, load_races, run_races
from owi_core.experiments.connections.maps import LINEAR, maps_of_fresh_models
from owi_core.experiments.connections.settings import NAMES, Params, Result, merge
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
__all__ = ["NAME", "Params", "run"]


def run(
    params: Params,
    folder: Path | None = None,
    control: Control | None = None,
    resume: bool = False,
) -> Iterator[Event]:
    """Draw the maps, then train what the part asks for, and measure."""
    maps = maps_of_fresh_models(params) if params.part in ("maps", "all") else None
    races = prepare(params)
    if resume and folder is not None:
        load_races(races, folder)
    n_params = races[0].trainers["transformer"].model.n_params if races else 0  # type: ignore[attr-defined]
    steps = sum(race.steps for race in races) or 1  # a part that only measures is one step
    yield Started(NAME, asdict(params), recipe(NAME, params), steps, n_params)
    yield from run_races(races, folder, control or Control())
    if not all(race.finished for race in races):
        return
    result = measure(params, races, maps)
    if not races:
        yield Evaluated(1, {})
    yield Finished(NAME, asdict(params), result, verdict(result))


def prepare(params: Params) -> list[Race]:
    """Return the trainings of a part; none for the maps."""
    races = []
    if params.part in ("recall", "all"):
        races.append(recall_race(params))
    if params.part in ("data", "all"):
        races += [data_race(params, n) for n in DATA_SIZES]
    return races


def measure(params: Params, races: list[Race], maps: Result | None) -> Result:
    """Return what was found, by model; `maps` was found before."""
    result: Result = {"part": params.part, "models": {}}
    if maps is not None:
        merge(result, maps)
    for race in races:
        merge(result, recall_result(params, race) if race.name == "recall" else data_result(race))
    if params.part in ("time", "all"):
        merge(result, time_result(params))
    return result


def verdict(result: Result) -> dict[str, Any]:
    """Return what may be said of the part that was measured; of all, what recall says."""
    say = {
        "maps": _maps_verdict,
        "recall": _recall_verdict,
        "data": _data_verdict,
        "time": _time_verdict,
        "all": _recall_verdict,
    }
    return say[result["part"]](result)


def _recall_verdict(result: Result) -> dict[str, Any]:
    models, d = result["models"], str(result["longest"])
    far = {k: m["accuracy_by_distance"][d] for k, m in models.items() if k in peers.CAUSAL}
    ours = far.pop("transformer")
    also = [NAMES[kind] for kind, accuracy in far.items() if accuracy >= GOOD]
    code = "far_not_learned" if ours < GOOD else "far_others_too" if also else "far_attention_alone"
    values = {"distance": int(d), "accuracy": ours, "cnn": far["cnn"], "also": also}
    return {"code": code, "passed": ours >= GOOD, "values": values}


def _maps_verdict(result: Result) -> dict[str, Any]:
    named = {"transformer": "transformer", "cnn": "cnn", "linear": LINEAR}
    values = {
        name: result["models"][kind]["fresh"]["input_dependence"] for name, kind in named.items()
    }
    if None in values.values():
        return {"code": "maps_unequal", "passed": True, "values": {}}
    moves = values["transformer"] > values["cnn"] and values["linear"] == 0
    code = "maps_attention_moves" if moves else "maps_as_measured"
    return {"code": code, "passed": moves, "values": values}


def _data_verdict(result: Result) -> dict[str, Any]:
    """Say who learns best from few sentences, and where attention stands then and with the most."""
    few, most = str(DATA_SIZES[1]), str(DATA_SIZES[-1])
    by_data = {kind: found["accuracy_by_data"] for kind, found in result["models"].items()}
    from_few = {kind: accuracy[few] for kind, accuracy in by_data.items()}
    best = max(from_few, key=from_few.__getitem__)
    behind = from_few["transformer"] < from_few[best] - MARGIN
    values = {
        "few": int(few),
        "accuracy": from_few["transformer"],
        "best": NAMES[best],
        "best_accuracy": from_few[best],
        "most": int(most),
        "most_accuracy": by_data["transformer"][most],
    }
    code = "data_wrong_tool" if behind else "data_no_harm"
    return {"code": code, "passed": behind, "values": values}


def _time_verdict(result: Result) -> dict[str, Any]:
    """Say whose step is the dearest at the longest length that all reached."""
    models = result["models"]
    common = set.intersection(*(set(m["step_seconds_by_length"]) for m in models.values()))
    length = max(common, key=int, default="")
    if not length:
        return {"code": "time_none", "passed": False, "values": {}}
    taken = {kind: m["step_seconds_by_length"][length] for kind, m in models.items()}
    first, last = min(taken, key=taken.__getitem__), max(taken, key=taken.__getitem__)
    values = {
        "length": int(length),
        "fastest": NAMES[first],
        "slowest": NAMES[last],
        "fast_ms": round(1000 * taken[first], 2),
        "slow_ms": round(1000 * taken[last], 2),
    }
    return {"code": "time_measured", "passed": True, "values": values}
