"""A run seen over its steps: the loss with its floor, and one query's row as it forms."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from owi_core.figures.labels import hovers, tick
from owi_core.figures.text import FigureText
from owi_core.figures.theme import (
    ATTENTION_RANGE,
    TEXT_SIZE,
    Theme,
    axis,
    base_figure,
    height_for,
    lay_out,
    line_axis,
    palette,
)

_LOSS_HEIGHT = 300
# A loss at the floor may be drawn just under it by noise: the axis leaves room below.
_HEADROOM = 1.06


def loss_curve(
    steps: Sequence[int],
    loss: Sequence[float],
    evaluated: Sequence[tuple[int, float]] = (),
    floor: float | None = None,
    *,
    step: int | None = None,
    theme: Theme = "light",
    text: FigureText | None = None,
) -> go.Figure:
    """Return the loss in nats over training steps, from 0 up.

    evaluated: (step, held-out loss in nats).  floor: the loss that nothing can honestly beat.
    step: where a cursor stands, when one scrubs through training time.
    """
    text = text or FigureText()
    colours = palette(theme)
    figure = base_figure(theme, _LOSS_HEIGHT)
    figure.add_traces(_loss_traces(steps, loss, evaluated, theme, text))
    highest = max((*loss, *(value for _, value in evaluated), floor or 0.0), default=1.0)
    lay_out(
        figure,
        hovermode="x unified",
        showlegend=len(evaluated) > 0,
        legend={"orientation": "h", "x": 1, "xanchor": "right", "y": 1, "yanchor": "bottom"},
        xaxis=axis(theme, text.step, rangemode="tozero"),
        yaxis=axis(theme, text.loss, range=[0, (highest or 1.0) * _HEADROOM], showgrid=True),
    )
    if floor is not None:
        figure.add_hline(
            y=floor,
            name=text.floor,
            line={"color": colours.ink, "width": 1.5, "dash": "dot"},
            annotation={"text": f"{text.floor} {floor:.2f}", "font": {"size": TEXT_SIZE}},
            annotation_position="top left",
        )
    if step is not None:
        figure.add_vline(x=step, line={"color": colours.muted, "width": 1.5})
    return figure


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

    steps: (S,) steps of the snapshots.  rows: (S, T) weights.  step: where a cursor stands.
    """
    text = text or FigureText()
    if rows.shape != (len(steps), len(labels)):
        raise ValueError(
            f"rows have shape {rows.shape}: {(len(steps), len(labels))} is needed, "
            "a row for every step and a weight for every label"
        )
    figure = base_figure(theme, height_for(len(labels)))
    figure.add_heatmap(
        x=list(steps),
        y=list(range(len(labels))),
        z=rows.T,
        zmin=ATTENTION_RANGE[0],
        zmax=ATTENTION_RANGE[1],
        colorscale=[list(stop) for stop in palette(theme).ramp],
        customdata=[[word] * len(steps) for word in hovers(labels)],
        hovertemplate=f"<b>%{{customdata}}</b><br>{text.step} %{{x}}<br>"
        f"{text.weight} <b>%{{z:.3f}}</b><extra></extra>",
        ygap=1,
        colorbar=_scale(text),
    )
    lay_out(
        figure,
        xaxis=axis(theme, text.step),
        yaxis=line_axis(theme, [tick(label) for label in labels], text.key),
    )
    if step is not None:
        figure.add_vline(x=step, line={"color": palette(theme).b, "width": 2})
    return figure


def _loss_traces(
    steps: Sequence[int],
    loss: Sequence[float],
    evaluated: Sequence[tuple[int, float]],
    theme: Theme,
    text: FigureText,
) -> list[go.Scatter]:
    colours = palette(theme)
    hovertemplate = "%{y:.3f}"
    trained = go.Scatter(
        x=list(steps),
        y=list(loss),
        mode="lines+markers" if len(steps) < 2 else "lines",
        line={"color": colours.ink, "width": 2},
        name=text.trained,
        hovertemplate=hovertemplate,
    )
    if not evaluated:
        return [trained]
    held_out = go.Scatter(
        x=[at for at, _ in evaluated],
        y=[value for _, value in evaluated],
        mode="markers+lines",
        line={"color": colours.muted, "width": 1, "dash": "dash"},
        marker={"color": colours.surface, "size": 9, "line": {"color": colours.ink, "width": 2}},
        name=text.evaluated,
        hovertemplate=hovertemplate,
    )
    return [trained, held_out]


def _scale(text: FigureText) -> dict[str, object]:
    return {
        "title": {"text": text.weight, "side": "right", "font": {"size": TEXT_SIZE}},
        "thickness": 8,
        "tickvals": [0, 0.5, 1],
        "ticktext": ["0", "0.5", "1"],
        "outlinewidth": 0,
    }
