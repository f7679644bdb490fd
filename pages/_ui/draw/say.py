"""Which sentence a reading has earned: every finding is chosen by the values that were measured.

Each function returns lines: a catalog key and its values.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from owi_core.comparison import row_gap, same_words
from owi_core.figures import signed
from owi_core.probes.knockout import Edge
from owi_core.probes.rows import entropy_nats
from owi_core.readings import IDLE_NATS, Cut, Reading
from owi_core.record_file import SavedRecord
from owi_core.segmentation import usual_form

Line = tuple[str, dict[str, Any]]
Looked = Reading | SavedRecord  # what has a record, and a word that looks

SHARP, FLAT = 0.3, 0.8  # shares of the greatest possible entropy
DIRECT_MASS = 0.5
ALIKE_NATS = 0.01  # two entropies this close are written alike, or nearly
ROUNDING = 1e-6  # float32, of weights up to 1
LEAST_PATH = 0.05  # the product of two weights


def answer_line(reading: Reading) -> Line:
    """What the model answers, or that it does not know and why."""
    answer = reading.answer
    if answer.reason == "next_character":
        return "answer.next", _answer_values(reading)
    if answer.known:
        return "answer.known", _answer_values(reading)
    return f"answer.{answer.reason}", _answer_values(reading)


def would_line(reading: Reading) -> Line | None:
    """What the model would have said, where it may not be believed."""
    return None if reading.answer.known else ("answer.would", _answer_values(reading))


def gaze_line(reading: Reading, layer: int, head: int | None) -> Line:
    """Where the query's row looks in one layer and head, beside what the answer is."""
    row = reading.record.row(reading.query, layer, head)
    top, place = int(row.argmax()), reading.answer.antecedent
    mass = 0.0 if place is None else mass_on_word(reading, row)
    values = {
        "query": reading.labels[reading.query],
        "layer": layer + 1,
        "top": reading.labels[top],
        "top_mass": float(row[top]),
        "word": reading.answer.word,
        "mass": mass,
        **spread(reading, row),
    }
    if values["keys"] == 1:
        return "gaze.alone", values
    if not reading.answer.known or place is None:
        return "gaze.most", values
    return ("gaze.direct" if mass >= DIRECT_MASS else "gaze.elsewhere"), values


def spread(reading: Looked, row: NDArray[np.float32]) -> dict[str, float]:
    """The entropy of a row and the greatest it could have, over the keys the query may see."""
    allowed = int(reading.record.mask[reading.query].sum())
    return {"entropy": entropy_nats(row), "flat": float(np.log(allowed)), "keys": allowed}


def shape_of(reading: Looked, row: NDArray[np.float32]) -> str:
    """Whether a row is "sharp", "between" or "flat", by its entropy; "alone" with one key only."""
    measured = spread(reading, row)
    if measured["keys"] == 1:
        return "alone"
    share = measured["entropy"] / measured["flat"]
    if share >= FLAT:
        return "flat"
    return "sharp" if share <= SHARP else "between"


def proof_lines(reading: Reading, layer: int) -> list[Line]:
    """What cutting the row's strongest edge did to the answer, beside other cuts and the routes."""
    cut = reading.cut(reading.strongest(layer))
    if cut is None:
        return [("proof.none", {"query": reading.labels[reading.query]})]
    # Below an answer that is not believed comes the number alone: no claim of what it rests on.
    believed = reading.answer.known
    lines = [(f"proof.{cut.need if believed else 'guess'}", _cut_values(reading, cut))]
    control = reading.cut(reading.control(cut.edge))
    if control is not None:
        lines.append(("proof.control", _cut_values(reading, control)))
    dearest = most_important_cut(reading) if believed else None
    if dearest is not None and dearest.change_nats < min(cut.change_nats, 0) - IDLE_NATS:
        lines.append(("proof.dearest", _cut_values(reading, dearest)))
    route = route_line(reading)
    return lines if route is None else [*lines, route]


def route_line(reading: Reading) -> Line | None:
    """By which route the answer comes, decided by closing both in turn; None without an answer."""
    routes = reading.routes
    if routes is None:
        return None
    values = {
        "query": reading.labels[reading.query],
        "word": reading.answer.word,
        "without": routes.without_direct,
        "alone": routes.direct_alone,
    }
    return f"route.{routes.route}", values


def most_important_cut(reading: Reading) -> Cut | None:
    """The edge whose loss costs the answer most, in any layer."""
    effects = reading.effects
    if np.isnan(effects).all():
        return None
    layer, key = np.unravel_index(int(np.nanargmin(effects)), effects.shape)
    return reading.cut(Edge(int(layer), reading.query, int(key)))


def is_indirect(reading: Reading) -> bool:
    """Whether an answer is known and the direct look alone does not account for it."""
    return reading.routes is not None and reading.routes.route != "direct"


def path_line(reading: Reading) -> Line:
    """By which word an answer may come that is not read directly: the two strongest looks."""
    pattern, query = reading.record.pattern.mean(axis=1), reading.query  # (L, T, T)
    word, labels = reading.answer.word, reading.labels
    values: dict[str, Any] = {"query": labels[query], "word": word}
    steps = [
        (float(pattern[late, query, via] * pattern[early, via, key]), late, early, via, key)
        for late in range(1, len(pattern))
        for early in range(late)
        for via in range(len(labels))
        for key in reading.meant
        if via not in (query, key)
    ]
    if not steps or max(steps)[0] < LEAST_PATH:
        return "path.unclear", values
    _, late, early, via, key = max(steps)
    first, second = float(pattern[early, via, key]), float(pattern[late, query, via])
    places = {"early": early + 1, "late": late + 1, "via": labels[via]}
    return "path.via", values | places | {"first": first, "second": second}


def mass_on_word(reading: Reading, row: NDArray[np.float32]) -> float:
    """The row's mass on every token that is the answer's word."""
    return float(row[list(reading.meant)].sum())


def finding(a: Reading, b: Reading, layer: int, head: int | None) -> Line:
    """What the two sentences show together."""
    values = _pair_values(a, b, layer, head)
    gap = row_gap(a, b)
    if is_untrained(a):
        return _of_untrained(a, b, layer, head), values
    cause = _cause_of_sameness(a, b, gap)
    if cause is not None:
        words = _different_words(a, b)
        return f"finding.identical_{cause}", values | {"gap": gap, "words": words}
    if a.answer.known and b.answer.known:
        return _both_known(a, b), values
    for side, reading in (("A", a), ("B", b)):
        if not reading.has_pronoun:
            query = reading.labels[reading.query]
            return "finding.no_pronoun", values | {"side": side, "query": query}
    known = "one" if a.answer.known or b.answer.known else "none"
    return f"finding.{known}_known_{_wider(values['entropy_a'], values['entropy_b'])}", values


def _of_untrained(a: Reading, b: Reading, layer: int, head: int | None) -> str:
    rows = (reading.record.row(reading.query, layer, head) for reading in (a, b))
    flat = all(shape_of(a, row) == "flat" for row in rows)
    return "finding.untrained_flat" if flat else "finding.untrained"


def is_untrained(reading: Reading) -> bool:
    """Whether the model's own note says that it never made a step."""
    params = reading.bundle.note.get("params")
    return isinstance(params, dict) and params.get("steps") == 0


def checks(readings: Iterable[Looked]) -> list[tuple[str, bool]]:
    """What the records prove about themselves, as (code, held in all)."""
    held: dict[str, bool] = {}
    for reading in readings:
        for check in reading.record.checks():
            held[check.code] = held.get(check.code, True) and check.passed
    return list(held.items())


def _both_known(a: Reading, b: Reading) -> str:
    if a.answer.word == b.answer.word:
        return "finding.same_answer"
    routes = {reading.routes.route for reading in (a, b) if reading.routes is not None}
    if not routes:
        return "finding.next"
    if routes == {"direct"}:
        return "finding.moved"
    return "finding.moved_by_detour" if "detour" in routes else "finding.moved_otherwise"


def _wider(entropy_a: float, entropy_b: float) -> str:
    """Which row is spread wider, if the entropies differ as they are written."""
    if abs(entropy_a - entropy_b) < ALIKE_NATS:
        return "alike"
    return "b_wider" if entropy_b > entropy_a else "a_wider"


def _cause_of_sameness(a: Reading, b: Reading, gap: float | None) -> str | None:
    """Return why two sentences have the same row: "causal", "spare", "other"; None if they differ.

    gap: as `row_gap` has it.
    """
    if gap is None or a.labels == b.labels:
        return None
    if same_words(a, b) and a.sees_no_later and b.sees_no_later:
        # Sums over sentences of unequal length are rounded in another order.
        return "causal" if gap <= ROUNDING else None
    if gap > 0:
        return None
    # Different words with the same ids: each sentence gives its unknown words the same rows.
    return "spare" if _different_words(a, b) else "other"


def _different_words(a: Reading, b: Reading) -> list[str]:
    """Return the words of both sentences that differ and yet have the same id, in order."""
    pairs = zip(a.labels, b.labels, a.encoding.ids, b.encoding.ids, strict=False)
    differ = [(x, y) for x, y, i, j in pairs if i == j and usual_form(x) != usual_form(y)]
    return list(dict.fromkeys(word for pair in differ for word in pair))


def _answer_values(reading: Reading) -> dict[str, Any]:
    answer = reading.answer
    return {
        "query": reading.labels[reading.query],
        "word": answer.word,
        "p": answer.probability,
        "other": answer.runner_up,
        "q": answer.runner_up_probability,
        "margin": answer.margin_nats,
    }


def _cut_values(reading: Reading, cut: Cut) -> dict[str, Any]:
    return {
        "layer": cut.edge.layer + 1,
        "query": reading.labels[cut.edge.query],
        "key": cut.word,
        "weight": cut.weight,
        "change": signed(cut.change_nats),
        "everywhere": signed(cut.everywhere_nats),
        "word": reading.answer.word,
    }


def _pair_values(a: Reading, b: Reading, layer: int, head: int | None) -> dict[str, Any]:
    rows = [reading.record.row(reading.query, layer, head) for reading in (a, b)]
    spreads = [spread(reading, row) for reading, row in zip((a, b), rows, strict=True)]
    return {
        "query_a": a.labels[a.query],
        "query_b": b.labels[b.query],
        "word_a": a.answer.word,
        "word_b": b.answer.word,
        "entropy_a": spreads[0]["entropy"],
        "entropy_b": spreads[1]["entropy"],
        "flat": spreads[1]["flat"],
        "layer": layer + 1,
    }
