"""Positions as pictures: the table of a number for each position and dimension, and likeness."""

import numpy as np
import plotly.graph_objects as go

from owi_core.figures.numerals import decimal
from owi_core.figures.text import FigureText
from owi_core.figures.theme import Theme, axis, base_figure, lay_out, palette


def position_table(
    table: np.ndarray, *, theme: Theme = "light", text: FigureText | None = None
) -> go.Figure:
    """Return a table of positions, (T, d), from −1 to 1; position 0 is on top."""
    text = text or FigureText()
    return _heatmap(table, theme, text.position, text.dimension)


def position_likeness(
    table: np.ndarray, *, theme: Theme = "light", text: FigureText | None = None
) -> go.Figure:
    """Return the cosine of every two positions, (T, T), from −1 to 1."""
    text = text or FigureText()
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    return _heatmap(unit @ unit.T, theme, text.position, text.position)


def _heatmap(values: np.ndarray, theme: Theme, vertical: str, across: str) -> go.Figure:
    figure = base_figure(theme, 340)
    hover = f"{vertical} %{{y}}<br>{across} %{{x}}<br><b>%{{hovertext}}</b><extra></extra>"
    figure.add_trace(
        go.Heatmap(
            z=values,
            zmin=-1,
            zmax=1,
            colorscale=[list(stop) for stop in palette(theme).diverging],
            colorbar={"thickness": 10, "outlinewidth": 0, "tickvals": [-1, 0, 1]},
            hovertext=[[decimal(value, 3) for value in row] for row in values],
            hovertemplate=hover,
        )
    )
    lay_out(figure, xaxis=axis(theme, across), yaxis=axis(theme, vertical, autorange="reversed"))
    return figure
