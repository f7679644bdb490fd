"""Values over a scale as lines: one line chart, and what a loss and a measured time add to it.

A line is a sequence of (x, y) points.  A logarithmic scale is used where ratios count: a power of
the length is a straight line there, and twice as long is the same distance everywhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go

from owi_core.figures.labels import as_typed
from owi_core.figures.text import FigureText
from owi_core.figures.theme import NOTE_SIZE, TEXT_SIZE, Theme, axis, base_figure, lay_out, palette

Colour = Literal["a", "b", "ink", "muted"]
Names = Literal["legend", "ends"]
Identity = Literal["A", "B", ""]

# Lines without a colour of their own are told apart by dash and mark: colour alone would not do
# for a reader who does not see it, nor in a black and white print.
_SYMBOLS = ("circle", "square", "diamond", "cross", "triangle-up", "star", "hexagon", "x")
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_IDENTITIES: Mapping[Identity, Colour] = {"A": "a", "B": "b", "": "muted"}
_MOST_MARKED = 12  # points; more marks than this hide the line
_HEADROOM = 1.06
_LABEL_PX, _LABEL_WIDTH_PX, _AXES_PX = 22, 128, 60
_DIGIT_PX = 7
_TICKS_PX: Mapping[Names, int] = {"ends": 180, "legend": 260}  # what a phone leaves for the scale


@dataclass(frozen=True)
class Line:
    """One line: its name, its (x, y) points, and how it is drawn.

    dash: Plotly's name of one; "" chooses it by place.  hollow: open marks at every point.
    end: what is printed behind the name where names are at the ends of the lines.
    """

    name: str
    # In the order in which they are joined.
    points: Sequence[tuple[float, float]]
    colour: Colour = "muted"
    dash: str = ""
    end: str = ""
    hollow: bool = False


@dataclass(frozen=True)
class Scale:
    """One axis: its title, whether it is logarithmic, its limits, and Plotly number formats.

    limits: None leaves them to the values; a linear y axis then begins at 0.
    """

    title: str
    log: bool = False
    limits: tuple[float, float] | None = None
    tick_format: str = ""
    hover_format: str = ".3g"


@dataclass(frozen=True)
class Level:
    """A dotted line across the chart, such as a floor; its value is printed above or below it."""

    name: str
    value: float
    below: bool = False


@dataclass(frozen=True)
class Timed:
    """One model's seconds by length, the exponent that was fitted, and whose colour it has."""

    label: str
    seconds: Mapping[int, float]
    slope: float | None = None
    identity: Identity = ""


def line_chart(
    lines: Sequence[Line],
    x: Scale,
    y: Scale,
    *,
    names: Names = "legend",
    levels: Sequence[Level] = (),
    height: int = 340,
    theme: Theme = "light",
) -> go.Figure:
    """Return the lines, named in a legend above the chart or at their ends.

    A line without points has no trace and no label.
    """
    figure = base_figure(theme, height)
    # A model that was stopped before its first measurement would leave a name without a line.
    drawn = [line for line in lines if line.points] if names == "ends" else list(lines)
    traces = [_trace(line, place, names, (x, y), theme) for place, line in enumerate(drawn)]
    figure.add_traces(traces)
    lay_out(
        figure,
        xaxis=_x_axis(drawn, x, _TICKS_PX[names], theme),
        yaxis=_y_axis(drawn, levels, y, theme),
        **(_end_names(drawn, y, height, theme) if names == "ends" else _legend(len(drawn))),
    )
    for level in levels:
        _draw_level(figure, level, theme)
    return figure


def loss_curve(
    steps: Sequence[int],
    loss: Sequence[float],
    evaluated: Sequence[tuple[int, float]] = (),
    floor: float | None = None,
    *,
    uniform: float | None = None,
    step: int | None = None,
    theme: Theme = "light",
    text: FigureText | None = None,
) -> go.Figure:
    """Return the loss in nats over training steps, from 0 up.

    evaluated: (step, held-out loss in nats).  floor: the loss that no model can honestly beat.
    uniform: ln V, the loss of giving all V tokens the same probability.
    step: where the cursor is when a reader scrubs through training time.
    """
    text = text or FigureText()
    lines = [Line(text.trained, list(zip(steps, loss, strict=True)), "ink")]
    if evaluated:
        # Open marks: held-out losses are few, and the line between them was not measured.
        lines.append(Line(text.evaluated, evaluated, "muted", "dash", hollow=True))
    figure = line_chart(
        lines,
        Scale(text.step),
        Scale(text.loss, hover_format=".3f"),
        # Noise may put a loss just under the floor; the axis begins at 0, so that stays visible.
        levels=[
            Level(name, value)
            for name, value in ((text.floor, floor), (text.uniform, uniform))
            if value is not None
        ],
        height=300,
        theme=theme,
    )
    if step is not None:
        figure.add_vline(x=step, line={"color": palette(theme).muted, "width": 1.5})
    return figure


def time_by_length(
    series: Sequence[Timed], *, x_title: str, y_title: str, theme: Theme = "light"
) -> go.Figure:
    """Return milliseconds against tokens, both logarithmic, the exponent behind each name.

    A straight line that climbs one decade a decade is linear, two decades quadratic.
    """
    lines = [
        Line(
            timed.label,
            [(length, 1000 * seconds) for length, seconds in timed.seconds.items()],
            _IDENTITIES[timed.identity],
            # No exponent from fewer lengths than a fit needs.
            end="" if timed.slope is None else f"{timed.slope:.2f}",
        )
        for timed in series
    ]
    x, y = Scale(x_title, log=True), Scale(y_title, log=True)
    return line_chart(lines, x, y, names="ends", height=420, theme=theme)


def _trace(
    line: Line, place: int, names: Names, scales: tuple[Scale, Scale], theme: Theme
) -> go.Scatter:
    colours = palette(theme)
    colour = getattr(colours, line.colour)
    own = line.colour != "muted"
    # A single point has no line at all: without a mark it would be invisible.
    few = len(line.points) <= _MOST_MARKED
    hollow = {"color": colours.surface, "size": 9, "line": {"color": colours.ink, "width": 2}}
    filled = {"symbol": _SYMBOLS[place % len(_SYMBOLS)], "size": 7 if own else 5}
    return go.Scatter(
        x=[x for x, _ in line.points],
        y=[y for _, y in line.points],
        name=as_typed(line.name),
        mode="lines+markers" if few or line.hollow else "lines",
        line={
            "color": colour,
            "width": 2.5 if own else 1.5,
            "dash": line.dash or ("solid" if own else _DASHES[place % len(_DASHES)]),
        },
        marker=hollow if line.hollow else filled,
        hovertemplate=_hover(line, names, *scales),
    )


def _hover(line: Line, names: Names, x: Scale, y: Scale) -> str:
    """Return what the hover box says; the box that all lines of a legend share names them."""
    value = f"%{{y:{y.hover_format}}}"
    # <extra></extra> would remove the name, and the shared box would list bare numbers.
    if names == "legend":
        return value
    titles = f"{as_typed(x.title)} %{{x}}<br>{as_typed(y.title)}"
    return f"<b>{as_typed(line.name)}</b><br>{titles} <b>{value}</b><extra></extra>"


def _x_axis(lines: Sequence[Line], scale: Scale, room_px: int, theme: Theme) -> dict[str, Any]:
    # Steps begin at 0 even if the first value is at 1: a curve that starts late is seen to.
    if not scale.log:
        return axis(theme, scale.title, rangemode="tozero")
    # Plotly's own ticks on a logarithmic scale are powers of ten; measured lengths are not.
    ticks = sorted({x for line in lines for x, _ in line.points})
    while len(ticks) > 1 and sum(len(f"{tick:g} ") for tick in ticks) * _DIGIT_PX > room_px:
        # Every second one, so that the rest are still at equal ratios.
        ticks = ticks[::2]
    # As they were measured, without the powers or separators of Plotly's own tick texts.
    texts = [f"{tick:g}" for tick in ticks]
    return axis(theme, scale.title, type="log", tickvals=ticks, ticktext=texts)


def _y_axis(
    lines: Sequence[Line], levels: Sequence[Level], scale: Scale, theme: Theme
) -> dict[str, Any]:
    settings: dict[str, Any] = {"showgrid": True}
    if scale.tick_format:
        settings["tickformat"] = scale.tick_format
    if scale.log:
        # D2: at 1, 2 and 5 of each decade, since measured times often span less than two.
        return axis(theme, scale.title, type="log", dtick="D2", exponentformat="none", **settings)
    values = [*_values(lines), *(level.value for level in levels)]
    # All values 0, or none: an axis from 0 to 0 would have no height.
    highest = max(values, default=1.0) or 1.0
    limits = scale.limits or (0, highest * _HEADROOM)
    return axis(theme, scale.title, range=list(limits), **settings)


def _values(lines: Sequence[Line]) -> list[float]:
    return [y for y in chain.from_iterable((y for _, y in line.points) for line in lines)]


def _legend(n_lines: int) -> dict[str, Any]:
    return {
        "hovermode": "x unified",
        "showlegend": n_lines > 1,
        "legend": {
            "orientation": "h",
            "x": 0,
            "xanchor": "left",
            "y": 1.02,
            "yanchor": "bottom",
            "font": {"size": TEXT_SIZE},
        },
        # On a phone the names wrap, in the worst case to a row each.
        "margin": {"t": 36 + _LABEL_PX * max(0, n_lines - 2)},
    }


def _end_names(lines: Sequence[Line], y: Scale, height: int, theme: Theme) -> dict[str, Any]:
    """Return each name at the end of its line, moved apart where lines end together."""
    # An annotation on a logarithmic axis is placed by its exponent.
    place = np.log10 if y.log else float
    every = [float(place(value)) for value in _values(lines)] or [0.0]
    low, high = min(every), max(every)
    if y.limits is not None:
        low, high = y.limits
    # The height of a label in units of the axis: its px over the px of the plot.
    gap = ((high - low) or 1.0) * _LABEL_PX / (height - _AXES_PX)
    ends = sorted(((float(place(line.points[-1][1])), line) for line in lines), key=_first)[::-1]
    places = spread([end for end, _ in ends], low, high, gap)
    return {
        "margin": {"l": 8, "r": _LABEL_WIDTH_PX, "t": 12, "b": 40},
        "annotations": [
            _end_name(line, at, theme) for (_, line), at in zip(ends, places, strict=True)
        ],
    }


def spread(ends: Sequence[float], low: float, high: float, gap: float) -> list[float]:
    """Return a place for each of the descending `ends`, all at least `gap` apart.

    Places are moved down from `high` first, then up from `low`: a label below the axis would be
    cut off.  More labels than fit leave `high`, rather than lie on each other.
    """
    places, free = [], high
    for end in ends:
        # At its own end if that is free, else just below the label above it.
        places.append(min(end, free))
        free = places[-1] - gap
    free = low
    for n in reversed(range(len(places))):
        # Upwards a label moves only if one below it needs its place: order and distance are kept.
        places[n] = max(places[n], free)
        free = places[n] + gap
    return places


def _first(pair: tuple[float, Line]) -> float:
    return pair[0]


def _end_name(line: Line, y: float, theme: Theme) -> dict[str, Any]:
    end = f" <b>{as_typed(line.end)}</b>" if line.end else ""
    return {
        "x": 1,
        "xref": "paper",
        "xanchor": "left",
        "xshift": 8,
        "y": y,
        "yanchor": "middle",
        "text": as_typed(line.name) + end,
        "showarrow": False,
        "align": "left",
        "font": {"size": NOTE_SIZE, "color": getattr(palette(theme), line.colour)},
    }


def _draw_level(figure: go.Figure, level: Level, theme: Theme) -> None:
    name = as_typed(level.name)
    figure.add_hline(
        y=level.value,
        # The table of the figure lists the lines across it that have a name.
        name=name,
        line={"color": palette(theme).ink, "width": 1.5, "dash": "dot"},
        annotation={"text": f"{name} {level.value:.2f}", "font": {"size": TEXT_SIZE}},
        annotation_position="bottom left" if level.below else "top left",
    )
