"""Where a number of the step comes from and what it feeds: the arithmetic of one cell.

A cell is (table, row, column); of tables per head the chosen head is meant.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from owi_core.probes.step import NORM_EPSILON, StepInputs, StepRecord

PER_HEAD = ("scores", "scaled", "masked", "pattern", "z")
GIVEN = ("x", "w_q", "w_k", "w_v", "w_o", "mask")  # what a reader may edit
STREAM = "stream"  # also given, only by a pre-norm layer, and not edited
CHAIN = (
    "x", "w_q", "w_k", "w_v", "q", "k", "v", "scores", "scaled", "mask", "masked", "pattern",
    "z", "concat", "w_o", "out", "resid", "norm",
)  # fmt: skip
Kind = Literal["given", "products", "divide", "mask", "softmax", "copy", "add", "norm"]


class Cell(NamedTuple):
    """One number's place: table, row, column, counted from 0."""

    table: str
    row: int
    column: int


@dataclass(frozen=True)
class Derivation:
    """How a cell was computed: pairs to multiply and sum, or the parts of another formula.

    terms: the cells of each term with their values.  constants: other numbers used, by name.
    """

    cell: Cell
    value: float
    kind: Kind
    terms: tuple[tuple[tuple[Cell, float], ...], ...] = ()
    constants: tuple[tuple[str, float], ...] = ()
    feeds: tuple[Cell, ...] = ()

    @property
    def sources(self) -> tuple[Cell, ...]:
        """The cells it was made from, each once."""
        return tuple(dict.fromkeys(cell for term in self.terms for cell, _ in term))


def tables_of(inputs: StepInputs) -> tuple[str, ...]:
    """Return the names of all tables of a step, in the order in which they are computed."""
    if inputs.stream is None:
        return CHAIN
    at = CHAIN.index("resid")
    return (*CHAIN[:at], STREAM, *CHAIN[at:])


def table(record: StepRecord, name: str, head: int = 0) -> NDArray[Any]:
    """Return a table as one head has it, always two-dimensional."""
    if name in (*GIVEN, STREAM):
        given: NDArray[Any] = getattr(record.inputs, name)
        return given
    values: NDArray[Any] = getattr(record, name)
    return values[head] if name in PER_HEAD else values


def derive(record: StepRecord, cell: Cell, head: int = 0) -> Derivation:
    """Return how a cell was computed in a head, and which cells are computed from it."""
    kind, sources, constants = _RULES[cell.table](record, cell, head)
    terms = tuple(tuple((c, _value(record, c, head)) for c in term) for term in sources)
    value = _value(record, cell, head)
    return Derivation(cell, value, kind, terms, constants, feeds(record, cell, head))


def recomputed(derivation: Derivation) -> float:
    """Return the value computed from the terms and constants alone."""
    values = [[value for _, value in term] for term in derivation.terms]
    constant = dict(derivation.constants)
    if derivation.kind == "given":
        return derivation.value
    if derivation.kind in ("products", "add"):
        return sum(float(np.prod(term)) for term in values) + constant.get("bias", 0.0)
    if derivation.kind == "divide":
        return values[0][0] / (constant["root"] * constant["temperature"])
    if derivation.kind == "mask":
        return values[0][0] if values[0][1] else -np.inf
    if derivation.kind == "softmax":
        # No maximum subtracted: the page shows these very powers, and exp(−inf) is 0.
        powers = [float(np.exp(term[0])) for term in values]
        return powers[int(constant["place"])] / sum(powers)
    if derivation.kind == "norm":
        own = values[int(constant["place"])][0]
        return (own - constant["mean"]) / float(np.sqrt(constant["variance"] + NORM_EPSILON))
    return values[0][0]


def feeds(record: StepRecord, cell: Cell, head: int = 0) -> tuple[Cell, ...]:
    """Return the cells that are computed directly from this one, in the chosen head."""
    inputs = record.inputs
    T, d = inputs.x.shape
    D = inputs.d_head
    name, i, j = cell
    own = range(head * D, (head + 1) * D)  # the columns of this head
    rows, columns = range(T), range(d)
    # The output is added to x, or to the stream where the layer reads a normalised copy of it.
    added_to: dict[str, list[Cell]] = {"x": [], STREAM: []}
    added_to[_residual(record)].append(Cell("resid", i, j))
    # Functions, so that only the lists of the table asked for are built.
    found: dict[str, Callable[[], list[Cell]]] = {
        "x": lambda: [Cell(t, i, c) for t in "qkv" for c in columns] + added_to["x"],
        STREAM: lambda: added_to[STREAM],
        "w_q": lambda: [Cell("q", r, j) for r in rows],
        "w_k": lambda: [Cell("k", r, j) for r in rows],
        "w_v": lambda: [Cell("v", r, j) for r in rows],
        "q": lambda: [Cell("scores", i, c) for c in rows] if j in own else [],
        "k": lambda: [Cell("scores", r, i) for r in rows] if j in own else [],
        "v": lambda: [Cell("z", r, j - own.start) for r in rows] if j in own else [],
        "scores": lambda: [Cell("scaled", i, j)],
        "scaled": lambda: [Cell("masked", i, j)],
        "mask": lambda: [Cell("masked", i, j)],
        "masked": lambda: [Cell("pattern", i, c) for c in rows],
        "pattern": lambda: [Cell("z", i, c) for c in range(D)],
        "z": lambda: [Cell("concat", i, own.start + j)],
        "concat": lambda: [Cell("out", i, c) for c in columns],
        "w_o": lambda: [Cell("out", r, j) for r in rows],
        "out": lambda: [Cell("resid", i, j)],
        "resid": lambda: [Cell("norm", i, c) for c in columns],
        "norm": list,
    }
    return tuple(found[name]())


def _residual(record: StepRecord) -> str:
    """Return the name of the table that the output is added to."""
    return "x" if record.inputs.stream is None else STREAM


_Terms = list[list[Cell]]
_Rule = tuple[Kind, _Terms, tuple[tuple[str, float], ...]]


def _given(record: StepRecord, cell: Cell, head: int) -> _Rule:
    return "given", [], ()


def _projected(source: str, weights: str, place: int) -> Callable[[StepRecord, Cell, int], _Rule]:
    def rule(record: StepRecord, cell: Cell, head: int) -> _Rule:
        _, i, j = cell
        d = record.inputs.x.shape[1]
        bias = record.inputs.bias
        constants = () if bias is None else (("bias", float(bias[place, j])),)
        terms = [[Cell(source, i, n), Cell(weights, n, j)] for n in range(d)]
        return "products", terms, constants

    return rule


def _score(record: StepRecord, cell: Cell, head: int) -> _Rule:
    _, i, j = cell
    D = record.inputs.d_head
    columns = range(head * D, (head + 1) * D)
    return "products", [[Cell("q", i, c), Cell("k", j, c)] for c in columns], ()


def _scaled(record: StepRecord, cell: Cell, head: int) -> _Rule:
    root = float(np.sqrt(record.inputs.d_head))
    constants = (("root", root), ("temperature", record.inputs.temperature))
    return "divide", [[cell._replace(table="scores")]], constants


def _masked(record: StepRecord, cell: Cell, head: int) -> _Rule:
    return "mask", [[cell._replace(table="scaled"), cell._replace(table="mask")]], ()


def _weight(record: StepRecord, cell: Cell, head: int) -> _Rule:
    T = record.inputs.x.shape[0]
    terms = [[Cell("masked", cell.row, c)] for c in range(T)]
    return "softmax", terms, (("place", cell.column),)


def _summed(record: StepRecord, cell: Cell, head: int) -> _Rule:
    T, D = record.inputs.x.shape[0], record.inputs.d_head
    _, i, c = cell
    return "products", [[Cell("pattern", i, j), Cell("v", j, head * D + c)] for j in range(T)], ()


def _joined(record: StepRecord, cell: Cell, head: int) -> _Rule:
    # A column of another head comes from that head's z, which is not among the tables shown.
    own, column = divmod(cell.column, record.inputs.d_head)
    return (
        ("copy", [[Cell("z", cell.row, column)]], ()) if own == head else _given(record, cell, head)
    )


def _added(record: StepRecord, cell: Cell, head: int) -> _Rule:
    return "add", [[cell._replace(table=_residual(record))], [cell._replace(table="out")]], ()


def _normed(record: StepRecord, cell: Cell, head: int) -> _Rule:
    row = record.resid[cell.row]
    terms = [[Cell("resid", cell.row, c)] for c in range(len(row))]
    mean, variance = float(row.mean()), float(row.var())  # the population's, as in LayerNorm
    return "norm", terms, (("place", cell.column), ("mean", mean), ("variance", variance))


_RULES: dict[str, Callable[[StepRecord, Cell, int], _Rule]] = {
    **dict.fromkeys((*GIVEN, STREAM), _given),
    "q": _projected("x", "w_q", 0),
    "k": _projected("x", "w_k", 1),
    "v": _projected("x", "w_v", 2),
    "out": _projected("concat", "w_o", 3),
    "scores": _score,
    "scaled": _scaled,
    "masked": _masked,
    "pattern": _weight,
    "z": _summed,
    "concat": _joined,
    "resid": _added,
    "norm": _normed,
}


def _value(record: StepRecord, cell: Cell, head: int) -> float:
    return float(table(record, cell.table, head)[cell.row, cell.column])
