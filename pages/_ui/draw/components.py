"""The three live drawings: attention matrix, sentence of clickable words, run in progress.

They take and return token indices only; words are drawn by fillText and textContent, so a text
appears exactly as it was typed. Scripts and styles are files of this project and use no network.
With a `key`, new data is drawn into the same DOM nodes.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from owi_core.corpora.glosses import glosses
from owi_core.figures import (
    Figure,
    NamedRow,
    loss_curve,
    outline_cells,
    pattern_matrix,
    row_bars,
)
from pages._ui.base.figure_text import figure_look
from pages._ui.base.i18n import Translator
from pages._ui.base.mounting import mount
from pages._ui.base.page import Frame
from pages._ui.draw.charts import offer
from pages._ui.draw.events import clicked, mount_clickable, version
from pages._ui.draw.say import Looked

Weights = Sequence[float] | npt.NDArray[np.floating[Any]]
Colour = Literal["A", "B"]
Points = Sequence[tuple[int, float]]
Cells = Sequence[tuple[int, int]]

_MATRIX_TEXT = (
    "matrix_label matrix_numbers matrix_hint row_readout cell_readout forbidden scale_label axes "
    "hatched_note"
)
_WORDS_TEXT = "sentence_label forbidden query_word unknown_word"
_RUN_TEXT = (
    "loss_heading row_heading steps_label floor_label uniform_label evaluated_label step_readout "
    "no_step_yet forbidden query_word unknown_word"
)


@dataclass(frozen=True)
class WordRow:
    """A row of a pattern, to be drawn over the words of its sentence.

    weights: (T,), 0–1. allowed: (T,), False where the mask forbids, drawn hatched. query: the
    index of the word that looks.
    """

    weights: Weights | None = None
    allowed: Sequence[bool] | None = None
    query: int | None = None

    @classmethod
    def of(cls, looked: Looked, weights: Weights | None) -> "WordRow":
        """Return weights as the row of the word that looks, with what its mask allows."""
        return cls(weights, looked.record.mask[looked.query].tolist(), looked.query)

    def named(self, labels: Sequence[str], colour: Colour) -> NamedRow:
        """Return the row as the figures take it."""
        allowed = None if self.allowed is None else np.asarray(self.allowed, dtype=bool)
        looks = "" if self.query is None else labels[self.query]
        weights = np.asarray(self.weights, dtype=np.float64)
        return NamedRow(looks, labels, weights, colour, self.query, allowed)


@dataclass(frozen=True)
class LossSoFar:
    """The loss of a run at its steps, in nats, and what was measured on held-out sentences.

    evaluated: (step, value), a share 0–1 drawn in a strip of its own, or nats beside the loss.
    floor_nats: the loss that no model can go below, where it is known.  uniform_nats: ln V, the
    loss of a model that knows nothing.
    """

    points: Points
    total_steps: int
    evaluated: Points = ()
    evaluated_unit: Literal["share", "nats"] = "share"
    floor_nats: float | None = None
    uniform_nats: float | None = None


def attention_matrix(
    page: Frame,
    pattern: npt.ArrayLike,
    query_labels: Sequence[str],
    key_labels: Sequence[str],
    *,
    mask: npt.ArrayLike | None = None,
    selected: int | None = None,
    outlined: Cells = (),
    key: str,
) -> int | None:
    """Draw a pattern (T_q, T_k) on the fixed scale 0–1; return the row just chosen, else None.

    mask: (T_q, T_k) bool, True = may attend; forbidden cells are hatched. selected: the row to
    outline. outlined: single cells to frame, as (query, key). The caller keeps what was chosen:
    the value comes once, then None again.
    """
    values = np.asarray(pattern, dtype=np.float64)
    allowed = None if mask is None else np.asarray(mask, dtype=bool)
    _same_shape((len(query_labels), len(key_labels)), values.shape)
    if allowed is not None:
        _same_shape(values.shape, allowed.shape)
    data = {
        "pattern": _packed(values),
        "query_labels": list(query_labels),
        "key_labels": list(key_labels),
        "mask": None if allowed is None else _packed(allowed),
        "selected": selected,
        "outlined": [list(cell) for cell in outlined],
        "theme": page.theme,
        "text": _texts(page.t, _MATRIX_TEXT),
    }
    chosen = _chosen("attention_matrix", data, key, len(query_labels))
    seen = np.ones(values.shape, dtype=bool) if allowed is None else allowed
    drawn = partial(
        pattern_matrix, values, seen, query_labels, key_labels, query=selected, **figure_look(page)
    )
    offer(page, lambda: outline_cells(drawn(), outlined, page.theme), key=key)
    return chosen


def sentence(
    page: Frame,
    labels: Sequence[str],
    row: WordRow | None = None,
    *,
    rows: npt.ArrayLike | None = None,
    unknown: Sequence[int] = (),
    colour: Colour = "A",
    key: str,
) -> int | None:
    """Draw a sentence in large words, a bar over each; return the word just chosen, else None.

    row: the row to draw, None for the words alone. rows: (T, T) the rows of all words, NaN where
    forbidden; the browser then draws the row of a chosen word at once. unknown: indices of words
    that the model never saw.
    """
    row = row or WordRow()
    for values in (row.weights, row.allowed):
        if values is not None:
            _same_shape((len(labels),), (len(values),))
    data = {
        "labels": list(labels),
        "weights": _rounded(row.weights),
        "allowed": None if row.allowed is None else [bool(value) for value in row.allowed],
        "query": row.query,
        "rows": None if rows is None else _packed(rows),
        "unknown": [int(index) for index in unknown],
        # Chinese readers meet English words only where the English is the subject.
        "gloss": _gloss(labels) if page.lang == "en" else None,
        "colour": colour,
        "theme": page.theme,
        "text": _texts(page.t, _WORDS_TEXT),
    }
    chosen = _chosen("sentence", data, key, len(labels))
    if row.weights is not None:
        make = partial(row_bars, [row.named(labels, colour)], **figure_look(page))
        offer(page, make, key=key)
    return chosen


def _gloss(labels: Sequence[str]) -> list[str] | None:
    """Return what is written under the words of a Chinese sentence, None under another one."""
    found = glosses(labels)
    # Of single characters a few are words by chance: 下 is "under", but not in 一下子.
    return found if 2 * sum(map(bool, found)) >= len(labels) else None


def looking(
    page: Frame,
    looked: Looked,
    layer: int,
    head: int | None = None,
    *,
    unknown: Sequence[int] = (),
    colour: Colour = "A",
    key: str,
) -> int | None:
    """Draw the words of a record and the row of the one that looks, the mean where no head is said.

    Return the word just chosen, else None.
    """
    record, query = looked.record, looked.query
    pattern = record.pattern[layer]  # (H, T, T)
    rows = pattern.mean(axis=0) if head is None else pattern[head]
    return sentence(
        page,
        looked.labels,
        WordRow.of(looked, rows[query]),
        rows=np.where(record.mask | (rows != 0), rows, np.nan),
        unknown=unknown,
        colour=colour,
        key=key,
    )


def live_run(
    page: Frame,
    curve: LossSoFar,
    *,
    labels: Sequence[str] = (),
    row: WordRow | None = None,
    colour: Colour = "A",
    key: str,
) -> None:
    """Draw a run so far: its loss, the held-out metric, and the row of the watched sentence.

    labels, row: the words of the watched sentence and the row to draw over them.
    Called again with more, it updates the same nodes, and the bars slide to their new height.
    """
    row = row or WordRow()
    weights = () if row.weights is None else row.weights
    _same_shape((len(labels),), (len(weights),))
    data = {
        "points": _steps_and_values(curve.points),
        "evaluated": _steps_and_values(curve.evaluated),
        "evaluated_unit": curve.evaluated_unit,
        "floor": curve.floor_nats,
        "uniform": curve.uniform_nats,
        "total_steps": max(1, curve.total_steps),
        "labels": list(labels),
        "row": _rounded(weights),
        "query": row.query,
        "colour": colour,
        "theme": page.theme,
        "text": _texts(page.t, _RUN_TEXT),
    }
    mount("live_run")(key=key, data=data)
    offer(page, partial(_settled_run, page, curve), key=key)


def _settled_run(page: Frame, curve: LossSoFar) -> Figure:
    steps, losses = [step for step, _ in curve.points], [loss for _, loss in curve.points]
    return loss_curve(
        steps,
        losses,
        curve.evaluated,
        curve.floor_nats,
        uniform=curve.uniform_nats,
        **figure_look(page),
    )


def _chosen(name: str, data: dict[str, Any], key: str, count: int) -> int | None:
    """Mount a component; return the index that was clicked, if it is one of 0 … count − 1."""
    labels = data["labels"] if "labels" in data else (data["query_labels"], data["key_labels"])
    view = version(labels)
    value = clicked(key, view)
    mount_clickable(name, key=key, data=data, view=view)
    whole = isinstance(value, (int, float)) and int(value) == value
    return int(value) if whole and 0 <= value < count else None


def _texts(t: Translator, names: str) -> dict[str, str]:
    """Return sentences for JavaScript, which fills in the places itself."""
    return {name: t.template(f"component.{name}") for name in names.split()}


def _packed(values: npt.ArrayLike) -> dict[str, Any]:
    """Return a matrix as the scripts unpack it: 66 × 66 in 0.05 ms, as numbers in JSON in 0.80."""
    array = np.asarray(values, dtype="<f4")
    return {"shape": array.shape, "float32": base64.b64encode(array.tobytes()).decode()}


def _steps_and_values(points: Points) -> list[list[float]]:
    return [[int(step), round(float(value), 5)] for step, value in points]


def _rounded(values: Weights | None) -> list[float] | None:
    return None if values is None else [round(float(value), 5) for value in values]


def _same_shape(expected: tuple[int, ...], got: tuple[int, ...]) -> None:
    if expected != got:
        raise ValueError(f"labels ask for shape {expected}, the values have {got}")
