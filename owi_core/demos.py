"""The ready demos of the home page: what each shows, measured and kept as a small picture.

Where a demo's link leads is known to the home page alone.  A picture is made of numbers that a
model gave or masks have; they are measured by `python -m owi_core gallery`, are kept in
assets/gallery.json, and a test measures them again.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from owi_core.assets import ASSETS
from owi_core.checkpoints import shipped
from owi_core.config import SamplingConfig
from owi_core.experiments import altered
from owi_core.experiments.connections.maps import maps_of_fresh_models
from owi_core.experiments.connections.settings import Params as MapParams
from owi_core.gallery import ReadyPair, ready_pair
from owi_core.generation import foresee
from owi_core.masks import Reach
from owi_core.probes.influence import InfluenceRecord
from owi_core.probes.reach import fraction_linked, linked_by_kind
from owi_core.probes.tie_touch import Cell, Edit, touch
from owi_core.readings import clearest_layer, read

STORED = ASSETS / "gallery.json"
DIGITS = 4
PROMPT, N_LIKELY = "小鸟", 8
MASKED_PAIR = "fit_causal"
STEP_PAIR, STEP_LAYER, STEP_HEAD = "verb", 1, 0  # layers and heads count from 0
HEADS_PAIR, HEADS_LAYER = "nouns", 1
LAYERS, REACH_TOKENS, REACH_SIZE = 3, 16, 3
CONNECTED = ("lstm", "cnn", "transformer")
# Of the model `swap`: a word that the first sentence lacks, and the dimension in which the final
# state is largest, as the page of shared weights proposes it.
TOUCHED = Edit(Cell(71, 77), -5.0)

Values = dict[str, Any]


@dataclass(frozen=True)
class Demo:
    """A demo and which kind of picture it has; pair: the ready pair that its rows are of."""

    name: str
    kind: str
    pair: str = ""


DEMOS: tuple[Demo, ...] = (
    Demo("order", "rows", "order"),
    Demo("verb", "rows", "verb"),
    Demo("fit", "rows", "fit_bidirectional"),
    Demo("street", "rows", "street"),
    Demo("person", "rows", "person"),
    Demo("masking", "masking"),
    Demo("step", "step"),
    Demo("tying", "tying"),
    Demo("feedback", "feedback"),
    Demo("projection", "projection"),
    Demo("connections", "connections"),
    Demo("cost", "cost"),
)


def pair_of(name: str) -> ReadyPair:
    """Return a ready pair that is known to exist."""
    found = ready_pair(name)
    assert found is not None
    return found


def measure(demo: Demo) -> Values:
    """Return a demo's picture: what is drawn, and under `told` the values of its caption.

    `rows`: lists of weights over the tokens, 0 to 1, with the `queries` that look.  `grids`:
    matrices, 0 to 1, None where nothing may be seen.  `bars`: groups of values of both signs.
    """
    return _MEASURES[demo.kind](demo)


@cache
def stored() -> dict[str, Values]:
    """Return all pictures as they were measured, by the demo's name."""
    values: dict[str, Values] = json.loads(STORED.read_text(encoding="utf-8"))
    return values


def store() -> dict[str, Values]:
    """Measure all pictures and write them down; return them."""
    found = {demo.name: measure(demo) for demo in DEMOS}
    # One line a picture: a change of one shows as one line in the history.
    lines = [
        f"  {json.dumps(name)}: {json.dumps(picture, ensure_ascii=False)}"
        for name, picture in found.items()
    ]
    STORED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    return found


def _rows(demo: Demo) -> Values:
    pair = pair_of(demo.pair)
    bundle = shipped(pair.model)
    readings = [read(bundle, pair.a, pair.query_a), read(bundle, pair.b, pair.query_b)]
    # One layer for both sentences, or their rows could not be compared.
    layer = clearest_layer(readings)
    seen: Values = {}
    for side, reading in zip("ab", readings, strict=True):
        row = reading.record.row(reading.query, layer)
        seen[f"query_{side}"] = reading.labels[reading.query]
        seen[f"word_{side}"] = reading.labels[int(row.argmax())]
        seen[f"mass_{side}"] = _rounded(row.max())
    rows = [_rounded(r.record.row(r.query, layer)) for r in readings]
    return {"rows": rows, "queries": [r.query for r in readings], "told": seen}


def _masking(_: Demo) -> Values:
    pair = pair_of(MASKED_PAIR)
    grids, seen = [], {}
    for name in ("causal", "bidirectional"):
        bundle = shipped(f"fit_{name}")
        a, b = (read(bundle, text) for text in (pair.a, pair.b))
        layer = a.record.n_layer - 1
        grids.append(_grid(a.record.pattern[layer].mean(0), a.record.mask))
        # Two sentences that differ after the pronoun: under the causal mask its row must not.
        change = a.record.pattern[:, :, a.query] - b.record.pattern[:, :, b.query]
        seen[name] = _rounded(np.abs(change).max())
    return {"grids": grids, "told": seen | {"query": pair.query_a}}


def _step(_: Demo) -> Values:
    pair = pair_of(STEP_PAIR)
    reading = read(shipped(pair.model), pair.a)
    pattern = reading.record.pattern[STEP_LAYER, STEP_HEAD]
    row = pattern[reading.query]
    seen = {
        "query": reading.labels[reading.query],
        "word": reading.labels[int(row.argmax())],
        "mass": _rounded(row.max()),
        "tokens": len(row),
    }
    return {"grids": [_grid(pattern, reading.record.mask)], "told": seen}


def _tying(_: Demo) -> Values:
    # The sentence that the page of shared weights opens with.
    reading = read(shipped("swap"), pair_of("nouns").a)
    found = touch(reading.bundle, reading.encoding.ids, reading.query, [TOUCHED], TOUCHED.cell)
    before = np.array(found.before.logits)
    bars = [_rounded(np.array(side.logits) - before) for side in (found.tied, found.untied)]
    seen = {
        "word": reading.bundle.tokenizer.label(TOUCHED.cell.word_id),
        "tied": _rounded(found.tied.logit - found.before.logit),
        "untied": _rounded(found.untied.logit - found.before.logit),
    }
    return {"bars": bars, "told": seen}


def _feedback(_: Demo) -> Values:
    bundle = shipped("language")
    forecast = foresee(bundle.model, bundle.tokenizer.encode(PROMPT).ids, SamplingConfig())
    # Stable, so that equal probabilities keep their order on every machine.
    ids = np.argsort(-forecast.before, kind="stable")[:N_LIKELY]
    first, second = (bundle.tokenizer.label(int(i)) for i in ids[:2])
    p = forecast.before[ids]
    seen = {
        "prompt": PROMPT,
        "first": first,
        "second": second,
        "p": _rounded(p[0]),
        "q": _rounded(p[1]),
    }
    return {"bars": [_rounded(p)], "told": seen}


def _projection(_: Demo) -> Values:
    pair = pair_of(HEADS_PAIR)
    effects = altered.head_effects(read(shipped(pair.model), pair.a))
    single, together = effects.singles[HEADS_LAYER], effects.together[HEADS_LAYER]
    seen = {
        "layer": HEADS_LAYER + 1,
        "single": _rounded(single.min()),
        "together": _rounded(together),
    }
    return {"bars": [_rounded([*single, together])], "told": seen}


def _connections(_: Demo) -> Values:
    maps = maps_of_fresh_models(MapParams(part="maps"))["maps"]["fresh"]
    records = {kind: InfluenceRecord.from_dict(maps[kind]["a"]) for kind in CONNECTED}
    # One scale for the three maps, so that the eye may compare them.
    highest = max(float(record.shares.max()) for record in records.values())
    grids = [_grid(record.shares / highest, record.reach) for record in records.values()]
    seen = {kind: _rounded(record.shares[-1, 0]) for kind, record in records.items()}
    return {"grids": grids, "told": seen}


def _cost(_: Demo) -> Values:
    reached = linked_by_kind(("window",), REACH_TOKENS, LAYERS, Reach(REACH_SIZE))[0]
    shares = [fraction_linked(layer) for layer in reached]
    # Future keys are drawn as empty cells, not as "not linked".
    past = np.tri(REACH_TOKENS, dtype=bool)
    seen = {"size": REACH_SIZE, "layers": LAYERS}
    seen |= {"one": _rounded(shares[0]), "last": _rounded(shares[-1])}
    return {"grids": [_grid(layer.numpy(), past) for layer in reached], "told": seen}


_MEASURES: dict[str, Callable[[Demo], Values]] = {
    "rows": _rows,
    "masking": _masking,
    "step": _step,
    "tying": _tying,
    "feedback": _feedback,
    "projection": _projection,
    "connections": _connections,
    "cost": _cost,
}


def _grid(values: npt.NDArray[Any], seen: npt.NDArray[Any]) -> list[list[float | None]]:
    return [
        [_rounded(value) if allowed else None for value, allowed in zip(row, line, strict=True)]
        for row, line in zip(values, seen, strict=True)
    ]


def _rounded(values: Any) -> Any:
    return np.round(np.asarray(values, dtype=float), DIGITS).tolist()
