"""Tables of numbers as colours: positions, gradients, accuracies, influence, a row over training.

Colour is fixed to the meaning of the numbers: attention's ramp from 0 to 1, a diverging one
around 0 for values of both signs.  A cell without a number stays empty.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np
import plotly.graph_objects as go

from owi_core.figures.labels import as_typed, hovers, tick
from owi_core.figures.matrix import bare_matrix
from owi_core.figures.numerals import decimal
from owi_core.figures.roles import mark
from owi_core.figures.text import FigureText
from owi_core.figures.theme import (
    ATTENTION_RANGE,
    NOTE_SIZE,
    TEXT_SIZE,
    Theme,
    axis,
    base_figure,
    colour_stops,
    height_for,
    lay_out,
    line_axis,
    palette,
)

_POSITIONS_PX, _GRADIENTS_PX, _LINE_PX, _GROUP_PX = 340, 300, 34, 17


def position_table(
    table: np.ndarray, *, theme: Theme = "light", text: FigureText | None = None
) -> go.Figure:
    """Return a table of positions, (T, d), from −1 to 1; position 0 is on top."""
    text = text or FigureText()
    return _signed_map(table, text.position, text.dimension, theme)


def position_likeness(
    table: np.ndarray, *, theme: Theme = "light", text: FigureText | None = None
) -> go.Figure:
    """Return the cosine of every two positions, (T, T), from −1 to 1."""
    text = text or FigureText()
    # The cosine is the product of unit vectors; unlike the product itself it ignores lengths.
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    return _signed_map(unit @ unit.T, text.position, text.position, theme)


def row_over_training(
    steps: Sequence[int],
    rows: np.ndarray,
    labels: Sequence[str],
    *,
    step: int | None = None,
    theme: Theme = "light",
    text: FigureText | None = None,
) -> go.Figure:
    """Return a query's row as it forms: a column for every snapshot, a line for every key.

    steps: (S,) steps of the snapshots.  rows: (S, T) weights.  step: where the cursor is.
    """
    text = text or FigureText()
    # Checked here: Plotly would draw the part that fits and leave the rest empty.
    if rows.shape != (len(steps), len(labels)):
        raise ValueError(
            f"rows have shape {rows.shape}: {(len(steps), len(labels))} is needed, "
            "a row for every step and a weight for every label"
        )
    figure = base_figure(theme, height_for(len(labels)))
    figure.add_heatmap(
        x=list(steps),
        y=list(range(len(labels))),
        # Transposed: keys go down and steps across, as the row is drawn elsewhere.
        z=rows.T,
        zmin=ATTENTION_RANGE[0],
        zmax=ATTENTION_RANGE[1],
        colorscale=colour_stops(palette(theme).ramp),
        # The axis has shortened words; the hover box needs the whole one with its place.
        customdata=[[word] * len(steps) for word in hovers(labels)],
        hovertemplate=f"<b>%{{customdata}}</b><br>{as_typed(text.step)} %{{x}}<br>"
        f"{as_typed(text.weight)} <b>%{{z:.3f}}</b><extra></extra>",
        ygap=1,
        colorbar=_unit_colorbar(text.weight),
    )
    lay_out(
        figure,
        xaxis=axis(theme, text.step),
        yaxis=line_axis(theme, [tick(label) for label in labels], text.key),
    )
    if step is not None:
        # Vermilion, as the cursor has to be seen on paper and on ink.
        figure.add_vline(x=step, line={"color": palette(theme).b, "width": 2})
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
    """Return how often each kind (lines) is right at each distance (columns), from 0 to 1.

    accuracy: (K, D), distances 1 … D.  linked: (K, D) bool; a cell without a link has a cross.
    """
    K, D = accuracy.shape
    names = [as_typed(label) for label in labels]
    figure = base_figure(theme, 100 + _LINE_PX * K)
    figure.add_heatmap(
        x=list(range(1, D + 1)),
        y=list(range(K)),
        z=accuracy,
        zmin=0,
        zmax=1,
        colorscale=colour_stops(palette(theme).ramp),
        xgap=1,
        ygap=3,
        customdata=[[name] * D for name in names],
        hovertemplate=f"<b>%{{customdata}}</b><br>{as_typed(x_title)} %{{x}}<br>"
        f"{as_typed(value_title)} <b>%{{z:.2f}}</b><extra></extra>",
        colorbar=_unit_colorbar(""),
    )
    crosses = _crosses(~linked, unlinked, theme)
    figure.add_trace(crosses)
    lay_out(
        figure,
        showlegend=bool(len(crosses.x)),
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        xaxis=axis(theme, x_title),
        yaxis=line_axis(theme, names),
    )
    return figure


def gradient_map(
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
    The colour is log10; a row that gets exactly zero stays empty.
    """
    # log10(0) is -inf, which no colour stands for; zero is a finding of its own, so a gap.
    logs = np.log10(parts, out=np.full(parts.shape, np.nan), where=parts > 0)
    figure = base_figure(theme, _GRADIENTS_PX)
    figure.add_heatmap(
        z=logs,
        x=list(range(len(words))),
        y=[0, 1],
        colorscale=colour_stops(palette(theme).ramp),
        customdata=_gradient_notes(words, roles, parts),
        hovertemplate="<b>%{customdata[0]}</b> (%{customdata[1]})<br>%{customdata[2]}"
        "<extra></extra>",
        hoverongaps=True,
        # Under the map: beside it, a phone would have no room left for the words.
        colorbar={"orientation": "h", "thickness": 8, "outlinewidth": 0, "y": -0.3,
                  "yanchor": "top", "title": {"text": as_typed(scale), "side": "bottom"}},
    )  # fmt: skip
    lay_out(
        figure,
        xaxis=axis(theme, across, showticklabels=False, range=[-0.5, len(words) - 0.5]),
        yaxis=line_axis(theme, [as_typed(name) for name in names]),
        # A gap shows the background: the same grey that means "exactly 0" in a matrix.
        plot_bgcolor=palette(theme).forbidden,
        # A line of text above the map for each group's name.
        margin={"t": 24 + _GROUP_PX * len(set(roles))},
    )
    _mark_groups(figure, roles, theme)
    return figure


def influence_map(
    shares: np.ndarray,
    reach: np.ndarray,
    tokens: Sequence[str],
    *,
    highest: float = 1.0,
    theme: Theme = "light",
    text: FigureText | None = None,
) -> go.Figure:
    """Return the share of each word (columns) in what moves each output (lines), (T, T).

    reach: (T, T) bool; where the model's build lets no influence through, the cell is hatched, and
    framed as a leak if it is not exactly 0.  highest: the value with the darkest ink.  No numbers
    are written: several maps are drawn beside each other, and a cell is narrow.
    """
    return bare_matrix(shares, reach, tokens, tokens, highest=highest, theme=theme, text=text)


def influence_text(text: FigureText, *, query: str, key: str, weight: str, none: str) -> FigureText:
    """Return the words of a figure with those of an influence map in place of attention's."""
    return replace(text, query=query, key=key, weight=weight, forbidden=none)


def _signed_map(values: np.ndarray, vertical: str, across: str, theme: Theme) -> go.Figure:
    figure = base_figure(theme, _POSITIONS_PX)
    figure.add_heatmap(
        z=values,
        zmin=-1,
        zmax=1,
        colorscale=colour_stops(palette(theme).diverging),
        colorbar={"thickness": 10, "outlinewidth": 0, "tickvals": [-1, 0, 1]},
        # Formatted here: a hover box would print a hyphen for the minus sign.
        hovertext=[[decimal(value, 3) for value in row] for row in values],
        hovertemplate=f"{as_typed(vertical)} %{{y}}<br>{as_typed(across)} %{{x}}<br>"
        "<b>%{hovertext}</b><extra></extra>",
    )
    lay_out(figure, xaxis=axis(theme, across), yaxis=axis(theme, vertical, autorange="reversed"))
    return figure


def _unit_colorbar(title: str) -> dict[str, Any]:
    return {
        "title": {"text": as_typed(title), "side": "right", "font": {"size": TEXT_SIZE}},
        "thickness": 8,
        # Fixed ticks, so that the bars of several maps can be compared.
        "tickvals": [0, 0.5, 1],
        "ticktext": ["0", "0.5", "1"],
        "outlinewidth": 0,
    }


def _crosses(cells: np.ndarray, name: str, theme: Theme) -> go.Scatter:
    """Return a cross on each True cell of (K, D); it names a place and has no value."""
    rows, columns = np.nonzero(cells)
    return go.Scatter(
        # Columns are counted from 0, distances from 1.
        x=columns + 1,
        y=rows,
        mode="markers",
        marker={"symbol": "x-thin", "size": 6, "line": {"width": 1.2, "color": palette(theme).b}},
        name=as_typed(name),
        hoverinfo="skip",
        meta=mark(),
        showlegend=True,
    )


def _gradient_notes(words: Sequence[str], roles: Sequence[str], parts: np.ndarray) -> np.ndarray:
    """Return (2, V, 3) words of the hover box: the word, its group, the norm."""
    rows = [
        [
            [as_typed(w), as_typed(r), f"{norm:.3g}"]
            for w, r, norm in zip(words, roles, row, strict=True)
        ]
        for row in parts
    ]
    return np.array(rows, dtype=object)


def _mark_groups(figure: go.Figure, roles: Sequence[str], theme: Theme) -> None:
    """Write each group's name where it begins, one above the other, with a line at each border."""
    groups, start = [list(members) for _, members in groupby(roles)], 0
    for place, members in enumerate(groups):
        n = len(members)
        if start:
            # Half a cell to the left: between the last word of a group and the first of the next.
            figure.add_vline(x=start - 0.5, line={"color": palette(theme).b, "width": 2})
        figure.add_annotation(
            x=start - 0.5,
            xanchor="left",
            y=1,
            yref="paper",
            yanchor="bottom",
            # A group may be narrower than its name: on one height the names would overlap.
            yshift=_GROUP_PX * (len(groups) - 1 - place),
            text=f"▾ {as_typed(members[0])} {n}",
            showarrow=False,
            font={"size": NOTE_SIZE},
        )
        start += n
