"""Shared weights as pictures: logits after an edit, both parts of a gradient, lines over steps.

The tied model is blue and the untied one vermilion, everywhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

import numpy as np
import plotly.graph_objects as go

from owi_core.figures.labels import as_typed, tick
from owi_core.figures.numerals import decimal
from owi_core.figures.rows import end_values
from owi_core.figures.theme import (
    NOTE_SIZE,
    Theme,
    axis,
    base_figure,
    lay_out,
    line_axis,
    palette,
    signed_axis,
)

_LINES_HEIGHT, _MAP_HEIGHT, _WORD_PX = 280, 300, 66
_GROUP_PX = 17


@dataclass(frozen=True)
class NamedLine:
    """A line over training steps: name, (step, value) points, whose it is, and how it is drawn."""

    name: str
    points: Sequence[tuple[int, float]]
    colour: Literal["a", "b", "muted"] = "a"
    dash: str = "solid"


def named_lines(
    lines: Sequence[NamedLine],
    *,
    across: str,
    upward: str,
    top: float | None = None,
    theme: Theme = "light",
) -> go.Figure:
    """Return lines over steps from 0 up, to `top` where it is given."""
    figure = base_figure(theme, _LINES_HEIGHT)
    for line in lines:
        figure.add_scatter(
            x=[step for step, _ in line.points],
            y=[value for _, value in line.points],
            mode="lines" if len(line.points) > 1 else "markers",
            name=line.name,
            line={"color": getattr(palette(theme), line.colour), "width": 2.5, "dash": line.dash},
            hovertemplate=f"{line.name} <b>%{{y:.3g}}</b><extra></extra>",
        )
    highest = top or max((v for line in lines for _, v in line.points), default=1.0) or 1.0
    lay_out(
        figure,
        hovermode="x",
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        margin={"t": 64},
        xaxis=axis(theme, across, rangemode="tozero"),
        yaxis=axis(theme, upward, range=[0, highest * 1.04], showgrid=True),
    )
    return figure


def edited_logits(
    words: Sequence[str],
    before: Sequence[float],
    tied: Sequence[float],
    untied: Sequence[float],
    *,
    names: tuple[str, str, str],
    across: str,
    theme: Theme = "light",
) -> go.Figure:
    """Return three bars for every word: its logit before an edit, and after it in both models.

    names: of the three, in that order.  The words stand from the top.
    """
    colours = palette(theme)
    figure = base_figure(theme, len(words) * _WORD_PX + 110)
    # 0, every bar, and on a phone room for the number beside a short one.
    low, high = min(0.0, *before, *tied, *untied), max(0.0, *before, *tied, *untied)
    room = 0.18 * ((high - low) or 1.0)
    span = [low - room, high + room]
    # The bars of a group grow downwards with the reversed axis: the first stands on top.
    rows = zip(names, (before, tied, untied), (colours.muted, colours.a, colours.b), strict=True)
    for name, values, colour in rows:
        figure.add_bar(
            x=list(values),
            y=list(range(len(words))),
            orientation="h",
            name=name,
            marker={"color": colour, "line": {"width": 0}},
            text=[decimal(value) for value in values],
            textfont={"size": NOTE_SIZE},
            **end_values(np.abs(values) >= np.ptp(span) / 4, [colour] * len(words)),
            hovertext=[decimal(value, 3) for value in values],
            hovertemplate=f"{name} <b>%{{hovertext}}</b><extra></extra>",
        )
    lay_out(
        figure,
        barmode="group",
        bargap=0.25,
        bargroupgap=0.08,
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        margin={"t": 56},
        xaxis=signed_axis(theme, across, range=span),
        yaxis=line_axis(theme, [tick(word) for word in words]),
    )
    return figure


def gradient_rows(
    words: Sequence[str],
    roles: Sequence[str],
    parts: np.ndarray,
    *,
    names: tuple[str, str],
    across: str,
    scale: str,
    theme: Theme = "light",
) -> go.Figure:
    """Return a column for each word and a line for each side: the norm of its row's gradient.

    parts: (2, V) norms, by input and by output.  roles: (V,) names of groups that lie together.
    The colour is log10; a row that gets exactly nothing stays empty.
    """
    colours = palette(theme)
    with np.errstate(divide="ignore"):
        logs = np.where(parts > 0, np.log10(parts), np.nan)
    figure = base_figure(theme, _MAP_HEIGHT)
    figure.add_heatmap(
        z=logs,
        x=list(range(len(words))),
        y=[0, 1],
        colorscale=[list(stop) for stop in colours.ramp],
        customdata=np.array(
            [[[as_typed(w), r, f"{v:.3g}"] for w, r, v in zip(words, roles, row, strict=True)]
             for row in parts], dtype=object
        ),
        hovertemplate="<b>%{customdata[0]}</b> (%{customdata[1]})<br>%{customdata[2]}"
        "<extra></extra>",
        hoverongaps=True,
        # Under the map: beside it nothing would be left for the words on a phone.
        colorbar={"orientation": "h", "thickness": 8, "outlinewidth": 0, "y": -0.3,
                  "yanchor": "top", "title": {"text": scale, "side": "bottom"}},
    )  # fmt: skip
    lay_out(
        figure,
        xaxis=axis(theme, across, showticklabels=False, range=[-0.5, len(words) - 0.5]),
        yaxis=line_axis(theme, names),
        plot_bgcolor=colours.forbidden,
        margin={"t": 24 + _GROUP_PX * len(set(roles))},
    )
    _mark_groups(figure, roles, theme)
    return figure


def _mark_groups(figure: go.Figure, roles: Sequence[str], theme: Theme) -> None:
    """Write each group's name where it begins, one above the other, with a line at each border."""
    groups, start = [list(members) for _, members in groupby(roles)], 0
    for place, members in enumerate(groups):
        n = len(members)
        if start:
            figure.add_vline(x=start - 0.5, line={"color": palette(theme).b, "width": 2})
        figure.add_annotation(
            x=start - 0.5,
            xanchor="left",
            y=1,
            yref="paper",
            yanchor="bottom",
            yshift=_GROUP_PX * (len(groups) - 1 - place),
            text=f"▾ {members[0]} {n}",
            showarrow=False,
            font={"size": NOTE_SIZE},
        )
        start += n
