"""The three live drawings: attention matrix, sentence of clickable words, run in progress.

They speak in token indices only; words are drawn by fillText and textContent, so whatever a
reader typed appears as typed. Scripts and styles are files of this project and use no network.
With a `key`, new data is drawn into the same DOM nodes.
"""

import base64
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from owi_core.figures import Figure, NamedRow, loss_curve, pattern_matrix, row_bars
from pages._ui.base.figure_text import figure_look
from pages._ui.base.i18n import Translator
from pages._ui.base.mounting import mount
from pages._ui.base.page import Frame
from pages._ui.draw.charts import offer
from pages._ui.draw.events import clicked, mount_clickable, version
from pages._ui.draw.say import Looked

Weights = Sequence[float] | npt.NDArray[np.floating[Any]]
Colour = Literal["A", "B"]

_MATRIX_TEXT = (
    "matrix_label matrix_numbers matrix_hint row_readout cell_readout forbidden scale_label axes "
    "hatched_note"
)
_WORDS_TEXT = "sentence_label forbidden query_word unknown_word"
_RUN_TEXT = (
    "loss_heading row_heading steps_label floor_label evaluated_label step_readout no_step_yet "
    "forbidden query_word unknown_word"
)


def attention_matrix(
    page: Frame,
    pattern: npt.ArrayLike,
    query_labels: Sequence[str],
    key_labels: Sequence[str],
    *,
    mask: npt.ArrayLike | None = None,
    selected: int | None = None,
    key: str,
) -> int | None:
    """Draw a pattern (T_q, T_k) on the fixed scale 0–1; return the row just chosen, else None.

    mask: (T_q, T_k) bool, True = may attend; forbidden cells are hatched. selected: the row to
    outline. The caller keeps what was chosen: the value comes once, then None again.
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
        "theme": page.theme,
        "text": _texts(page.t, _MATRIX_TEXT),
    }
    chosen = _chosen("attention_matrix", data, key, len(query_labels))
    seen = np.ones(values.shape, dtype=bool) if allowed is None else allowed
    make = partial(
        pattern_matrix, values, seen, query_labels, key_labels, query=selected, **figure_look(page)
    )
    offer(page, make, key=key)
    return chosen


def sentence(
    page: Frame,
    labels: Sequence[str],
    *,
    weights: Weights | None = None,
    allowed: Sequence[bool] | None = None,
    query: int | None = None,
    rows: npt.ArrayLike | None = None,
    unknown: Sequence[int] = (),
    colour: Colour = "A",
    key: str,
) -> int | None:
    """Draw a sentence in large words, a bar over each; return the word just chosen, else None.

    weights: (T,), 0–1, one row of a pattern. allowed: (T,), False where the mask forbids, drawn
    hatched. query: the word that looks. rows: (T, T) the rows of all words, NaN where forbidden;
    the browser then draws the row of a chosen word at once. unknown: indices of words the model
    never saw.
    """
    for row in (weights, allowed):
        if row is not None:
            _same_shape((len(labels),), (len(row),))
    data = {
        "labels": list(labels),
        "weights": _rounded(weights),
        "allowed": None if allowed is None else [bool(value) for value in allowed],
        "query": query,
        "rows": None if rows is None else _packed(rows),
        "unknown": [int(index) for index in unknown],
        "colour": colour,
        "theme": page.theme,
        "text": _texts(page.t, _WORDS_TEXT),
    }
    chosen = _chosen("sentence", data, key, len(labels))
    if weights is not None:
        seen = None if allowed is None else np.asarray(allowed, dtype=bool)
        looks = "" if query is None else labels[query]
        row = np.asarray(weights, dtype=np.float64)
        named = NamedRow(looks, labels, row, colour, query, seen)
        offer(page, partial(row_bars, [named], **figure_look(page)), key=key)
    return chosen


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
        weights=rows[query],
        allowed=record.mask[query].tolist(),
        query=query,
        rows=np.where(record.mask | (rows != 0), rows, np.nan),
        unknown=unknown,
        colour=colour,
        key=key,
    )


def live_run(
    page: Frame,
    points: Sequence[tuple[int, float]],
    *,
    total_steps: int,
    evaluated: Sequence[tuple[int, float]] = (),
    evaluated_unit: Literal["share", "nats"] = "share",
    floor_nats: float | None = None,
    log: bool = False,
    labels: Sequence[str] = (),
    row: Weights = (),
    query: int | None = None,
    row_heading: str | None = None,
    colour: Colour = "A",
    key: str,
) -> None:
    """Draw a run as far as it has come: (step, loss in nats), held-out part, the watched row.

    evaluated: (step, value), a share 0–1 in a strip of its own, or nats beside the loss.
    Call it again with more: the same nodes are drawn anew, bars slide.
    """
    _same_shape((len(labels),), (len(row),))
    data = {
        "points": [[int(step), round(float(loss), 5)] for step, loss in points],
        "evaluated": [[int(step), round(float(value), 5)] for step, value in evaluated],
        "evaluated_unit": evaluated_unit,
        "floor": floor_nats,
        "total_steps": max(1, total_steps),
        "log": log,
        "labels": list(labels),
        "row": _rounded(row),
        "query": query,
        "colour": colour,
        "theme": page.theme,
        "text": _texts(page.t, _RUN_TEXT) | ({"row_heading": row_heading} if row_heading else {}),
    }
    mount("live_run")(key=key, data=data)
    offer(page, partial(_settled_run, page, points, evaluated, floor_nats), key=key)


def _settled_run(
    page: Frame,
    points: Sequence[tuple[int, float]],
    evaluated: Sequence[tuple[int, float]],
    floor_nats: float | None,
) -> Figure:
    steps, losses = [step for step, _ in points], [loss for _, loss in points]
    return loss_curve(steps, losses, evaluated, floor_nats, **figure_look(page))


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


def _rounded(values: Weights | None) -> list[float] | None:
    return None if values is None else [round(float(value), 5) for value in values]


def _same_shape(expected: tuple[int, ...], got: tuple[int, ...]) -> None:
    if expected != got:
        raise ValueError(f"labels ask for shape {expected}, the values have {got}")
