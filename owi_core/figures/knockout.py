"""What it costs to cut an edge: the change of the answer's log-probability, edge by edge."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from owi_core.figures.labels import hover, tick
from owi_core.figures.numerals import signed
from owi_core.figures.rows import end_values
from owi_core.figures.text import FigureText
from owi_core.figures.theme import (
    Theme,
    base_figure,
    colour_at,
    height_for,
    lay_out,
    line_axis,
    palette,
    signed_axis,
)

# The axis never zooms into less than this, so that a change of nothing looks like nothing.
_LEAST_SPAN_NATS = 1.0


@dataclass(frozen=True)
class CutEdge:
    """One cut: who looked (label, position) at whom, and the answer's change in nats after it.

    change_nats: log p(answer) with the edge cut minus log p(answer) before; negative = hurt.
    """

    query_label: str
    query: int
    key_label: str
    key: int
    change_nats: float
    control: bool = False


def knockout_bars(
    cuts: Sequence[CutEdge], *, theme: Theme = "light", text: FigureText | None = None
) -> go.Figure:
    """Return a bar for every cut edge, in the order given; controls are hollow and named so."""
    text = text or FigureText()
    colours = palette(theme)
    changes = np.array([cut.change_nats for cut in cuts], dtype=float)
    fills = [colours.muted if cut.control else colour_at(colours.ramp, 0.75) for cut in cuts]
    figure = base_figure(theme, height_for(len(cuts)))
    figure.add_bar(
        x=changes,
        y=list(range(len(cuts))),
        orientation="h",
        marker={
            "color": fills,
            "pattern": {"shape": ["/" if cut.control else "" for cut in cuts], "size": 6},
            "line": {"width": 0},
        },
        text=[signed(change) for change in changes],
        **end_values(np.abs(changes) >= np.ptp(_span(changes)) / 2, fills),
        customdata=[[_whole(cut), text.control if cut.control else text.cut] for cut in cuts],
        hovertemplate="<b>%{customdata[0]}</b> (%{customdata[1]})<br>"
        f"{text.change} <b>%{{hovertext}}</b><extra></extra>",
        hovertext=[signed(change, 3) for change in changes],
    )
    lay_out(
        figure,
        bargap=0.35,
        xaxis=signed_axis(theme, text.change, range=_span(changes)),
        yaxis=line_axis(theme, [_short(cut, text) for cut in cuts]),
    )
    return figure


def _span(changes: np.ndarray) -> list[float]:
    """Return axis limits that hold 0, every bar, and the number written at its end."""
    low = min(float(np.min(changes, initial=0.0)), -_LEAST_SPAN_NATS)
    high = max(float(np.max(changes, initial=0.0)), 0.0)
    room = 0.18 * (high - low)
    return [low - room, high + room]


def _short(cut: CutEdge, text: FigureText) -> str:
    edge = f"{tick(cut.query_label)} → {tick(cut.key_label)}"
    return f"{edge}<br>({text.control})" if cut.control else edge


def _whole(cut: CutEdge) -> str:
    return f"{hover(cut.query_label, cut.query)} → {hover(cut.key_label, cut.key)}"
