"""A figure's own numbers as a table: what was drawn, read back from the figure that drew it.

One row for every point or cell.  Columns: `series` (the trace), `x`, `y` and `value` (a cell's)
with the titles of their axes, `x text` and `y text` where an axis carries words, `note 1…` for
the words of the hover box, `mark` for values that the figure marks, such as forbidden keys.
A mark without a value (a forbidden cell) has a row with its place and no number; decoration
(hatches, frames) has no row.  What a trace is, it declares itself: see `roles`.
"""

import csv
import html
import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from owi_core.figures.roles import marks_of, role_of

_TAG = re.compile(r"<[^>]*>")
_BREAK = re.compile(r"<br\s*/?>")
_DIRECTIONS = re.compile("[\u2066-\u2069]")
# What a spreadsheet would take for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_Columns = dict[str, list[Any]]


def figure_table(figure: go.Figure) -> pd.DataFrame:
    """Return the numbers of a figure at full precision, with the words that stand beside them."""
    rows = [part for trace in figure.data if tells(trace) for part in _rows(trace, figure.layout)]
    rows += [_level(shape) for shape in figure.layout.shapes if shape.name]
    names = _names(figure)
    kept = [name for name in _ORDER if any(name in row for row in rows)]
    kept += sorted({name for row in rows for name in row} - set(kept))
    # A trace without a column (a curve has no value of a cell) gets an empty field there.
    columns = {names.get(n, n): [row.get(n, np.nan) for row in rows] for n in kept}
    return pd.DataFrame(columns).dropna(axis="columns", how="all")


def csv_bytes(table: pd.DataFrame) -> bytes:
    """Return the table as CSV that a spreadsheet opens with its Chinese intact.

    UTF-8 with a byte-order mark; numbers as they are.  A word that a spreadsheet would run as a
    formula is led by an apostrophe.
    """
    # The words may be another person's: a sentence that begins with = must not run as a formula.
    safe = table.map(_harmless)
    # Numbers unquoted, words quoted: a token that is called 1 is still a word.
    text = io.StringIO()
    safe.to_csv(text, index=False, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\r\n")
    return text.getvalue().encode("utf-8-sig")


def reading_line(name: str) -> str:
    """Return the line of Python that reads such a file back: its words and its numbers."""
    # By default pandas takes a token that is called NA, null or None for a missing number.
    return f'pandas.read_csv({name!r}, keep_default_na=False, na_values=[""])'


_ORDER = ("series", "x", "x text", "y", "y text", "value", "mark")


def tells(trace: Any) -> bool:
    """Return whether a trace has something for the table: values, or the places of marks."""
    return role_of(trace) != "decoration"


def _rows(trace: Any, layout: Any) -> list[dict[str, Any]]:
    columns = _cells(trace) if trace.type == "heatmap" else _points(trace)
    for side in ("x", "y"):
        words = axis_words(layout[axis_name(trace, side)])
        texts = [words.get(float(at), "") if _is_number(at) else "" for at in columns[side]]
        # A tick that prints its own number adds nothing; only words get a column.
        if any(adds(text, at) for text, at in zip(texts, columns[side], strict=True)):
            columns[f"{side} text"] = texts
    if role_of(trace) == "mark":
        # A mark is drawn with a number of its own, which is not a number of the record.
        columns.pop("value", None)
    if marks := marks_of(trace):
        columns["mark"] = marks
    if trace.name:
        columns["series"] = [plain(str(trace.name))] * len(columns["x"])
    # A column that is empty for the whole trace is left out, an empty cell in one is kept.
    filled = {name: values for name, values in columns.items() if any(v != "" for v in values)}
    return [dict(zip(filled, row, strict=True)) for row in zip(*filled.values(), strict=True)]


def _points(trace: Any) -> _Columns:
    columns: _Columns = {"x": _listed(trace.x), "y": _listed(trace.y)}
    notes = [] if trace.customdata is None else [_parts(note) for note in trace.customdata]
    return columns | _notes(notes)


def _cells(trace: Any) -> _Columns:
    """Return a heatmap's cells row by row; a gap that tells nothing is left out."""
    values = np.asarray(trace.z, dtype=np.float64)
    n_rows, n_columns = values.shape
    xs = _listed(trace.x) if trace.x is not None else list(range(n_columns))
    ys = _listed(trace.y) if trace.y is not None else list(range(n_rows))
    # A gap with a hover box is a finding (a gradient of exactly 0); without one it is a gutter.
    shown = np.isfinite(values) | (trace.hoverongaps is not False)
    cells = np.argwhere(shown).tolist()
    columns: _Columns = {
        "x": [xs[j] for _, j in cells],
        "y": [ys[i] for i, _ in cells],
        "value": [float(values[i, j]) for i, j in cells],
    }
    notes = trace.customdata
    return columns | _notes([] if notes is None else [_parts(notes[i][j]) for i, j in cells])


def _notes(notes: Sequence[Sequence[Any]]) -> _Columns:
    width = max(map(len, notes), default=0)
    return {
        f"note {k + 1}": [plain(str(note[k])) if k < len(note) else "" for note in notes]
        for k in range(width)
    }


def _level(shape: Any) -> dict[str, Any]:
    """Return a line across the figure that has a name: a floor, or what guessing reaches."""
    return {"series": plain(str(shape.name)), "y": float(shape.y0)}


def _names(figure: go.Figure) -> Mapping[str, str]:
    """Return the headings: each column with the title of its axis, if all its axes share one."""
    titles: dict[str, set[str]] = {"x": set(), "y": set(), "value": set()}
    for trace in filter(tells, figure.data):
        for side in ("x", "y"):
            titles[side].add(axis_title(figure.layout, axis_name(trace, side)))
        if trace.type == "heatmap":
            titles["value"].add(plain(str(trace.colorbar.title.text or "")))
    return {
        column: f"{column}: {title}"
        for column, found in titles.items()
        for title in [next(iter(found - {""}), "")]
        # Two panels with different titles share the column, so neither title fits it.
        if title and len(found - {""}) == 1
    }


def axis_title(layout: Any, name: str) -> str:
    """Return an axis's title, or that of the axis which lies on it and prints the words."""
    short = name.replace("axis", "")
    # The matrix prints its words and titles on axes that lie on the ones of its cells.
    lying = [axis for axis in _axes(layout, short[0]) if axis.overlaying == short]
    titles = [axis.title.text for axis in (layout[name], *lying)]
    return plain(next((str(title) for title in titles if title), ""))


def _axes(layout: Any, side: str) -> list[Any]:
    return [layout[name] for name in layout if str(name).startswith(f"{side}axis")]


def axis_name(trace: Any, side: str) -> str:
    return f"{side}axis" + str(trace[f"{side}axis"] or side)[1:]


def axis_words(axis: Any) -> dict[float, str]:
    """Return what an axis prints at each place."""
    if axis.tickvals is None or axis.ticktext is None:
        return {}
    # strict=False: Plotly itself ignores ticks without a text.
    pairs = zip(axis.tickvals, axis.ticktext, strict=False)
    return {float(at): plain(str(text)) for at, text in pairs}


def plain(text: str) -> str:
    """Return a Plotly text as the reader sees it: no tags, no entities, no marks of direction."""
    # Tags first, entities after: &#60;b&#62; is a word that was typed, not a tag.
    stripped = _TAG.sub("", _BREAK.sub("", text))
    return _DIRECTIONS.sub("", html.unescape(stripped))


def _parts(note: Any) -> Sequence[Any]:
    return [note] if isinstance(note, str) or np.ndim(note) == 0 else list(note)


def _listed(values: Any) -> list[Any]:
    """Return coordinates as plain numbers or words; a gap in a line is no number."""
    if values is None:
        return []
    return [
        v.item() if isinstance(v, np.generic) else np.nan if v is None else v for v in list(values)
    ]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and bool(np.isfinite(value))


def adds(text: str, value: Any) -> bool:
    """Whether what an axis prints at a value says more than the value."""
    try:
        return bool(float(text.replace("−", "-")) != value)
    except ValueError:
        return text != ""


def _harmless(value: Any) -> Any:
    if not isinstance(value, str) or not value.startswith(_FORMULA):
        return value
    try:
        # "-3" is a number as well as the start of a formula: it is kept.
        float(value)
    except ValueError:
        return f"'{value}"
    return value
