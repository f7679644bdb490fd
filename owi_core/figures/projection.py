"""What heads are worth and what they write, as bars: one line each, zero always drawn."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from owi_core.figures.labels import as_typed
from owi_core.figures.numerals import decimal, signed
from owi_core.figures.rows import end_values
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


@dataclass(frozen=True)
class NamedValue:
    """One bar: what it is called, its value, whether it stands out, and whether it is off.

    strong: drawn in colour; the others are muted.  off: hatched, since it was switched off.
    """

    name: str
    value: float
    strong: bool = True
    off: bool = False


def signed_bars(
    bars: Sequence[NamedValue], unit: str, *, least_span: float = 1.0, theme: Theme = "light"
) -> go.Figure:
    """Return a bar for each value to the left or right of 0, in the order given.

    unit: the title of the axis.  least_span: the axis never zooms into less, so that a change of
    nothing looks like nothing.
    """
    colours = palette(theme)
    signs = [colours.a if bar.value < 0 else colours.b for bar in bars]
    fills = [c if bar.strong else colours.muted for c, bar in zip(signs, bars, strict=True)]
    return _bars(bars, fills, unit, _span(bars, least_span), theme, [signed(b.value) for b in bars])


def length_bars(bars: Sequence[NamedValue], unit: str, *, theme: Theme = "light") -> go.Figure:
    """Return a bar for each length, which is never negative, in the order given."""
    colours = palette(theme)
    strong = colour_at(colours.ramp, 0.75)
    fills = [strong if bar.strong else colours.muted for bar in bars]
    span = [0.0, 1.15 * max([bar.value for bar in bars], default=0.0) or 1.0]
    return _bars(bars, fills, unit, span, theme, [f"{bar.value:.2f}" for bar in bars])


def _bars(
    bars: Sequence[NamedValue],
    fills: Sequence[str],
    unit: str,
    span: Sequence[float],
    theme: Theme,
    written: Sequence[str],
) -> go.Figure:
    names = [as_typed(bar.name) for bar in bars]
    values = np.array([bar.value for bar in bars], dtype=float)
    figure = base_figure(theme, height_for(len(bars)))
    figure.add_bar(
        x=values,
        y=list(range(len(bars))),
        orientation="h",
        marker={
            "color": list(fills),
            "pattern": {"shape": ["/" if bar.off else "" for bar in bars], "size": 6},
            "line": {"width": 0},
        },
        text=list(written),
        **end_values(np.abs(values) >= (span[1] - span[0]) / 2, fills),
        customdata=names,
        hovertext=[decimal(value, 3) for value in values],
        hovertemplate=f"<b>%{{customdata}}</b><br>{unit} <b>%{{hovertext}}</b><extra></extra>",
    )
    lay_out(
        figure,
        bargap=0.3,
        margin={"t": 8},
        xaxis=signed_axis(theme, unit, range=list(span)),
        yaxis=line_axis(theme, names),
    )
    return figure


def _span(bars: Sequence[NamedValue], least: float) -> list[float]:
    """Return limits that hold 0, every bar, and the number written at its end."""
    values = [bar.value for bar in bars]
    low, high = min([*values, 0.0]), max([*values, 0.0])
    if high - low < least:
        low, high = (low - least + (high - low), high) if -low >= high else (low, low + least)
    room = 0.28 * (high - low)
    # Beside a short bar to the left stands its number, and beside that its name.
    return [low - 1.4 * room if low < 0 else 0.0, high + room if high > 0 else room / 2]
