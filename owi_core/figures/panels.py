"""Many small matrices on one sheet: every layer and head, or every kind and layer.

One heatmap whose gutters are gaps: a subplot for each panel would take a browser several times as
long.  Ticks at every cell are not printed; the hover box and the table read panel and word there.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from owi_core.figures.labels import as_typed, hovers
from owi_core.figures.matrix import check_shapes, forbidden_cells, weight_cells
from owi_core.figures.roles import decoration
from owi_core.figures.text import FigureText
from owi_core.figures.theme import TEXT_SIZE, Theme, axis, base_figure, lay_out, palette

# The width of the widest page; panels stop growing where few heads would fill it.
_SHEET_PX, _LARGEST_PANEL_PX = 900, 150
_LEAST_HEADS = 4
_LEAST_GUTTER = 4  # cells; the title of a row of panels is in the gutter above it


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


def reach_panels(
    reached: np.ndarray,
    row_titles: Sequence[str],
    column_titles: Sequence[str],
    *,
    linked: str,
    unlinked: str,
    row_notes: Sequence[str] = (),
    theme: Theme = "light",
    causal: bool = True,
) -> go.Figure:
    """Return a panel for every kind (rows) after every layer (columns), query down, key across.

    reached: (K, L, T, T) bool.  linked, unlinked: words on hover.  row_notes: printed behind each
    row's title.  causal: the future, which no kind may see, is drawn as forbidden.
    """
    K, _, T, _ = reached.shape
    # The title of a row is printed in the gutter, which needs more room than a mere gap.
    gutter = max(_LEAST_GUTTER, 2 * gutter_cells(T))
    # (K, L, T, T) has the shape of (layers, heads, T, T): the same sheet fits both.
    sheet = tiled(reached.astype(float), gutter)
    height, width = sheet.shape
    figure = base_figure(theme, 40 + 124 * K)
    figure.add_traces(
        [_links(sheet, linked, unlinked, theme), _future(reached, causal, gutter, theme)]
    )
    lay_out(
        figure,
        xaxis=axis(theme, **_unprinted(column_titles, T, gutter), range=[-0.5, width - 0.5]),
        yaxis=axis(theme, **_unprinted(row_titles, T, gutter), range=[height - 0.5, -gutter - 0.5]),
        margin={"l": 4, "r": 4, "t": 30, "b": 4},
        annotations=[
            *_row_titles(row_titles, row_notes, T + gutter, theme),
            *_column_titles(column_titles, T, gutter, theme),
        ],
    )
    return figure


def gutter_cells(n_tokens: int) -> int:
    """Return the width of a gutter in cells: about an eighth of a panel, at least one cell."""
    return max(1, round(n_tokens / 8))


def tiled(panels: np.ndarray, gutter: int) -> np.ndarray:
    """Lay panels (L, H, T_q, T_k) on one sheet (L·(T_q+g)−g, H·(T_k+g)−g) with NaN between."""
    n_layer, n_head, n_query, n_key = panels.shape
    # NaN is a gap: the gutters have no colour and no hover box.
    sheet = np.full(
        (n_layer * (n_query + gutter) - gutter, n_head * (n_key + gutter) - gutter), np.nan
    )
    for layer in range(n_layer):
        for head in range(n_head):
            top, left = layer * (n_query + gutter), head * (n_key + gutter)
            sheet[top : top + n_query, left : left + n_key] = panels[layer, head]
    return sheet


def _weights(sheet: np.ndarray, theme: Theme, text: FigureText) -> go.Heatmap:
    hover = _cell_hover(f"{as_typed(text.weight)} <b>%{{z:.3f}}</b>")
    cells = weight_cells(sheet, np.isfinite(sheet), theme, hover, as_typed(text.weight))
    # Gaps of a pixel between cells would eat a cell of four pixels.
    return cells.update(xgap=0, ygap=0)


def _forbidden(hidden: np.ndarray, theme: Theme, text: FigureText) -> go.Heatmap:
    # Gutters must stay empty: only cells that exist and hold exactly 0 are marked.
    # A NaN compares unequal to 0, so gutters and allowed cells become 1 and are not drawn.
    nowhere = np.where(hidden == 0, 0.0, 1.0)
    hover = _cell_hover(as_typed(text.forbidden))
    cells = forbidden_cells(nowhere, nowhere != 0, theme, hover, as_typed(text.forbidden))
    return cells.update(xgap=0, ygap=0)


def _cell_hover(value: str) -> str:
    return f"<b>%{{y}}</b><br><b>%{{x}}</b><br>{value}<extra></extra>"


def _lines(name: str, n_panel: int, labels: Sequence[str], gutter: int) -> dict[str, Any]:
    """Return unprinted ticks at every cell: the hover box reads panel and word from them."""
    # Cells are numbered through the whole sheet; panel p begins after p panels and gutters.
    step = len(labels) + gutter
    words = hovers(labels)
    return {
        "tickmode": "array",
        "tickvals": [p * step + i for p in range(n_panel) for i in range(len(labels))],
        "ticktext": [
            f"{as_typed(name)} {p + 1} · {word}" for p in range(n_panel) for word in words
        ],
        "showticklabels": False,
    }


def _columns(n_head: int, n_key: int, gutter: int) -> list[float]:
    """Return the span of the columns; fewer heads than four leave room instead of stretching."""
    # Stretched over the whole width, two heads would be flat rectangles.
    return [-0.5, max(n_head, _LEAST_HEADS) * (n_key + gutter) - gutter - 0.5]


def _titles(
    shape: tuple[int, ...], gutter: int, text: FigureText, theme: Theme
) -> list[dict[str, Any]]:
    """Return the heads' numbers above the columns and the layers' beside the rows."""
    n_layer, n_head, n_query, n_key = shape
    # Annotations, not ticks: the ticks name every cell for the hover box.
    common = {"showarrow": False, "font": {"size": TEXT_SIZE, "color": palette(theme).muted}}
    # More heads have no room for the word on a phone: it stands once, as the axis title.
    name = f"{as_typed(text.head)} " if n_head <= _LEAST_HEADS else ""
    heads = [
        common
        | {"text": f"{name}{head + 1}", "x": head * (n_key + gutter) + (n_key - 1) / 2}
        | {"y": 1, "yref": "paper", "yanchor": "bottom", "yshift": 4}
        for head in range(n_head)
    ]
    layers = [
        common
        | {
            "text": f"{as_typed(text.layer)} {layer + 1}",
            "y": layer * (n_query + gutter) + (n_query - 1) / 2,
        }
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


def _links(sheet: np.ndarray, linked: str, unlinked: str, theme: Theme) -> go.Heatmap:
    ramp = palette(theme).ramp
    return go.Heatmap(
        z=sheet,
        zmin=0,
        zmax=1,
        colorscale=[[0, ramp[0][1]], [1, ramp[3][1]]],
        showscale=False,
        customdata=np.where(sheet == 1, as_typed(linked), as_typed(unlinked)),
        hovertemplate="%{customdata}<extra></extra>",
        hoverongaps=False,
    )


def _future(reached: np.ndarray, causal: bool, gutter: int, theme: Theme) -> go.Heatmap:
    """Return grey over every later key that is not linked, in all panels; a leak stays visible."""
    T = reached.shape[-1]
    # np.tri is True where the key is not later than the query.
    future = np.broadcast_to(~np.tri(T, dtype=bool) & causal, reached.shape)
    grey = palette(theme).forbidden
    return go.Heatmap(
        z=tiled(np.where(future & ~reached, 1.0, np.nan), gutter),
        colorscale=[[0, grey], [1, grey]],
        showscale=False,
        hoverinfo="skip",
        meta=decoration(),
    )


def _unprinted(titles: Sequence[str], T: int, gutter: int) -> dict[str, Any]:
    """Return unprinted ticks at every cell, which give its panel and its place in the sentence."""
    return {
        "showticklabels": False,
        "tickmode": "array",
        "tickvals": [p * (T + gutter) + i for p in range(len(titles)) for i in range(T)],
        "ticktext": [f"{as_typed(title)} ({i + 1})" for title in titles for i in range(T)],
    }


def _row_titles(
    titles: Sequence[str], notes: Sequence[str], step: int, theme: Theme
) -> list[dict[str, Any]]:
    texts = [as_typed(title) for title in titles]
    if notes:
        texts = [f"<b>{text}</b>  {as_typed(n)}" for text, n in zip(texts, notes, strict=True)]
    return [
        {
            "x": 0,
            "xref": "paper",
            "xanchor": "left",
            # The upper edge of the first cell of the row of panels.
            "y": row * step - 0.5,
            "yanchor": "bottom",
            "text": text,
            "showarrow": False,
            "align": "left",
            "font": {"size": TEXT_SIZE, "color": palette(theme).ink},
        }
        for row, text in enumerate(texts)
    ]


def _column_titles(
    titles: Sequence[str], T: int, gutter: int, theme: Theme
) -> list[dict[str, Any]]:
    return [
        {
            # The middle of a panel: cells are at whole numbers, the first at the panel's left edge.
            "x": column * (T + gutter) + (T - 1) / 2,
            "y": 1,
            "yref": "paper",
            "yanchor": "bottom",
            "text": as_typed(title),
            "showarrow": False,
            "font": {"size": TEXT_SIZE, "color": palette(theme).muted},
        }
        for column, title in enumerate(titles)
    ]
