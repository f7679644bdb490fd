"""Generation measured: what each way of it costs over length, and what temperature repeats."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from owi_core.figures.labels import as_typed
from owi_core.figures.theme import TEXT_SIZE, Theme, axis, base_figure, lay_out, palette

_HEIGHT = 340
_DASHES = ("solid", "dash")
_SYMBOLS = ("circle", "square")


@dataclass(frozen=True)
class Curve:
    """One measured line: what it is called, and y for each x."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


def cost_curves(
    full: Curve, cached: Curve, *, x_title: str, y_title: str, theme: Theme = "light"
) -> go.Figure:
    """Return CPU seconds over tokens written, both axes logarithmic: a power is a straight line.

    A ratio of times is the same distance everywhere.
    """
    figure = _lines([full, cached], theme)
    lengths = list(full.x)
    seconds = {"type": "log", "showgrid": True, "dtick": 1, "exponentformat": "none"}
    lay_out(
        figure,
        xaxis=axis(
            theme,
            x_title,
            type="log",
            tickvals=lengths,
            ticktext=[f"{length:g}" for length in lengths],
        ),
        yaxis=axis(theme, y_title, **seconds),
    )
    return figure


def shares_by_temperature(
    curves: Sequence[Curve], *, x_title: str, y_title: str, theme: Theme = "light"
) -> go.Figure:
    """Return shares, 0 to 1, over temperature; x is logarithmic, as temperature divides."""
    figure = _lines(curves, theme)
    temperatures = list(curves[0].x)
    lay_out(
        figure,
        xaxis=axis(
            theme,
            x_title,
            type="log",
            tickvals=temperatures,
            ticktext=[f"{t:g}" for t in temperatures],
        ),
        yaxis=axis(theme, y_title, range=[-0.03, 1.03], showgrid=True, tickformat=".0%"),
    )
    return figure


def _lines(curves: Sequence[Curve], theme: Theme) -> go.Figure:
    """Return an empty-axed figure with a line for each curve, told apart by dash and mark too."""
    colours = palette(theme)
    figure = base_figure(theme, _HEIGHT)
    for curve, colour, dash, symbol in zip(
        curves, (colours.b, colours.a), _DASHES, _SYMBOLS, strict=False
    ):
        figure.add_scatter(
            x=list(curve.x),
            y=list(curve.y),
            name=as_typed(curve.name),
            mode="lines+markers",
            line={"color": colour, "width": 2.5, "dash": dash},
            marker={"color": colour, "size": 8, "symbol": symbol},
            hovertemplate=f"<b>{as_typed(curve.name)}</b><br>%{{x:g}}: %{{y:.3g}}<extra></extra>",
        )
    lay_out(figure,
        showlegend=True,
        legend={
            "orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom",
            "font": {"size": TEXT_SIZE},
        },
    )  # fmt: skip
    return figure
