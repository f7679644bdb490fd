"""The way an answer came: from the query back, layer by layer, to the words it was read from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from owi_core.figures.labels import as_typed, column_axis, hover, prints_words, word_axis
from owi_core.figures.roles import decoration
from owi_core.figures.text import FigureText
from owi_core.figures.theme import (
    NOTE_SIZE,
    TEXT_SIZE,
    Theme,
    axis,
    base_figure,
    colour_at,
    height_for,
    lay_out,
    palette,
    word_size,
)

DEFAULT_THRESHOLD = 0.1
_WRITTEN_WEIGHT = 0.3
_LEVEL_PX = 110
_MAX_WIDTH_PX = 12
# 17 points look smooth at this size; more would only make the figure larger to send.
_CURVE_POINTS = 17
_ACROSS_TOKENS = 16


@dataclass(frozen=True)
class Edge:
    """One read: in `layer` (from 0) the token at `query` took `weight` of the token at `key`."""

    layer: int
    query: int
    key: int
    weight: float


def path_edges(
    pattern: np.ndarray, query: int, threshold: float = DEFAULT_THRESHOLD
) -> tuple[Edge, ...]:
    """Return the reads of at least `threshold` that can reach `query` at the top, last layer first.

    pattern: (L, T, T) weights, mean over heads.  A token reached in one layer is followed in the
    layer beneath, since the residual stream carries it on.
    """
    edges: list[Edge] = []
    # The answer is read at the query in the last layer, so the search goes from there downwards.
    reached = {query}
    for layer in range(len(pattern) - 1, -1, -1):
        found = [
            Edge(layer, token, int(key), float(pattern[layer, token, key]))
            for token in sorted(reached)
            # Weaker edges are many and too thin to see; the figure prints the threshold.
            for key in np.flatnonzero(pattern[layer, token] >= threshold)
        ]
        edges += found
        # A token that was reached stays reached: the residual stream carries it to the next layer.
        reached |= {edge.key for edge in found}
    return tuple(edges)


def attention_path(
    pattern: np.ndarray,
    labels: Sequence[str],
    query: int,
    *,
    threshold: float = DEFAULT_THRESHOLD,
    theme: Theme = "light",
    text: FigureText | None = None,
) -> go.Figure:
    """Return the path as lines as wide as their weights; the input lies at the bottom (or left).

    pattern: (L, T, T) weights, mean over heads.  Short sentences run across, long ones downwards.
    """
    text = text or FigureText()
    if pattern.shape[1:] != (len(labels), len(labels)):
        raise ValueError(
            f"pattern has shape {pattern.shape} and there are {len(labels)} labels: they must agree"
        )
    n_layer = len(pattern)
    columns = column_axis(labels, word_size(len(labels)))
    # Long sentences run downwards: side by side their words would overlap.
    across = len(labels) <= _ACROSS_TOKENS and prints_words(columns, labels)
    edges = path_edges(pattern, query, threshold)
    figure = base_figure(
        theme, _LEVEL_PX * n_layer + 130 if across else height_for(len(labels), extra=130)
    )
    figure.add_traces([_carried(n_layer, edges, query, theme), *_reads(edges, theme)])
    figure.add_traces(
        [_stations(n_layer, labels, edges, query, theme), _notes(edges, labels, text)]
    )
    if not across:
        for trace in figure.data:
            # The same drawing turned: tokens on the vertical axis, layers from left to right.
            trace.x, trace.y = trace.y, trace.x
    lay_out(figure, **_axes(n_layer, labels, query, across, theme, text))
    lay_out(
        figure,
        annotations=[*_values(edges, across, theme), _threshold_note(threshold, text, theme)],
    )
    return figure


def _reads(edges: Sequence[Edge], theme: Theme) -> list[go.Scatter]:
    """Return a curve for every edge, from the reader down to what it reads."""
    share = np.linspace(0, 1, _CURVE_POINTS)
    # Smoothstep: level at both ends, so that the curve meets the dotted stream at no angle.
    bend = share * share * (3 - 2 * share)
    return [
        go.Scatter(
            x=edge.query + (edge.key - edge.query) * bend,
            y=edge.layer + 1 - share,
            mode="lines",
            line={
                "color": colour_at(palette(theme).ramp, 0.75),
                "width": _MAX_WIDTH_PX * edge.weight,
            },
            opacity=0.55 + 0.45 * edge.weight,
            hoverinfo="skip",
            meta=decoration(),
            name="read",
        )
        for edge in edges
    ]


def _carried(n_layer: int, edges: Sequence[Edge], query: int, theme: Theme) -> go.Scatter:
    """Return the residual stream of every reached token, dotted: it carries, it does not read."""
    top = {query: n_layer}
    for edge in edges:
        # Edges come last layer first: the first one to a key gives the highest level it is read at.
        top.setdefault(edge.key, edge.layer)
    xs: list[float | None] = []
    ys: list[float | None] = []
    for token, level in top.items():
        xs += [token, token, None]
        ys += [level, 0, None]
    line = {"color": palette(theme).muted, "width": 1.5, "dash": "dot"}
    return go.Scatter(
        x=xs, y=ys, mode="lines", line=line, hoverinfo="skip", meta=decoration(), name="residual"
    )


def _stations(
    n_layer: int, labels: Sequence[str], edges: Sequence[Edge], query: int, theme: Theme
) -> go.Scatter:
    """Return a dot for every token at every level: filled where the path passes."""
    colours = palette(theme)
    # A token is passed as a key below the layer that reads it, and as a query above it.
    passed = {(query, n_layer)} | {(edge.key, edge.layer) for edge in edges}
    passed |= {(edge.query, edge.layer + 1) for edge in edges}
    spots = [(token, level) for level in range(n_layer + 1) for token in range(len(labels))]
    return go.Scatter(
        x=[token for token, _ in spots],
        y=[level for _, level in spots],
        mode="markers",
        marker={
            "size": [13 if spot in passed else 5 for spot in spots],
            "color": [colours.ink if spot in passed else colours.grid for spot in spots],
            "opacity": 1,
            "line": {"width": 0},
        },
        customdata=[hover(labels[token], token) for token, _ in spots],
        hovertemplate="<b>%{customdata}</b><extra></extra>",
        name="tokens",
    )


def _notes(edges: Sequence[Edge], labels: Sequence[str], text: FigureText) -> go.Scatter:
    """Return an unseen point in the middle of every edge, which tells its weight."""
    return go.Scatter(
        x=[(edge.query + edge.key) / 2 for edge in edges],
        y=[edge.layer + 0.5 for edge in edges],
        mode="markers",
        # A line has no hover box along its length in Plotly; an invisible point has one.
        marker={"size": 18, "opacity": 0},
        customdata=[
            [
                hover(labels[edge.query], edge.query),
                hover(labels[edge.key], edge.key),
                edge.weight,
                edge.layer + 1,
            ]
            for edge in edges
        ],
        hovertemplate=f"{as_typed(text.layer)} %{{customdata[3]}}<br>"
        "<b>%{customdata[0]} → %{customdata[1]}</b><br>"
        f"{as_typed(text.weight)} <b>%{{customdata[2]:.3f}}</b><extra></extra>",
        name="weights",
    )


def _values(edges: Sequence[Edge], across: bool, theme: Theme) -> list[dict[str, Any]]:
    """Return the weights of the strong edges, written on a patch of the page's colour."""
    return [
        {
            "x": middle if across else level,
            "y": level if across else middle,
            "text": f"{edge.weight:.2f}",
            "font": {"size": NOTE_SIZE, "color": palette(theme).ink},
            "bgcolor": palette(theme).surface,
            "borderpad": 2,
            "showarrow": False,
        }
        for edge in edges
        if edge.weight >= _WRITTEN_WEIGHT
        for middle, level in [((edge.query + edge.key) / 2, edge.layer + 0.5)]
    ]


def _axes(
    n_layer: int, labels: Sequence[str], query: int, across: bool, theme: Theme, text: FigureText
) -> dict[str, Any]:
    ticks = column_axis(labels, word_size(len(labels))) if across else word_axis(labels)
    ticks["ticktext"] = [
        f"<b>{word}</b>" if i == query else word for i, word in enumerate(ticks["ticktext"])
    ]
    words = axis(
        theme,
        **ticks,
        tickfont={"size": word_size(len(labels))},
        # Half a step more on each side, for the widest mark and the first and last word.
        range=[-0.6, len(labels) - 0.4] if across else [len(labels) - 0.4, -0.6],
    )
    levels = axis(
        theme,
        tickmode="array",
        tickvals=list(range(n_layer + 1)),
        ticktext=[
            as_typed(text.input),
            *(f"{as_typed(text.layer)} {n + 1}" for n in range(n_layer)),
        ],
        tickfont={"size": TEXT_SIZE},
        range=[-0.25, n_layer + 0.25],
    )
    return {"xaxis": words, "yaxis": levels} if across else {"xaxis": levels, "yaxis": words}


def _threshold_note(threshold: float, text: FigureText, theme: Theme) -> dict[str, Any]:
    return {
        "text": as_typed(text.threshold.format(threshold=f"{threshold:g}")),
        "font": {"size": NOTE_SIZE, "color": palette(theme).muted},
        "x": 1,
        "y": 1,
        "xref": "paper",
        "yref": "paper",
        "xanchor": "right",
        "yanchor": "bottom",
        "yshift": 6,
        "showarrow": False,
    }
