"""One cell changed in the embedding: what the head contains there afterwards, tied and untied.

Shapes: T tokens, V vocabulary, d = d_model.
"""

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from owi_core.checkpoints import Bundle
from owi_core.errors import ModelFileError, SettingError
from owi_core.model import Transformer
from owi_core.probes.storage import untie

N_TOP = 3
FIRST_SIZE = 5.0  # a cell of a trained row is about 0.1
LIMIT = 1000.0  # the largest value that may be written


class Cell(NamedTuple):
    """A place in the matrix."""

    word_id: int
    dimension: int


class Edit(NamedTuple):
    """One number to be written into the embedding."""

    cell: Cell
    value: float


@dataclass(frozen=True)
class Side:
    """A model after the edits: the head's cell, the word's logit, and the most likely words."""

    head_cell: float
    logit: float
    probability: float
    logits: tuple[float, ...]
    answer: int


@dataclass(frozen=True)
class Touched:
    """A cell and its word's logit at the query: before the edits, and after, tied and untied.

    cell_before, cell_after: in the embedding, the same in both models.  state: the final state's
    number in that dimension, before the edits.  words: ids of the cell's word and the likeliest
    ones, whose logits each side gives.  in_sentence: the word is read too, so its input moves.
    """

    cell_before: float
    cell_after: float
    state: float
    in_sentence: bool
    words: tuple[int, ...]
    before: Side
    tied: Side
    untied: Side


@torch.no_grad()
def touch(
    bundle: Bundle, ids: Sequence[int], query: int, edits: Sequence[Edit], cell: Cell
) -> Touched:
    """Write the edits into copies of a tied model, one of them untied first; look at one cell.

    ids: (T,).  Raises SettingError for a word, dimension or value out of range, ModelFileError
    when the numbers overflow; the model is not changed.
    """
    _refuse(bundle.model, (cell, 0.0), *edits)
    tied = copy.deepcopy(bundle.model).eval()
    untied = untie(copy.deepcopy(tied))
    before = _logits(tied, ids, query)  # (V,)
    state = final_state(tied, ids, query)  # (d,)
    # Before the edits: afterwards the tied model's own cells have changed.
    first = (_at(tied.embedding.weight, cell), _at(tied.lm_head.weight, cell))
    for model in (tied, untied):
        for edited, value in edits:
            model.embedding.weight[edited] = value
    after = [_logits(model, ids, query) for model in (tied, untied)]
    if not all(bool(torch.isfinite(logits).all()) for logits in (before, *after)):
        raise ModelFileError("model_overflows")
    words = _shown(cell.word_id, before, *after)
    return Touched(
        cell_before=first[0],
        cell_after=_at(tied.embedding.weight, cell),
        state=float(state[cell.dimension]),
        in_sentence=cell.word_id in ids,
        words=words,
        before=_side(first[1], before, cell.word_id, words),
        tied=_side(_at(tied.lm_head.weight, cell), after[0], cell.word_id, words),
        untied=_side(_at(untied.lm_head.weight, cell), after[1], cell.word_id, words),
    )


@torch.no_grad()
def final_state(model: Transformer, ids: Sequence[int], query: int) -> Tensor:
    """Return the input of the head at the query, (d,): a head of the unit matrix returns it."""
    unit = {"lm_head.weight": torch.eye(model.config.d_model)}
    out = torch.func.functional_call(model, unit, (torch.tensor([list(ids)]),), tie_weights=False)
    state: Tensor = out.logits[0, query]
    return state


def strongest_edit(model: Transformer, ids: Sequence[int], query: int, word_id: int) -> Edit:
    """Return an edit of a word's row that raises its logit much.

    It is where the final state is largest, with the sign of that number.
    """
    # The logit is row · state, so this one cell adds size · |state| to it.
    state = final_state(model, ids, query)
    dimension = int(state.abs().argmax())
    return Edit(Cell(word_id, dimension), math.copysign(FIRST_SIZE, float(state[dimension])))


class Neighbour(NamedTuple):
    """A word, and how like its row is: cosine, dot product, and the length of the row."""

    word_id: int
    cosine: float
    dot: float
    length: float


class Neighbours(NamedTuple):
    """The most likely rows first; logit_error: largest |dot product − logit| over all words."""

    rows: tuple[Neighbour, ...]
    logit_error: float | None


@torch.no_grad()
def near_state(model: Transformer, ids: Sequence[int], query: int, n: int = 8) -> Neighbours:
    """Return the rows with the largest dot product with the final state: these are the logits."""
    state = final_state(model, ids, query)  # (d,)
    rows = _neighbours(model, state, n, by_dot=True)
    logits = _logits(model, ids, query)
    error = float((model.embedding.weight @ state - logits).abs().max())
    return Neighbours(rows, error)


@torch.no_grad()
def near_word(model: Transformer, word_id: int, n: int = 8) -> Neighbours:
    """Return the rows with the largest cosine to a word's row, itself left out."""
    rows = _neighbours(model, model.embedding.weight[word_id], n + 1, by_dot=False)
    return Neighbours(tuple(row for row in rows if row.word_id != word_id)[:n], None)


def _neighbours(
    model: Transformer, vector: Tensor, n: int, *, by_dot: bool
) -> tuple[Neighbour, ...]:
    E = model.embedding.weight  # (V, d)
    dots, lengths = E @ vector, E.norm(dim=1)  # (V,)
    cosines = dots / (lengths * vector.norm()).clamp_min(1e-12)
    ranked = (dots if by_dot else cosines).topk(min(n, len(dots))).indices.tolist()
    return tuple(Neighbour(i, float(cosines[i]), float(dots[i]), float(lengths[i])) for i in ranked)


def _logits(model: Transformer, ids: Sequence[int], query: int) -> Tensor:
    logits: Tensor = model(torch.tensor([list(ids)])).logits[0, query]
    return logits


def _shown(word_id: int, *logits: Tensor) -> tuple[int, ...]:
    """Return the edited word and the likeliest of each side, each once."""
    ranked = [int(i) for row in logits for i in row.topk(min(N_TOP, len(row))).indices]
    return tuple(dict.fromkeys([word_id, *ranked]))


def _side(head_cell: float, logits: Tensor, word_id: int, words: Sequence[int]) -> Side:
    return Side(
        head_cell=head_cell,
        logit=float(logits[word_id]),
        probability=float(logits.softmax(-1)[word_id]),
        logits=tuple(float(logits[i]) for i in words),
        answer=int(logits.argmax()),
    )


def _at(matrix: Tensor, cell: Cell) -> float:
    return float(matrix[cell])


def _refuse(model: Transformer, *edits: tuple[Cell, float]) -> None:
    V, d = model.embedding.weight.shape
    for (word_id, dimension), value in edits:
        spans = {
            "word": (word_id, 0, V - 1),
            "dimension": (dimension, 0, d - 1),
            "value": (value, -LIMIT, LIMIT),
        }
        for name, (given, low, high) in spans.items():
            if not low <= given <= high:  # a NaN is refused too
                raise SettingError(
                    "setting_out_of_range", name=name, value=given, low=low, high=high
                )
