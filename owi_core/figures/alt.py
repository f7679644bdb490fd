"""A figure's main numbers for those who hear it: how many values, the least and the most.

They are read back from the figure that drew them, as the table is; the words come from the page.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from owi_core.figures.numerals import significant
from owi_core.figures.roles import role_of
from owi_core.figures.table import adds, axis_name, axis_title, axis_words, plain


@dataclass(frozen=True)
class Extreme:
    """The least or the most of a series, and the words on the axes where it stands."""

    value: float
    place: str


@dataclass(frozen=True)
class Heard:
    """One series: its name, how many values it has, what they are, the least and the most."""

    name: str
    title: str
    count: int
    low: Extreme
    high: Extreme


def figure_heard(figure: go.Figure) -> list[Heard]:
    """Return each series of a figure that tells numbers, in the order they are drawn.

    A line between two axes of words has places and no values: it is left out.
    """
    found = (_heard(trace, figure.layout) for trace in figure.data if role_of(trace) == "values")
    return [heard for heard in found if heard is not None]


def _heard(trace: Any, layout: Any) -> Heard | None:
    values, place, title = (
        _cells(trace, layout) if trace.type == "heatmap" else _points(trace, layout)
    )
    # Gaps are forbidden keys and gutters: they are not counted and cannot be the least.
    known = np.flatnonzero(np.isfinite(values))
    if not len(known):
        return None
    # Of equal values the first is named, as a reader from the left would.
    low, high = (int(known[at]) for at in (values[known].argmin(), values[known].argmax()))
    return Heard(
        plain(str(trace.name or "")),
        title,
        len(known),
        Extreme(float(values[low]), place(low)),
        Extreme(float(values[high]), place(high)),
    )


_Told = tuple[Any, Callable[[int], str], str]  # values, the words at one of them, their title


def _cells(trace: Any, layout: Any) -> _Told:
    """Return a heatmap's cells row by row; a cell stands at its row's word → its column's."""
    values = np.asarray(trace.z, dtype=np.float64)
    # Row by row, so place n is row n // columns and column n % columns.
    n_columns = values.shape[1]
    across = _places(trace.x, layout[axis_name(trace, "x")])
    down = _places(trace.y, layout[axis_name(trace, "y")])
    title = plain(str(trace.colorbar.title.text or ""))
    return values.ravel(), lambda at: f"{down(at // n_columns)} → {across(at % n_columns)}", title


def _points(trace: Any, layout: Any) -> _Told:
    """Return the lengths of bars, or the heights of points."""
    # Horizontal bars have their lengths on x; everything else has its values on y.
    told, other = ("x", "y") if trace.type == "bar" and trace.orientation == "h" else ("y", "x")
    axis = axis_name(trace, told)
    # An axis of words carries places: the y of a path's point is a layer, not a value.
    worded = any(adds(text, at) for at, text in axis_words(layout[axis]).items())
    if trace[told] is None or worded:
        return np.empty(0), str, ""
    values = np.array([np.nan if v is None else v for v in trace[told]], dtype=np.float64)
    return values, _places(trace[other], layout[axis_name(trace, other)]), axis_title(layout, axis)


def _places(where: Any, axis: Any) -> Callable[[int], str]:
    """Return what stands on an axis at the n-th value: the word printed there, else the number."""
    words = axis_words(axis)

    def place(n: int) -> str:
        at = n if where is None else where[n]
        if isinstance(at, str):
            return plain(at)
        # Four significant digits: a place on an axis is read aloud, not calculated with.
        return words.get(float(at), significant(float(at), 4))

    return place
