"""Named values as horizontal bars: signed, amounts, groups, and what it costs to cut an edge.

One line for each name, the first on top; zero is always on the axis, since the length of a bar
means something only from there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go

from owi_core.figures.labels import as_typed, hover, tick
from owi_core.figures.numerals import decimal, signed, significant
from owi_core.figures.text import FigureText
from owi_core.figures.theme import (
    NOTE_SIZE,
    Theme,
    base_figure,
    colour_at,
    height_for,
    ink_on,
    lay_out,
    line_axis,
    palette,
    signed_axis,
)

# A signed axis never shows less than this, so that a change of nearly zero looks like zero.
_LEAST_SPAN = 1.0
_GROUP_PX = 66


@dataclass(frozen=True)
class Bar:
    """One bar: its name, its value, whether it stands out, and whether it is switched off.

    strong: drawn in colour; the others are muted.  off: hatched.
    """

    name: str
    value: float
    strong: bool = True
    off: bool = False


@dataclass(frozen=True)
class Group:
    """The bars of one kind in a grouped chart: a name, a value for each word, and a colour."""

    name: str
    values: Sequence[float]
    colour: Literal["a", "b", "muted"]


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


@dataclass(frozen=True)
class _Strip:
    """One drawn bar: its line's text, length, colour, printed number, and words on hover."""

    line: str
    value: float
    fill: str
    written: str
    hover_value: str
    note: str | list[str]
    hatched: bool = False


def signed_bars(
    bars: Sequence[Bar], title: str, *, least_span: float = _LEAST_SPAN, theme: Theme = "light"
) -> go.Figure:
    """Return a bar for each value to the left or right of 0, in the order given.

    title: of the axis, with its unit.  least_span: the axis never shows less than this.
    """
    colours = palette(theme)
    strips = [
        _strip(bar, colours.a if bar.value < 0 else colours.b, signed(bar.value), theme)
        for bar in bars
    ]
    return _draw(strips, title, _signed_span([bar.value for bar in bars], least_span), theme)


def amount_bars(
    bars: Sequence[Bar], title: str, *, unit: str = "", theme: Theme = "light"
) -> go.Figure:
    """Return a bar from 0 for each amount, which is never negative, in the order given.

    unit: printed behind each number, which then has three significant digits.
    """
    strips = [
        _strip(
            bar,
            palette(theme).a,
            f"{significant(bar.value)} {as_typed(unit)}" if unit else decimal(bar.value),
            theme,
        )
        for bar in bars
    ]
    # 28 % for the number behind the longest bar, and an axis of length 1 if all are 0.
    span = [0.0, 1.28 * max([bar.value for bar in bars], default=0.0) or 1.0]
    return _draw(strips, title, span, theme)


def knockout_bars(
    cuts: Sequence[CutEdge], *, theme: Theme = "light", text: FigureText | None = None
) -> go.Figure:
    """Return a bar for every cut edge, in the order given; controls are hatched and named so."""
    text = text or FigureText()
    colours = palette(theme)
    strips = [
        _Strip(
            line=_edge_line(cut, text),
            value=cut.change_nats,
            fill=colours.muted if cut.control else colour_at(colours.ramp, 0.75),
            written=signed(cut.change_nats),
            hover_value=signed(cut.change_nats, 3),
            note=[_whole_edge(cut), as_typed(text.control if cut.control else text.cut)],
            hatched=cut.control,
        )
        for cut in cuts
    ]
    span = _signed_span([cut.change_nats for cut in cuts], _LEAST_SPAN)
    named = "<b>%{customdata[0]}</b> (%{customdata[1]})"
    return _draw(strips, text.change, span, theme, named)


def grouped_bars(
    words: Sequence[str], groups: Sequence[Group], title: str, *, theme: Theme = "light"
) -> go.Figure:
    """Return a bar of every group for every word, in the order given."""
    figure = base_figure(theme, len(words) * _GROUP_PX + 110)
    span = _signed_span([value for group in groups for value in group.values], _LEAST_SPAN)
    # The bars of a group grow downwards with the reversed axis: the first is on top.
    for group in groups:
        figure.add_trace(_group_bars(group, span, theme))
    lay_out(
        figure,
        barmode="group",
        bargap=0.25,
        bargroupgap=0.08,
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        margin={"t": 56},
        xaxis=signed_axis(theme, title, range=span),
        yaxis=line_axis(theme, [tick(word) for word in words]),
    )
    return figure


def end_values(inside: np.ndarray, fills: Sequence[str]) -> dict[str, Any]:
    """Return where a bar's number is: in a long bar, in its contrasting ink, else beside it.

    inside: (n,) bool, True = the bar is long.  Beside a long bar the number would run into the
    words of the next panel on a phone.
    """
    return {
        "textposition": ["inside" if fits else "outside" for fits in inside],
        "insidetextanchor": "end",
        # Black or white, whichever contrasts more with this bar.
        "insidetextfont": {"color": [ink_on(fill) for fill in fills]},
        "textangle": 0,
        # Plotly would shrink a number that does not fit, until it cannot be read.
        "constraintext": "none",
        "cliponaxis": False,
    }


def _strip(bar: Bar, colour: str, written: str, theme: Theme) -> _Strip:
    name = as_typed(bar.name)
    return _Strip(
        line=name,
        value=bar.value,
        # Muted, not left out: what a head does is read against what the other parts do.
        fill=colour if bar.strong else palette(theme).muted,
        written=written,
        hover_value=decimal(bar.value, 3),
        note=name,
        hatched=bar.off,
    )


def _draw(
    strips: Sequence[_Strip],
    title: str,
    span: Sequence[float],
    theme: Theme,
    named: str = "<b>%{customdata}</b>",
) -> go.Figure:
    values = np.array([strip.value for strip in strips], dtype=float)
    fills = [strip.fill for strip in strips]
    figure = base_figure(theme, height_for(len(strips)))
    figure.add_bar(
        x=values,
        # Positions, not names: on an axis of categories two equal names would be one bar.
        y=list(range(len(strips))),
        orientation="h",
        marker={
            "color": fills,
            "pattern": {"shape": ["/" if strip.hatched else "" for strip in strips], "size": 6},
            "line": {"width": 0},
        },
        text=[strip.written for strip in strips],
        # Inside from half of the axis on: a shorter bar has room beside it, a longer one inside.
        **end_values(np.abs(values) >= (span[1] - span[0]) / 2, fills),
        customdata=[strip.note for strip in strips],
        # Formatted here: a hover box would print a hyphen for the minus sign.
        hovertext=[strip.hover_value for strip in strips],
        hovertemplate=f"{named}<br>{as_typed(title)} <b>%{{hovertext}}</b><extra></extra>",
    )
    lay_out(
        figure,
        bargap=0.3,
        margin={"t": 8},
        xaxis=signed_axis(theme, title, range=list(span)),
        yaxis=line_axis(theme, [strip.line for strip in strips]),
    )
    return figure


def _group_bars(group: Group, span: Sequence[float], theme: Theme) -> go.Bar:
    values = np.array(group.values, dtype=float)
    name, colour = as_typed(group.name), getattr(palette(theme), group.colour)
    return go.Bar(
        x=list(group.values),
        # Positions as in _draw: two equal words keep a line each.
        y=list(range(len(values))),
        orientation="h",
        name=name,
        marker={"color": colour, "line": {"width": 0}},
        text=[decimal(value) for value in values],
        textfont={"size": NOTE_SIZE},
        # A quarter here: the bars of a group are thin, and neighbours' numbers would touch.
        **end_values(np.abs(values) >= (span[1] - span[0]) / 4, [colour] * len(values)),
        hovertext=[decimal(value, 3) for value in values],
        hovertemplate=f"{name} <b>%{{hovertext}}</b><extra></extra>",
    )


def _signed_span(values: Sequence[float], least: float) -> list[float]:
    """Return limits that hold 0, every bar, and the number written at its end."""
    # 0 is included even if all values are on one side: bars begin there.
    low, high = min([*values, 0.0]), max([*values, 0.0])
    if high - low < least:
        # Widen the side that has the longer bar: the other one keeps its zero at the edge.
        low, high = (high - least, high) if -low >= high else (low, low + least)
    room = 0.28 * (high - low)
    # To the left of a short bar are its number and then its name, so that side gets more.
    return [low - 1.4 * room if low < 0 else -room / 10, high + room if high > 0 else room / 2]


def _edge_line(cut: CutEdge, text: FigureText) -> str:
    # Printed short; the hover box has both words whole, with their places.
    edge = f"{tick(cut.query_label)} → {tick(cut.key_label)}"
    return f"{edge}<br>({as_typed(text.control)})" if cut.control else edge


def _whole_edge(cut: CutEdge) -> str:
    return f"{hover(cut.query_label, cut.query)} → {hover(cut.key_label, cut.key)}"
