"""The chain of tables as the browser draws it, and what was clicked or typed there."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from owi_core.figures import pattern_matrix
from owi_core.probes.derivation import GIVEN, PER_HEAD, STREAM, Cell, derive, table, tables_of
from owi_core.probes.step import StepRecord, changed
from pages._labs.step.text import figure, formula, weighted_sum
from pages._ui.base.figure_text import figure_look
from pages._ui.base.page import Frame
from pages._ui.draw.charts import offer
from pages._ui.draw.events import events, mount_clickable

KEY = "step.chain"
MOST_ROWS, MOST_COLUMNS = 16, 8
STAGES = (
    ("given", ("x",)),
    ("project", ("w_q", "q", "w_k", "k", "w_v", "v")),
    ("score", ("scores", "scaled")),
    ("mask", ("mask", "masked")),
    ("softmax", ("pattern",)),
    ("mix", ("z",)),
    ("join", ("concat", "w_o", "out")),
    ("close", (STREAM, "resid", "norm")),
)
# Tables whose columns, or rows, belong to a head: a wide one is shown where its head begins.
_HEAD_COLUMNS = ("w_q", "w_k", "w_v", "q", "k", "v", "concat")
_HEAD_ROWS = ("w_o",)
_SQUARE = ("scores", "scaled", "mask", "masked", "pattern")
_ROWS_ARE_VECTORS = ("x", "q", "k", "v", *_SQUARE, "z", "concat", "out", STREAM, "resid", "norm")
_MOST = 1000.0


@dataclass(frozen=True)
class Edit:
    """A number that was typed into a cell."""

    cell: Cell
    value: float


def taken(record: StepRecord, head: int, view: str) -> list[Cell | Edit]:
    """Return the cells that were chosen and the numbers that were typed, in their order.

    Only what was clicked in this view: in another one the same place is another number.
    """
    found: list[Cell | Edit] = []
    for event in events(KEY):
        if event.view != view or not isinstance(event.meant, list):
            continue
        place, value = _cell(event.meant[:3], record, head), event.meant[3:]
        if place is not None and event.kind == "chosen":
            found.append(place)
        elif place is not None and place.table in GIVEN and _is_number(value):
            found.append(Edit(place, float(value[0])))
    return found


def _is_number(value: list[Any]) -> bool:
    return len(value) == 1 and isinstance(value[0], int | float) and abs(value[0]) <= _MOST


def draw(
    page: Frame,
    record: StepRecord,
    before: StepRecord,
    labels: tuple[str, ...],
    head: int,
    selected: Cell | None,
    view: str,
) -> None:
    """Draw all tables; mark what is other than `before`, and around the selected cell its kin."""
    marks = changed(before, record)
    derived = derive(record, selected, head) if selected else None
    data = {
        "stages": [
            {
                "title": page.t(f"stage.{name}.title"),
                "about": _about(page, name, record),
                "panels": [
                    _panel(page, record, t, head, marks, labels)
                    for t in tables
                    if t in tables_of(record.inputs)
                ],
            }
            for name, tables in STAGES
        ],
        "selected": None if selected is None else _shown(record, selected, head),
        "sources": _by_table(record, derived.sources if derived else (), head),
        "feeds": _by_table(record, derived.feeds if derived else (), head),
        "formula": _lines(record, selected, head),
        "text": {name: page.t(f"chain.{name}") for name in _TEXT},
        "theme": page.theme,
    }
    mount_clickable("step_chain", lab="step", key=KEY, data=data, view=view)
    pattern, mask = record.pattern[head], record.inputs.mask
    make = partial(pattern_matrix, pattern, mask, labels, labels, **figure_look(page))
    offer(page, make, key=KEY, table=partial(every_number, record))


def every_number(record: StepRecord) -> pd.DataFrame:
    """Return all tables of the step as one; a table without heads counts as head 0's."""
    given = (*GIVEN, STREAM)
    names = tables_of(record.inputs)
    tables = {n: getattr(record.inputs if n in given else record, n) for n in names}
    rows = [
        (name, *(at if len(at) == 3 else (0, *at)), float(value))
        for name, table in tables.items()
        for at, value in np.ndenumerate(table)
    ]
    return pd.DataFrame(rows, columns=["table", "head", "row", "column", "value"])


_TEXT = ("hint", "edit", "source", "fed", "changed")


def _lines(record: StepRecord, selected: Cell | None, head: int) -> list[str]:
    if selected is None:
        return []
    lines = formula(derive(record, selected, head))
    if selected.table in ("z", "pattern"):
        lines.append(weighted_sum(selected.row, record.pattern[head, selected.row].tolist()))
    if selected.table == "pattern":
        row = record.pattern[head, selected.row]
        lines.append(" + ".join(figure(float(w)) for w in row) + f" = {figure(float(row.sum()))}")
    return lines


def _about(page: Frame, stage: str, record: StepRecord) -> str:
    """Return what a stage does; the last one adds to the stream where the layer has its own."""
    own = stage == "close" and record.inputs.stream is not None
    return page.t("stage.close.about_stream" if own else f"stage.{stage}.about")


def _panel(
    page: Frame,
    record: StepRecord,
    name: str,
    head: int,
    marks: dict[str, Any],
    labels: tuple[str, ...],
) -> dict[str, Any]:
    whole = table(record, name, head)
    top, left, rows, columns = _window(record, name, head)
    seen = np.s_[top : top + rows, left : left + columns]
    marked = marks[name][head] if name in PER_HEAD and marks[name].ndim == 3 else marks[name]
    shown = whole[seen].astype(float).round(6)
    named = _names(labels, rows)
    own = name == "resid" and record.inputs.stream is not None
    kinds = {"mask": "mask", "pattern": "weight"}
    return {
        "id": name,
        "title": page.t("panel.resid_stream" if own else f"panel.{name}"),
        "shape": _shape(page, whole.shape, (rows, columns)),
        "values": [[None if np.isinf(v) else v for v in row] for row in shown.tolist()],
        "rows": named if name in _ROWS_ARE_VECTORS else _places(top, rows),
        "columns": named[:columns] if name in _SQUARE else _places(left, columns),
        "changed": np.argwhere(marked[seen]).tolist(),
        # A weight of exactly 0 that the mask makes must not look like a small one.
        "shut": _forbidden(record, name, rows, columns),
        "editable": name in GIVEN,
        "kind": kinds.get(name, "signed"),
    }


def _names(labels: tuple[str, ...], count: int) -> list[str]:
    """Return the words of a sentence with their places; of vectors without words, the places."""
    places = _places(0, count)
    if labels == unnamed(len(labels)):
        return places
    return [f"{place} {word}" for place, word in zip(places, labels, strict=False)]


def unnamed(count: int) -> tuple[str, ...]:
    """Return what vectors without words are called, each by its place."""
    return tuple(f"x{i + 1}" for i in range(count))


def _places(start: int, count: int) -> list[str]:
    return [str(start + i + 1) for i in range(count)]


def _forbidden(record: StepRecord, name: str, rows: int, columns: int) -> list[list[int]]:
    if name != "pattern":
        return []
    return [list(at) for at in np.argwhere(~record.inputs.mask[:rows, :columns]).tolist()]


def _shape(page: Frame, whole: tuple[int, ...], shown: tuple[int, int]) -> str:
    shape = f"{whole[0]} × {whole[1]}"
    if shown == whole:
        return shape
    return page.t("chain.cropped", shape=shape, rows=shown[0], columns=shown[1])


def _window(record: StepRecord, name: str, head: int) -> tuple[int, int, int, int]:
    """Return top, left, rows and columns of the part of a table that is shown."""
    height, width = table(record, name, head).shape
    most = MOST_ROWS if name in _SQUARE else MOST_COLUMNS
    columns = min(width, most)
    rows = min(height, MOST_COLUMNS if name.startswith("w_") else MOST_ROWS)
    start = head * record.inputs.d_head
    left = min(start, width - columns) if name in _HEAD_COLUMNS and width > columns else 0
    top = min(start, height - rows) if name in _HEAD_ROWS and height > rows else 0
    return top, left, rows, columns


def _shown(record: StepRecord, cell: Cell, head: int) -> list[Any]:
    top, left, _, _ = _window(record, cell.table, head)
    return [cell.table, cell.row - top, cell.column - left]


def _by_table(record: StepRecord, cells: tuple[Cell, ...], head: int) -> dict[str, list[list[int]]]:
    found: dict[str, list[list[int]]] = {}
    for cell in cells:
        name, row, column = _shown(record, cell, head)
        found.setdefault(name, []).append([row, column])
    return found


def _cell(sent: object, record: StepRecord, head: int) -> Cell | None:
    """Return the cell that the browser named, if there is such a one."""
    known = tables_of(record.inputs)
    if not isinstance(sent, list) or len(sent) != 3 or sent[0] not in known:
        return None
    if not all(isinstance(place, int | float) for place in sent[1:]):
        return None
    top, left, rows, columns = _window(record, sent[0], head)
    row, column = int(sent[1]), int(sent[2])
    inside = 0 <= row < rows and 0 <= column < columns
    return Cell(sent[0], top + row, left + column) if inside else None
