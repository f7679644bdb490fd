"""A small catalogue of questions to a model, each answered by measuring at once.

A measure gives an outcome out of a few (or a word), and the number behind it. Lessons ask with
them: what a lesson says is chosen by the outcome, whatever its author had expected.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from owi_core.checkpoints import Bundle
from owi_core.comparison import row_gap
from owi_core.errors import SettingError
from owi_core.experiments.connections.maps import MAP_VOCABULARY, ids_of, words_of
from owi_core.experiments.connections.settings import NAMES, Params
from owi_core.experiments.faults.masks import FAULTS, changes_in, wrapped
from owi_core.peers import KINDS
from owi_core.probes.influence import mixing_change
from owi_core.probes.knockout import Edge
from owi_core.probes.leakage import leak_max
from owi_core.probes.tie_proof import tie_cases
from owi_core.probes.tie_size import counted
from owi_core.probes.tie_touch import strongest_edit, touch
from owi_core.readings import Reading, read
from owi_core.spare_rows import encoded

Models = Callable[[str], Bundle]
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Measured:
    """What came out: one of the measure's outcomes, or a word; the number; what else was seen."""

    outcome: str
    number: float
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Measure:
    """What a measure needs and accepts, and what can come out; no outcomes = words.

    numbers: which of these are whole numbers; the rest are texts.
    """

    take: Callable[[Values, Models], Measured]
    needs: tuple[str, ...]
    may: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ("layer",)


def measure(name: str, values: Values, models: Models) -> Measured:
    """Return what comes out; models: gives a model by its name.

    Raises an OwiError for what cannot be measured: an unknown model, a word not in the text.
    """
    return MEASURES[name].take(values, models)


def _looks_at(values: Values, models: Models) -> Measured:
    """Which word the query looks at most in one layer, mean over heads, and with what weight."""
    reading = _reading(values, models)
    layer = _layer(values, reading)
    row = reading.record.row(reading.query, layer)
    # Of a tie the first: argmax is stable, so a lesson says the same on every machine.
    top = int(row.argmax())
    seen = {"query": reading.labels[reading.query], "layer": layer + 1}
    return Measured(reading.labels[top], float(row[top]), seen)


def _answer(values: Values, models: Models) -> Measured:
    """The likeliest word at the query, and its probability."""
    reading = _reading(values, models)
    seen = {"query": reading.labels[reading.query]}
    return Measured(reading.answer.word, reading.answer.probability, seen)


def _cut(values: Values, models: Models) -> Measured:
    """What the answer's log-probability does when one edge is cut in all heads of its layer."""
    reading = _reading(values, models)
    layer, key = _layer(values, reading), str(values["word"])
    # The last occurrence, and never the query itself: cutting that edge is another question.
    places = [i for i, label in enumerate(reading.labels) if label == key and i != reading.query]
    cut = reading.cut(Edge(layer, reading.query, places[-1])) if places else None
    if cut is None:
        raise SettingError("measure_no_edge", word=key, words=list(reading.labels))
    # The change is in log p, so the new probability is the old one times its exponential.
    after = reading.answer.probability * math.exp(cut.change_nats)
    seen = {"query": reading.labels[reading.query], "key": key, "answer": reading.answer.word}
    chances = {"before": reading.answer.probability, "after": after}
    return Measured(cut.effect, cut.change_nats, seen | chances)


def _rows(values: Values, models: Models) -> Measured:
    """Whether a second sentence gives the query another row, in any layer or head."""
    first = _reading(values, models)
    other = _reading({**values, "text": values["other"]}, models)
    # None where the sentences have different lengths and no key of one matches the other's.
    gap = row_gap(first, other)
    if gap is None:
        raise SettingError("measure_unequal", text=values["text"], other=values["other"])
    seen = {"query": first.labels[first.query]}
    return Measured("same" if gap == 0.0 else "differ", gap, seen)


def _leak(values: Values, models: Models) -> Measured:
    """How far an earlier output moves when a later token is exchanged, under a right or wrong mask.

    mask: a fault of owi_core.experiments.faults.masks, or "right".
    """
    bundle, mask = models(values["model"]), values.get("mask", "right")
    _refuse("mask", mask, ("right", *FAULTS))
    bundle, encoding = encoded(bundle, values["text"])
    found = changes_in(wrapped(bundle.model, mask), encoding)
    leak = leak_max(torch.from_numpy(found.values))
    return Measured("zero" if leak == 0.0 else "moves", leak)


def _matrices(values: Values, models: Models) -> Measured:
    """How many matrices embedding and head have, before or after one of the tried cases."""
    cases = {case.code: case for case in tie_cases(models(values["model"]))}
    case = values.get("case", "as_it_is")
    _refuse("case", case, tuple(cases))
    shared = cases[case].storage.shared
    return Measured("one" if shared else "two", 1 if shared else 2)


def _saved(values: Values, models: Models) -> Measured:
    """Which share of a model's numbers the sharing of one matrix saves."""
    one, two = counted(models(values["model"]).model)
    share = (two - one) / two
    bounds = {"under_tenth": 0.1, "under_quarter": 0.25, "under_half": 0.5}
    # In rising order: the first bound that the share lies under.
    outcome = next((name for name, top in bounds.items() if share < top), "over_half")
    return Measured(outcome, share, {"one": one, "two": two})


def _touch(values: Values, models: Models) -> Measured:
    """How far a word's logit moves when one cell of its embedding is written, where it is not read.

    head: "shared", as the model is, or "own", after the head got a matrix of its own.
    """
    head = values.get("head", "shared")
    _refuse("head", head, ("shared", "own"))
    reading, word = _reading(values, models), str(values["word"])
    encoding = reading.bundle.tokenizer.encode(word)
    # One row of the embedding is written, so the word must be one token.
    if len(encoding.ids) != 1 or encoding.unknown:
        raise SettingError("measure_no_word", word=word)
    ids, word_id = reading.encoding.ids, encoding.ids[0]
    # The cell that moves the logit most: a random one might move it by nothing visible.
    edit = strongest_edit(reading.bundle.model, ids, reading.query, word_id)
    seen = touch(reading.bundle, ids, reading.query, [edit], edit.cell)
    moved = (seen.tied if head == "shared" else seen.untied).logit - seen.before.logit
    return Measured("zero" if moved == 0.0 else "moves", moved, {"word": word})


@torch.no_grad()
def _reaches(values: Values, _models: Models) -> Measured:
    """How far the last output of a freshly drawn model moves when the first word is exchanged."""
    words = words_of(values["text"])
    model = _fresh(values["kind"])
    (ids,) = ids_of([words])
    changed = ids.clone()
    # An id that no sentence of this length reaches: the word is new to the whole text.
    changed[0] = MAP_VOCABULARY - 1  # a word that is nowhere else
    moved = float((model(ids[None]).logits[0, -1] - model(changed[None]).logits[0, -1]).abs().max())
    seen = {"kind": NAMES[values["kind"]], "first": words[0], "last": words[-1], "n": len(words)}
    return Measured("zero" if moved == 0.0 else "moves", moved, seen)


def _mixing(values: Values, _models: Models) -> Measured:
    """How far the weights of the sum differ between two sentences, in a freshly drawn model."""
    first, second = (words_of(values[name]) for name in ("text", "other"))
    if len(first) != len(second):
        raise SettingError("measure_unequal", text=values["text"], other=values["other"])
    ids = ids_of([first, second])
    change = mixing_change(_fresh(values["kind"]), ids[0], ids[1])
    seen = {"kind": NAMES[values["kind"]]}
    return Measured("same" if change == 0.0 else "differ", change, seen)


def _reading(values: Values, models: Models) -> Reading:
    return read(models(values["model"]), values["text"], values.get("query"))


def _layer(values: Values, reading: Reading) -> int:
    """Return the layer, counted from 0; lessons count from 1, and the last is the usual one."""
    n_layer = reading.record.n_layer
    layer = values.get("layer", n_layer)
    if not 1 <= layer <= n_layer:
        raise SettingError("setting_out_of_range", name="layer", value=layer, low=1, high=n_layer)
    return int(layer) - 1


def _fresh(kind: str) -> Any:
    _refuse("kind", kind, KINDS)
    params = Params()
    return params.models((kind,), params.plan(MAP_VOCABULARY))[kind].eval()


def _refuse(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise SettingError(
            "setting_not_a_choice", name=name, value=value, choices=", ".join(choices)
        )


MEASURES: Mapping[str, Measure] = {
    "looks_at": Measure(_looks_at, ("model", "text"), ("query", "layer")),
    "answer": Measure(_answer, ("model", "text"), ("query",)),
    "cut": Measure(
        _cut,
        ("model", "text", "word"),
        ("query", "layer"),
        ("carries", "helps", "idle", "hinders"),
    ),
    "rows": Measure(_rows, ("model", "text", "other"), ("query",), ("same", "differ")),
    "leak": Measure(_leak, ("model", "text"), ("mask",), ("zero", "moves")),
    "matrices": Measure(_matrices, ("model",), ("case",), ("one", "two")),
    "saved": Measure(
        _saved, ("model",), (), ("under_tenth", "under_quarter", "under_half", "over_half")
    ),
    "touch": Measure(_touch, ("model", "text", "word"), ("head",), ("zero", "moves")),
    "reaches": Measure(_reaches, ("kind", "text"), (), ("zero", "moves")),
    "mixing": Measure(_mixing, ("kind", "text", "other"), (), ("same", "differ")),
}
