"""A pattern as a matrix: paper to ink from 0 to 1, what the mask forbids hatched, leaks framed."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from owi_core.figures.labels import as_typed, column_axis, hovers, numbered, word_axis
from owi_core.figures.roles import decoration, mark
from owi_core.figures.text import FigureText
from owi_core.figures.theme import (
    ATTENTION_RANGE,
    NOTE_SIZE,
    TEXT_SIZE,
    Theme,
    axis,
    base_figure,
    colour_at,
    colour_stops,
    height_for,
    ink_on,
    lay_out,
    palette,
    word_size,
)

# Up to 12 words a cell holds four characters on a phone; weights below 0.1 are left to colour.
_WRITTEN_TOKENS, _WRITTEN_WEIGHT = 12, 0.1
# With fewer words than this the cells stop growing and the rest of the width stays empty.
_LEAST_COLUMNS = 8


def pattern_matrix(
    pattern: np.ndarray,
    mask: np.ndarray,
    query_labels: Sequence[str],
    key_labels: Sequence[str],
    *,
    query: int | None = None,
    highest: float = ATTENTION_RANGE[1],
    theme: Theme = "light",
    text: FigureText | None = None,
) -> go.Figure:
    """Return one head's pattern with numbers where they fit; `query` marks a row.

    pattern: (T_q, T_k) weights, or other values from 0 to `highest`, which has the darkest ink.
    mask: (T_q, T_k) bool, True = may attend.
    A forbidden cell is hatched; one that is not 0 keeps its colour and is framed as a leak.
    """
    figure = bare_matrix(
        pattern, mask, query_labels, key_labels, highest=highest, theme=theme, text=text
    )
    if max(pattern.shape) <= _WRITTEN_TOKENS:
        figure.add_trace(_written(pattern, highest, theme).update(xaxis="x2", yaxis="y2"))
    if query is not None:
        figure.add_shape(_row_frame(query, len(key_labels), theme))
    return figure


def outline_cells(
    figure: go.Figure, cells: Sequence[tuple[int, int]], theme: Theme = "light"
) -> go.Figure:
    """Return a pattern's figure with a frame round each of the cells (query, key)."""
    line = {"color": palette(theme).b, "width": 3}
    for i, j in cells:
        corners = {"x0": j - 0.44, "x1": j + 0.44, "y0": i - 0.44, "y1": i + 0.44}
        figure.add_shape(type="rect", xref="x2", yref="y2", line=line, **corners)
    return figure


def bare_matrix(
    pattern: np.ndarray,
    mask: np.ndarray,
    query_labels: Sequence[str],
    key_labels: Sequence[str],
    *,
    highest: float = ATTENTION_RANGE[1],
    theme: Theme = "light",
    text: FigureText | None = None,
) -> go.Figure:
    """Return the matrix of `pattern_matrix` without numbers in its cells."""
    text = text or FigureText()
    check_shapes(pattern, mask, query_labels, key_labels)
    figure = base_figure(theme, height_for(len(query_labels), extra=130))
    nothing = _cell_hover(text, text.forbidden)
    figure.add_traces(
        [
            forbidden_cells(pattern, mask, theme, nothing, as_typed(text.forbidden)),
            weight_cells(pattern, mask, theme, _cell_hover(text), as_typed(text.weight)),
            _hatch(mask, theme),
            _leak_frames(pattern, mask, theme, text),
        ]
    )
    figure.data[1].update(zmax=highest, showscale=True, colorbar=_scale(text, highest))
    # Cells lie on the lower axes, so that hatches and frames on the upper ones are seen.
    figure.update_traces(xaxis="x2", yaxis="y2", selector={"type": "scatter"})
    lay_out(figure, **_axes(query_labels, key_labels, theme, text))
    return figure


def check_shapes(
    pattern: np.ndarray, mask: np.ndarray, query_labels: Sequence[str], key_labels: Sequence[str]
) -> None:
    """Raise ValueError unless the last two axes of pattern, mask and labels are (T_q, T_k)."""
    expected = (len(query_labels), len(key_labels))
    for name, array in (("pattern", pattern), ("mask", mask)):
        if array.shape[-2:] != expected:
            raise ValueError(
                f"{name} has shape {array.shape} and the labels are {expected}: they must agree"
            )


# Both layers have the same gaps, so that a cell has the same size whichever layer draws it.
_CELLS: dict[str, Any] = {"showscale": False, "xgap": 1, "ygap": 1, "hoverongaps": False}


def weight_cells(
    pattern: np.ndarray, mask: np.ndarray, theme: Theme, hovertemplate: str, name: str
) -> go.Heatmap:
    """Return the cells with a weight: those that are allowed, and leaks; the rest is a gap."""
    return go.Heatmap(
        # A forbidden cell that is not exactly 0 is a leak: it keeps its colour like any weight.
        z=np.where(mask | (pattern != 0), pattern, np.nan),
        zmin=ATTENTION_RANGE[0],
        zmax=ATTENTION_RANGE[1],
        colorscale=colour_stops(palette(theme).ramp),
        hovertemplate=hovertemplate,
        name=name,
        **_CELLS,
    )


def forbidden_cells(
    pattern: np.ndarray, mask: np.ndarray, theme: Theme, hovertemplate: str, name: str
) -> go.Heatmap:
    """Return the cells that the mask keeps at exactly 0, in a grey that no weight has."""
    grey = palette(theme).forbidden
    return go.Heatmap(
        # Plotly colours a cell only where it has a number; this one is a mark, not a weight of 0.
        z=np.where(mask | (pattern != 0), np.nan, 0.0),
        meta=mark(),
        zmin=0,
        zmax=1,
        colorscale=[[0, grey], [1, grey]],
        hovertemplate=hovertemplate,
        name=name,
        **_CELLS,
    )


def _cell_hover(text: FigureText, note: str = "") -> str:
    value = as_typed(note) or f"{as_typed(text.weight)} <b>%{{z:.3f}}</b>"
    query, key = as_typed(text.query), as_typed(text.key)
    return f"{query}: <b>%{{y}}</b><br>{key}: <b>%{{x}}</b><br>{value}<extra></extra>"


def _hatch(mask: np.ndarray, theme: Theme) -> go.Scatter:
    """Return three strokes for every forbidden cell, one line trace for all of them."""
    xs: list[float | None] = []
    ys: list[float | None] = []
    # Three strokes along the rising diagonal, which together look like a hatch; None lifts the pen.
    for i, j in np.argwhere(~mask).tolist():
        xs += [j - 0.5, j + 0.5, None, j - 0.5, j, None, j, j + 0.5, None]
        ys += [i + 0.5, i - 0.5, None, i, i - 0.5, None, i + 0.5, i, None]
    return _line(xs, ys, palette(theme).hatch, 1, "hatch")


def _leak_frames(
    pattern: np.ndarray, mask: np.ndarray, theme: Theme, text: FigureText
) -> go.Scatter:
    """Return a frame round every forbidden cell that is not 0."""
    xs: list[float | None] = []
    ys: list[float | None] = []
    # Five corners close the frame; it lies inside the cell, so that neighbours stay apart.
    for i, j in np.argwhere(~mask & (pattern != 0)).tolist():
        xs += [j - 0.42, j + 0.42, j + 0.42, j - 0.42, j - 0.42, None]
        ys += [i - 0.42, i - 0.42, i + 0.42, i + 0.42, i - 0.42, None]
    return _line(xs, ys, palette(theme).leak, 2.5, as_typed(text.leak))


def _written(pattern: np.ndarray, highest: float, theme: Theme) -> go.Scatter:
    """Return the values that matter as text, each in the ink that its cell needs."""
    cells = np.argwhere(pattern >= _WRITTEN_WEIGHT * highest).tolist()
    values = [float(pattern[i, j]) for i, j in cells]
    return go.Scatter(
        x=[j for _, j in cells],
        y=[i for i, _ in cells],
        mode="text",
        text=[f"{value:.2f}" if value < 10 else f"{value:.0f}" for value in values],
        textfont={
            "size": NOTE_SIZE,
            "color": [ink_on(colour_at(palette(theme).ramp, value / highest)) for value in values],
        },
        hoverinfo="skip",
        meta=decoration(),
        name="values",
    )


def _line(
    xs: list[float | None], ys: list[float | None], colour: str, width: float, name: str
) -> go.Scatter:
    # Not SVG simplified: simplification would drop strokes of small cells.
    line = {"color": colour, "width": width, "simplify": False}
    return go.Scatter(
        x=xs, y=ys, mode="lines", line=line, hoverinfo="skip", meta=decoration(), name=name
    )


def _axes(
    query_labels: Sequence[str], key_labels: Sequence[str], theme: Theme, text: FigureText
) -> dict[str, Any]:
    """Return four axes: x and y feed the hover box; x2 and y2 lie on them and print the words."""
    n_query, n_key = len(query_labels), len(key_labels)
    font = {"tickfont": {"size": word_size(max(n_query, n_key))}}
    columns = column_axis(key_labels, word_size(n_key))
    rows = word_axis(query_labels) | {"ticktext": numbered(query_labels, columns)}
    # Reversed y: query 0 is on top, as in the formula and in the article.
    x_range, y_range = [-0.5, max(n_key, _LEAST_COLUMNS) - 0.5], [n_query - 0.5, -0.5]
    whole = axis(theme, showticklabels=False)
    return {
        "xaxis": whole | word_axis(key_labels) | {"ticktext": hovers(key_labels), "range": x_range},
        "yaxis": whole
        | word_axis(query_labels)
        | {"ticktext": hovers(query_labels), "range": y_range},
        # Two axes lie on one another, because Plotly has one text for a tick: the printed words are
        # short or numbers, the hover box needs the whole word with its place.
        "xaxis2": axis(theme, text.key, side="top", **columns, **font)
        | {"overlaying": "x", "matches": "x", "range": x_range},
        "yaxis2": axis(theme, text.query, side="left", **rows, **font)
        | {"overlaying": "y", "matches": "y", "range": y_range},
        "margin": {"l": 8, "r": 12, "t": 70, "b": 60, "pad": 4},
    }


def _scale(text: FigureText, highest: float) -> dict[str, Any]:
    return {
        "orientation": "h",
        "title": {"text": as_typed(text.weight), "side": "top", "font": {"size": TEXT_SIZE}},
        "thickness": 8,
        "len": 0.5,
        "y": 0,
        "yanchor": "top",
        "ypad": 8,
        "tickvals": [0, highest / 2, highest],
        # `highest` is 1 for attention and any share for influence: three digits fit both.
        "ticktext": [f"{value:.3g}" for value in (0, highest / 2, highest)],
        "outlinewidth": 0,
    }


def _row_frame(query: int, n_key: int, theme: Theme) -> dict[str, Any]:
    return {
        "type": "rect",
        "xref": "x2",
        "yref": "y2",
        "x0": -0.5,
        "x1": n_key - 0.5,
        "y0": query - 0.5,
        "y1": query + 0.5,
        "line": {"color": palette(theme).ink, "width": 2},
        "fillcolor": "rgba(0,0,0,0)",
    }
