"""What connections cost: time against length, which pairs are linked, bars, and pairs of curves.

Every title is given by the page: these figures know no language.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go

from owi_core.figures.roles import decoration, mark
from owi_core.figures.theme import (
    NOTE_SIZE,
    TEXT_SIZE,
    Palette,
    Theme,
    axis,
    base_figure,
    lay_out,
    palette,
)
from owi_core.figures.thumbnails import gutter_cells, tiled

_SYMBOLS = ("circle", "square", "diamond", "cross", "x", "triangle-up", "star", "hexagon")
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_LABEL_GAP = 0.052  # least distance of two labels, as a share of the chart's height
_LEAST_GUTTER = 4  # cells; a row's title stands in the gutter above it
Identity = Literal["A", "B", ""]


@dataclass(frozen=True)
class Timed:
    """One model's seconds by length, the exponent that was fitted, and whose colour it has."""

    label: str
    seconds: Mapping[int, float]
    slope: float | None = None
    identity: Identity = ""


def time_by_length(
    series: Sequence[Timed], *, x_title: str, y_title: str, theme: Theme = "light"
) -> go.Figure:
    """Return milliseconds against tokens, both logarithmic; the exponent stands behind each name.

    A straight line that climbs one decade a decade is linear, two decades quadratic.
    """
    figure = base_figure(theme, 420)
    drawn = [s for s in series if s.seconds]
    for place, line in enumerate(drawn):
        figure.add_trace(_timed_line(line, place, x_title, y_title, theme))
    lengths = sorted({length for line in drawn for length in line.seconds})
    lay_out(
        figure,
        xaxis=axis(
            theme,
            x_title,
            type="log",
            tickvals=lengths[::2],  # all of them would touch on a phone
            showgrid=True,
            tickfont={"size": NOTE_SIZE},
        ),
        yaxis=axis(theme, y_title, type="log", showgrid=True, dtick="D2"),
        margin={"l": 8, "r": 128, "t": 12, "b": 40},
        annotations=_end_labels(drawn, theme),
    )
    return figure


def reach_panels(
    reached: np.ndarray,
    row_titles: Sequence[str],
    column_titles: Sequence[str],
    *,
    linked: str,
    unlinked: str,
    theme: Theme = "light",
    causal: bool = True,
) -> go.Figure:
    """Return a panel for every kind (rows) after every layer (columns), query down, key across.

    reached: (K, L, T, T) bool.  linked, unlinked: what hover says.  causal: the future, which no
    kind may see, is drawn as forbidden.
    """
    K, _, T, _ = reached.shape
    gutter = max(_LEAST_GUTTER, 2 * gutter_cells(T))
    shown = reached.astype(float)
    sheet = tiled(shown, gutter)
    future = np.broadcast_to(~np.tri(T, dtype=bool) & causal, reached.shape)
    forbidden = tiled(np.where(future & ~reached, 1.0, np.nan), gutter)
    hover = np.where(sheet == 1, linked, unlinked)
    figure = base_figure(theme, 40 + 124 * K)
    figure.add_heatmap(
        z=sheet,
        zmin=0,
        zmax=1,
        colorscale=[[0, palette(theme).ramp[0][1]], [1, palette(theme).ramp[3][1]]],
        showscale=False,
        customdata=hover,
        hovertemplate="%{customdata}<extra></extra>",
        hoverongaps=False,
    )
    figure.add_heatmap(
        z=forbidden,
        colorscale=[[0, palette(theme).forbidden], [1, palette(theme).forbidden]],
        showscale=False,
        hoverinfo="skip",
        meta=decoration(),
    )
    height, width = sheet.shape
    lay_out(
        figure,
        xaxis=axis(
            theme,
            **_places(column_titles, T, gutter),
            range=[-0.5, width - 0.5],
        ),
        yaxis=axis(
            theme,
            **_places(row_titles, T, gutter),
            range=[height - 0.5, -gutter - 0.5],
        ),
        margin={"l": 4, "r": 4, "t": 30, "b": 4},
        annotations=[
            *_row_titles(row_titles, T + gutter, theme),
            *_column_titles(column_titles, T, gutter, theme),
        ],
    )
    return figure


def cost_bars(
    labels: Sequence[str],
    values: Sequence[float],
    *,
    x_title: str,
    unit: str,
    marked: Sequence[str] = (),
    theme: Theme = "light",
) -> go.Figure:
    """Return a bar for every label, from 0, with its value and unit; `marked` ones in blue."""
    colours = palette(theme)
    figure = base_figure(theme, 70 + 34 * len(labels))
    figure.add_bar(
        x=list(values),
        y=list(range(len(labels))),
        orientation="h",
        marker={"color": [colours.a if name in marked else colours.hatch for name in labels]},
        text=[f"{value:.3g} {unit}" for value in values],
        textposition="outside",
        cliponaxis=False,
        customdata=list(labels),
        hovertemplate=f"<b>%{{customdata}}</b><br>%{{x:.3g}} {unit}<extra></extra>",
    )
    lay_out(
        figure,
        xaxis=axis(theme, x_title, range=[0, 1.28 * max(values, default=1.0)], showgrid=True),
        yaxis=axis(
            theme,
            tickmode="array",
            tickvals=list(range(len(labels))),
            ticktext=list(labels),
            range=[len(labels) - 0.5, -0.5],
        ),
        bargap=0.3,
        margin={"l": 8, "r": 12, "t": 8, "b": 40},
    )
    return figure


def accuracy_map(
    labels: Sequence[str],
    accuracy: np.ndarray,
    linked: np.ndarray,
    *,
    x_title: str,
    value_title: str,
    unlinked: str,
    theme: Theme = "light",
) -> go.Figure:
    """Return how often each kind (rows) is right at each distance (columns), from 0 to 1.

    accuracy: (K, D), distances 1 … D.  linked: (K, D) bool; a cell that nothing links is marked
    with a cross.
    """
    K, D = accuracy.shape
    figure = base_figure(theme, 100 + 34 * K)
    distances = list(range(1, D + 1))
    figure.add_heatmap(
        x=distances,
        y=list(range(K)),
        z=accuracy,
        zmin=0,
        zmax=1,
        colorscale=[list(stop) for stop in palette(theme).ramp],
        xgap=1,
        ygap=3,
        customdata=[[name] * D for name in labels],
        hovertemplate=f"<b>%{{customdata}}</b><br>{x_title} %{{x}}<br>{value_title} "
        "<b>%{z:.2f}</b><extra></extra>",
        colorbar={"thickness": 8, "outlinewidth": 0, "tickvals": [0, 0.5, 1]},
    )
    rows, columns = np.nonzero(~linked)
    figure.add_scatter(
        x=columns + 1,
        y=rows,
        mode="markers",
        marker={"symbol": "x-thin", "size": 6, "line": {"width": 1.2, "color": palette(theme).b}},
        name=unlinked,
        hoverinfo="skip",
        meta=mark(),
        showlegend=True,
    )
    lay_out(
        figure,
        showlegend=bool(len(rows)),
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        xaxis=axis(theme, x_title),
        yaxis=axis(
            theme,
            tickmode="array",
            tickvals=list(range(K)),
            ticktext=list(labels),
            range=[K - 0.5, -0.5],
        ),
    )
    return figure


def paired_curves(
    x: Sequence[float],
    a: Sequence[float],
    b: Sequence[float],
    *,
    names: tuple[str, str],
    x_title: str,
    y_title: str,
    logarithmic: bool = False,
    theme: Theme = "light",
) -> go.Figure:
    """Return two curves over the same x, A blue and solid, B vermilion and dashed, from 0 up."""
    colours = palette(theme)
    figure = base_figure(theme, 280)
    few = len(x) <= 12
    for values, name, colour, dash in (
        (a, names[0], colours.a, "solid"),
        (b, names[1], colours.b, "dash"),
    ):
        figure.add_scatter(
            x=list(x),
            y=list(values),
            name=name,
            mode="lines+markers" if few else "lines",
            line={"color": colour, "width": 2, "dash": dash},
            hovertemplate="%{y:.3f}",
        )
    scale = {"type": "log", "tickvals": list(x)} if logarithmic else {}
    highest = max((*a, *b), default=1.0) or 1.0
    lay_out(
        figure,
        hovermode="x unified",
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        xaxis=axis(theme, x_title, **scale),
        yaxis=axis(theme, y_title, range=[0, highest * 1.06], showgrid=True),
    )
    return figure


def _timed_line(line: Timed, place: int, x_title: str, y_title: str, theme: Theme) -> go.Scatter:
    colour = _colour(line, palette(theme))
    return go.Scatter(
        x=list(line.seconds),
        y=[1000 * s for s in line.seconds.values()],
        name=line.label,
        mode="lines+markers",
        line={
            "color": colour,
            "width": 3 if line.identity else 1.5,
            "dash": "solid" if line.identity else _DASHES[place % len(_DASHES)],
        },
        marker={"symbol": _SYMBOLS[place % len(_SYMBOLS)], "size": 7 if line.identity else 5},
        hovertemplate=f"<b>{line.label}</b><br>{x_title} %{{x}}<br>{y_title} <b>%{{y:.3g}}</b>"
        "<extra></extra>",
    )


def _colour(line: Timed, colours: Palette) -> str:
    return {"A": colours.a, "B": colours.b, "": colours.muted}[line.identity]


def _end_labels(series: Sequence[Timed], theme: Theme) -> list[dict[str, object]]:
    """Put each name at the end of its line, pushed apart where lines end together."""
    if not series:
        return []
    every = [np.log10(1000 * s) for line in series for s in line.seconds.values()]
    low, high = min(every), max(every)
    span = (high - low) or 1.0
    ends = {line.label: np.log10(1000 * list(line.seconds.values())[-1]) for line in series}
    free = low - span
    labels = []
    for line in sorted(series, key=lambda one: ends[one.label]):
        free = max(ends[line.label], free + span * _LABEL_GAP)
        slope = "" if line.slope is None else f" <b>{line.slope:.2f}</b>"
        labels.append(
            {
                "x": 1,
                "xref": "paper",
                "xanchor": "left",
                "xshift": 8,
                "y": free,  # an annotation on a logarithmic axis takes the exponent
                "yanchor": "middle",
                "text": f"{line.label}{slope}",
                "showarrow": False,
                "align": "left",
                "font": {"size": NOTE_SIZE, "color": _colour(line, palette(theme))},
            }
        )
    return labels


def _places(titles: Sequence[str], T: int, gutter: int) -> dict[str, Any]:
    """Return unprinted ticks at every cell, which tell its panel and its place in the sentence."""
    return {
        "showticklabels": False,
        "tickmode": "array",
        "tickvals": [p * (T + gutter) + i for p in range(len(titles)) for i in range(T)],
        "ticktext": [f"{title} ({i + 1})" for title in titles for i in range(T)],
    }


def _row_titles(titles: Sequence[str], step: int, theme: Theme) -> list[dict[str, object]]:
    return [
        {
            "x": 0,
            "xref": "paper",
            "xanchor": "left",
            "y": row * step - 0.5,
            "yanchor": "bottom",
            "text": title,
            "showarrow": False,
            "align": "left",
            "font": {"size": TEXT_SIZE, "color": palette(theme).ink},
        }
        for row, title in enumerate(titles)
    ]


def _column_titles(
    titles: Sequence[str], T: int, gutter: int, theme: Theme
) -> list[dict[str, object]]:
    return [
        {
            "x": column * (T + gutter) + (T - 1) / 2,
            "y": 1,
            "yref": "paper",
            "yanchor": "bottom",
            "text": title,
            "showarrow": False,
            "font": {"size": TEXT_SIZE, "color": palette(theme).muted},
        }
        for column, title in enumerate(titles)
    ]
