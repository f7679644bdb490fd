"""Influence as a map of words, and accuracy as lines over distance or number of sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import plotly.graph_objects as go

from owi_core.figures.matrix import pattern_matrix
from owi_core.figures.text import FigureText
from owi_core.figures.theme import NOTE_SIZE, Palette, Theme, axis, base_figure, lay_out, palette

_SYMBOLS = ("circle", "square", "diamond", "cross", "triangle-up", "star")
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_LABEL_GAP = 0.075  # least distance of two labels, as a share of the chart's height
_LINES_HEIGHT = 340
Identity = Literal["A", "B", ""]


@dataclass(frozen=True)
class Line:
    """One model's accuracy, 0 to 1, by distance or number; `identity` gives A's or B's colour."""

    label: str
    values: Mapping[int, float]
    identity: Identity = ""


def influence_map(
    shares: np.ndarray,
    reach: np.ndarray,
    tokens: Sequence[str],
    *,
    highest: float = 1.0,
    theme: Theme = "light",
    text: FigureText | None = None,
) -> go.Figure:
    """Return the share of each word (columns) in what moves each output (rows), (T, T).

    reach: (T, T) bool; where the model's build lets nothing through the cell is hatched, and framed
    as a leak should it not be exactly 0.  highest: the value with the darkest ink.  No numbers are
    written: several maps stand beside each other, and a cell is narrow.
    """
    return pattern_matrix(
        shares, reach, tokens, tokens, highest=highest, written=False, theme=theme, text=text
    )


def influence_text(text: FigureText, *, query: str, key: str, weight: str, none: str) -> FigureText:
    """Return the words of a figure with those of an influence map in place of attention's."""
    return replace(text, query=query, key=key, weight=weight, forbidden=none)


def accuracy_lines(
    lines: Sequence[Line],
    *,
    x_title: str,
    y_title: str,
    chance: float | None = None,
    chance_label: str = "",
    theme: Theme = "light",
) -> go.Figure:
    """Return accuracy from 0 to 1 over a logarithmic axis, each line named at its end.

    chance: what guessing reaches, as a dotted line.
    """
    figure = base_figure(theme, _LINES_HEIGHT)
    drawn = [line for line in lines if line.values]
    for place, line in enumerate(drawn):
        figure.add_trace(_line(line, place, x_title, y_title, theme))
    ticks = sorted({at for line in drawn for at in line.values})
    lay_out(
        figure,
        xaxis=axis(theme, x_title, type="log", tickvals=ticks, ticktext=[str(t) for t in ticks]),
        yaxis=axis(theme, y_title, range=[-0.03, 1.06], showgrid=True),
        margin={"l": 8, "r": 128, "t": 12, "b": 40, "pad": 4},
        annotations=_end_labels(drawn, theme),
    )
    if chance is not None:
        figure.add_hline(
            y=chance,
            name=chance_label,
            line={"color": palette(theme).ink, "width": 1, "dash": "dot"},
            annotation={"text": f"{chance_label} {chance:.2f}", "font": {"size": NOTE_SIZE}},
            annotation_position="bottom left",
        )
    return figure


def _line(line: Line, place: int, x_title: str, y_title: str, theme: Theme) -> go.Scatter:
    return go.Scatter(
        x=list(line.values),
        y=list(line.values.values()),
        name=line.label,
        mode="lines+markers",
        line={
            "color": _colour(line, palette(theme)),
            "width": 3 if line.identity else 1.5,
            "dash": "solid" if line.identity else _DASHES[place % len(_DASHES)],
        },
        marker={"symbol": _SYMBOLS[place % len(_SYMBOLS)], "size": 8 if line.identity else 6},
        hovertemplate=f"<b>{line.label}</b><br>{x_title} %{{x}}<br>{y_title} <b>%{{y:.3f}}</b>"
        "<extra></extra>",
    )


def _colour(line: Line, colours: Palette) -> str:
    return {"A": colours.a, "B": colours.b, "": colours.muted}[line.identity]


def _end_labels(lines: Sequence[Line], theme: Theme) -> list[dict[str, object]]:
    """Put each name and last value at the end of its line, pushed apart, within the chart."""
    ends = {line.label: list(line.values.values())[-1] for line in lines}
    labels, free = [], 1.06
    for line in sorted(lines, key=lambda one: -ends[one.label]):
        free = min(ends[line.label], free)
        labels.append(
            {
                "x": 1,
                "xref": "paper",
                "xanchor": "left",
                "xshift": 8,
                "y": free,
                "yanchor": "middle",
                "text": f"{line.label} <b>{ends[line.label]:.2f}</b>",
                "showarrow": False,
                "align": "left",
                "font": {"size": NOTE_SIZE, "color": _colour(line, palette(theme))},
            }
        )
        free -= _LABEL_GAP
    return labels
