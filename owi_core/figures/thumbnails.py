"""All layers and heads at a glance: one heatmap whose gutters are gaps, a row for every layer."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from owi_core.figures.labels import hovers
from owi_core.figures.matrix import check_shapes, forbidden_cells, weight_cells
from owi_core.figures.text import FigureText
from owi_core.figures.theme import TEXT_SIZE, Theme, axis, base_figure, lay_out, palette

_SHEET_PX, _LARGEST_PANEL_PX = 900, 150
_LEAST_HEADS = 4


def thumbnails(
    pattern: np.ndarray,
    mask: np.ndarray,
    query_labels: Sequence[str],
    key_labels: Sequence[str],
    *,
    selected: tuple[int, int] | None = None,
    theme: Theme = "light",
    text: FigureText | None = None,
) -> go.Figure:
    """Return every layer (rows) and head (columns); `selected` (layer, head) is framed.

    pattern: (L, H, T_q, T_k).  mask: (T_q, T_k) bool, True = may attend.
    """
    text = text or FigureText()
    check_shapes(pattern, mask, query_labels, key_labels)
    n_layer, n_head, n_query, n_key = pattern.shape
    gutter = gutter_cells(max(n_query, n_key))
    panel = min(_LARGEST_PANEL_PX, _SHEET_PX // n_head)
    sheet = tiled(np.where(mask, pattern, np.where(pattern != 0, pattern, np.nan)), gutter)
    hidden = tiled(np.where(np.broadcast_to(mask, pattern.shape), np.nan, pattern), gutter)
    figure = base_figure(theme, panel * n_layer + 70)
    cells = _weights(sheet, theme, text)
    figure.add_traces([_forbidden(hidden, theme, text), cells])
    lay_out(
        figure,
        xaxis=axis(
            theme,
            "" if n_head <= _LEAST_HEADS else text.head,
            **_lines(text.head, n_head, key_labels, gutter),
            range=_columns(n_head, n_key, gutter),
        ),
        yaxis=axis(theme, **_lines(text.layer, n_layer, query_labels, gutter))
        | {"range": [len(sheet) - 0.5, -0.5]},
        margin={"l": 72, "r": 12, "t": 40, "b": 24},
    )
    lay_out(figure, annotations=_titles(pattern.shape, gutter, text, theme))
    if selected is not None:
        figure.add_shape(_frame(selected, n_query, n_key, gutter, theme))
    return figure


def gutter_cells(n_tokens: int) -> int:
    """Return the width of a gutter in cells: about an eighth of a panel, at least one cell."""
    return max(1, round(n_tokens / 8))


def tiled(panels: np.ndarray, gutter: int) -> np.ndarray:
    """Lay panels (L, H, T_q, T_k) on one sheet (L·(T_q+g)−g, H·(T_k+g)−g) with NaN between."""
    n_layer, n_head, n_query, n_key = panels.shape
    sheet = np.full(
        (n_layer * (n_query + gutter) - gutter, n_head * (n_key + gutter) - gutter), np.nan
    )
    for layer in range(n_layer):
        for head in range(n_head):
            top, left = layer * (n_query + gutter), head * (n_key + gutter)
            sheet[top : top + n_query, left : left + n_key] = panels[layer, head]
    return sheet


def _weights(sheet: np.ndarray, theme: Theme, text: FigureText) -> go.Heatmap:
    hover = _cell_hover(f"{text.weight} <b>%{{z:.3f}}</b>")
    cells = weight_cells(sheet, np.isfinite(sheet), theme, hover, text.weight)
    return cells.update(xgap=0, ygap=0)


def _forbidden(hidden: np.ndarray, theme: Theme, text: FigureText) -> go.Heatmap:
    # Gutters must stay empty: only cells that exist and hold exactly 0 are marked.
    nowhere = np.where(hidden == 0, 0.0, 1.0)
    hover = _cell_hover(text.forbidden)
    cells = forbidden_cells(nowhere, nowhere != 0, theme, hover, text.forbidden)
    return cells.update(xgap=0, ygap=0)


def _cell_hover(value: str) -> str:
    return f"<b>%{{y}}</b><br><b>%{{x}}</b><br>{value}<extra></extra>"


def _lines(name: str, n_panel: int, labels: Sequence[str], gutter: int) -> dict[str, Any]:
    """Return unprinted ticks at every cell: the hover box reads panel and word from them."""
    step = len(labels) + gutter
    words = hovers(labels)
    return {
        "tickmode": "array",
        "tickvals": [p * step + i for p in range(n_panel) for i in range(len(labels))],
        "ticktext": [f"{name} {p + 1} · {word}" for p in range(n_panel) for word in words],
        "showticklabels": False,
    }


def _columns(n_head: int, n_key: int, gutter: int) -> list[float]:
    """Return the span of the columns; fewer heads than four leave room instead of stretching."""
    return [-0.5, max(n_head, _LEAST_HEADS) * (n_key + gutter) - gutter - 0.5]


def _titles(
    shape: tuple[int, ...], gutter: int, text: FigureText, theme: Theme
) -> list[dict[str, Any]]:
    """Return the heads' numbers above the columns and the layers' beside the rows."""
    n_layer, n_head, n_query, n_key = shape
    common = {"showarrow": False, "font": {"size": TEXT_SIZE, "color": palette(theme).muted}}
    # More heads have no room for the word on a phone: it stands once, as the axis title.
    name = f"{text.head} " if n_head <= _LEAST_HEADS else ""
    heads = [
        common
        | {"text": f"{name}{head + 1}", "x": head * (n_key + gutter) + (n_key - 1) / 2}
        | {"y": 1, "yref": "paper", "yanchor": "bottom", "yshift": 4}
        for head in range(n_head)
    ]
    layers = [
        common
        | {"text": f"{text.layer} {layer + 1}", "y": layer * (n_query + gutter) + (n_query - 1) / 2}
        | {"x": 0, "xref": "paper", "xanchor": "right", "xshift": -8}
        for layer in range(n_layer)
    ]
    return heads + layers


def _frame(
    selected: tuple[int, int], n_query: int, n_key: int, gutter: int, theme: Theme
) -> dict[str, Any]:
    layer, head = selected
    top, left = layer * (n_query + gutter) - 0.5, head * (n_key + gutter) - 0.5
    return {
        "type": "rect",
        "x0": left,
        "x1": left + n_key,
        "y0": top,
        "y1": top + n_query,
        "line": {"color": palette(theme).ink, "width": 2.5},
        "fillcolor": "rgba(0,0,0,0)",
    }
