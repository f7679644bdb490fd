"""One query's attention row as bars: two sentences on one scale, and their signed difference."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go

from owi_core.figures.alignment import Pair, aligned
from owi_core.figures.bars import end_values
from owi_core.figures.labels import (
    MAX_TICK_UNITS,
    as_typed,
    hover,
    hovers,
    tick,
    width_units,
    word_axis,
)
from owi_core.figures.numerals import signed, signed_exact
from owi_core.figures.roles import decoration, marked
from owi_core.figures.text import FigureText
from owi_core.figures.theme import (
    NOTE_SIZE,
    WORD_SIZE,
    Theme,
    axis,
    base_figure,
    height_for,
    lay_out,
    line_axis,
    palette,
    signed_axis,
    word_size,
)

# A chart's width on a phone, where the gap between two panels is tightest.
_PHONE_PX = 330
_ROUNDING = 1e-6  # float32, of weights up to 1
# Limits that a difference axis may take, so that small differences stay visible and comparable.
# Few of them, not the exact maximum: two differences can then be compared at a glance.
_LIMITS = (0.05, 0.1, 0.25, 0.5, 1.0)


@dataclass(frozen=True)
class NamedRow:
    """A query's row: labels and weights (T,), which sentence it is, and where the query stands.

    allowed: (T,) bool, True = the query may attend there; None = everywhere.
    """

    name: str
    labels: Sequence[str]
    weights: np.ndarray
    identity: Literal["A", "B"] = "A"
    query: int | None = None
    allowed: np.ndarray | None = None

    def __post_init__(self) -> None:
        if np.shape(self.weights) != (len(self.labels),):
            raise ValueError(
                f"weights have shape {np.shape(self.weights)} and there are "
                f"{len(self.labels)} labels: give one weight a label"
            )


def row_bars(
    rows: Sequence[NamedRow], *, theme: Theme = "light", text: FigureText | None = None
) -> go.Figure:
    """Return the rows side by side as bars on one scale from 0 to 1, a line for every word."""
    text = text or FigureText()
    # The longer sentence sets the height of a line in both panels.
    longest = max(len(row.labels) for row in rows)
    figure = base_figure(theme, height_for(longest))
    # Overlay: a hatch and the bar of a leak share one line; stacked, the leak would start at 1.
    lay_out(figure, bargap=0.3, barmode="overlay")
    gap = _gap(rows, word_size(longest))
    width = (1 - gap * (len(rows) - 1)) / len(rows)
    for number, row in enumerate(rows):
        # Plotly names the axes of the first panel x and y, of the second x2 and y2.
        suffix = "" if number == 0 else str(number + 1)
        left = number * (width + gap)
        lay_out(
            figure,
            **{
                f"xaxis{suffix}": _weight_axis(theme, text.weight)
                | {"domain": [left, left + width], "anchor": f"y{suffix}"},
                f"yaxis{suffix}": _word_lines(theme, row, longest) | {"anchor": f"x{suffix}"},
            },
        )
        figure.add_annotation(_panel_title(row, left, theme))
        figure.add_traces(_row_traces(row, suffix, theme, text))
    return figure


def row_difference(
    a_labels: Sequence[str],
    a: np.ndarray,
    b_labels: Sequence[str],
    b: np.ndarray,
    *,
    theme: Theme = "light",
    text: FigureText | None = None,
) -> go.Figure:
    """Return B − A word by word, diverging around 0; words in one sentence only stand alone.

    a: (T_a,), b: (T_b,) attention weights.  Words are aligned in order by difflib.
    """
    text = text or FigureText()
    pairs = aligned(a_labels, b_labels)
    values = _differences(a, b, pairs)
    # Equal limits on both sides: a longer bar is always a larger change, whichever its sign.
    limit = symmetric_limit(values)
    fills = [_side(value, theme) for value in values]
    figure = base_figure(theme, height_for(len(pairs)))
    figure.add_bar(
        x=values,
        y=list(range(len(pairs))),
        orientation="h",
        marker={"color": fills, "line": {"width": 0}},
        # What prints as 0.00 is left out: many zeros would hide the numbers that matter.
        text=["" if abs(value) < 0.005 else signed(value, 2) for value in values],
        **end_values(np.abs(values) >= limit / 2, fills),
        customdata=[
            [_pair_hover(a_labels, b_labels, pair), signed(value, 3), _where(pair, text)]
            for pair, value in zip(pairs, values, strict=True)
        ],
        hovertemplate="<b>%{customdata[0]}</b>, %{customdata[2]}<br>"
        f"{as_typed(text.difference)} %{{customdata[1]}}<extra></extra>",
    )
    lay_out(
        figure,
        bargap=0.3,
        xaxis=_difference_axis(theme, f"A ←   {text.difference}   → B", limit),
        yaxis=line_axis(theme, [_pair_label(a_labels, b_labels, pair) for pair in pairs]),
    )
    return figure


def is_same_everywhere(
    a_labels: Sequence[str], b_labels: Sequence[str], a: np.ndarray, b: np.ndarray
) -> bool:
    """Return whether every word has the same weight in both rows: `row_difference` is empty."""
    differences = _differences(a, b, aligned(a_labels, b_labels))
    return float(np.abs(differences).max(initial=0.0)) <= _ROUNDING


def symmetric_limit(values: np.ndarray) -> float:
    """Return the smallest standard limit that holds every value on both sides of 0."""
    largest = float(np.max(np.abs(values), initial=0.0))
    return next((limit for limit in _LIMITS if largest <= limit), largest)


def _gap(rows: Sequence[NamedRow], px: int) -> float:
    """Return the share of the width between panels: room on a phone for the next panel's words."""
    widest = max(width_units(label) for row in rows for label in row.labels)
    return min(0.3, (min(widest, MAX_TICK_UNITS) * px / 2 + 12) / _PHONE_PX)


def _row_traces(row: NamedRow, suffix: str, theme: Theme, text: FigureText) -> list[go.Bar]:
    colours = palette(theme)
    weights = np.asarray(row.weights, dtype=float)
    axes = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}", "orientation": "h"}
    forbidden = _forbidden(row)
    bars = go.Bar(
        # A key that the mask excludes has no weight; a gap, so that no table counts a 0 for it.
        x=np.where(forbidden & (weights == 0), np.nan, weights),
        y=list(range(len(row.labels))),
        name=as_typed(row.name),
        marker={"color": getattr(colours, row.identity.lower()), "line": {"width": 0}},
        text=[f"{weight:.2f}" if weight >= 0.005 else "" for weight in weights],
        **end_values(weights >= 0.5, [getattr(colours, row.identity.lower())] * len(weights)),
        customdata=hovers(row.labels),
        hovertemplate="<b>%{customdata}</b><br>"
        f"{as_typed(text.weight)} %{{x:.3f}}<extra></extra>",
        **axes,
    )
    if not forbidden.any():
        return [bars]
    notes = [text.leak if weight else text.forbidden for weight in weights]
    marks = [note if shut else "" for note, shut in zip(notes, forbidden, strict=True)]
    # Kept beside the values, since the hatch that shows them is decoration for the table.
    bars.meta = marked(marks)
    # The hatch first: a leak is then drawn over it and stays visible.
    return [_forbidden_bars(row, marks, theme, text, axes), bars]


def _forbidden(row: NamedRow) -> np.ndarray:
    """Return (T,) bool, True where the mask lets the query see nothing."""
    if row.allowed is None:
        return np.zeros(len(row.labels), dtype=bool)
    return ~np.asarray(row.allowed, dtype=bool)


def _forbidden_bars(
    row: NamedRow, marks: Sequence[str], theme: Theme, text: FigureText, axes: dict[str, Any]
) -> go.Bar:
    """Return hatched lines over the full scale where the mask lets the query see nothing."""
    colours = palette(theme)
    forbidden = [i for i, mark in enumerate(marks) if mark]
    return go.Bar(
        # The full scale is the size of the hatch, not a weight: hence the role.
        x=[1.0] * len(forbidden),
        meta=decoration(),
        y=forbidden,
        name=as_typed(text.forbidden),
        marker={
            # No fill: the hatch must not look like a bar with a weight.
            "color": "rgba(0,0,0,0)",
            "line": {"width": 0},
            "pattern": {"shape": "/", "fgcolor": colours.hatch, "size": 6, "solidity": 0.18},
        },
        customdata=[[hover(row.labels[i], i), as_typed(marks[i])] for i in forbidden],
        hovertemplate="<b>%{customdata[0]}</b><br>%{customdata[1]}<extra></extra>",
        **axes,
    )


def _word_lines(theme: Theme, row: NamedRow, longest: int) -> dict[str, Any]:
    """Return the axis of words, the query in bold; short sentences keep the longest's scale."""
    ticks = word_axis(row.labels)
    # The only markup on an axis of words; the words themselves are escaped by word_axis.
    ticks["ticktext"] = [
        f"<b>{label}</b>" if i == row.query else label for i, label in enumerate(ticks["ticktext"])
    ]
    # The range follows the longer sentence, not this one; its lines would grow otherwise.
    return axis(theme, **ticks, tickfont={"size": word_size(longest)}, range=[longest - 0.5, -0.5])


def _weight_axis(theme: Theme, title: str) -> dict[str, Any]:
    ticks = {"tickvals": [0, 0.5, 1], "ticktext": ["0", "0.5", "1"]}
    # 2 % beyond 1, so that the end of a bar of weight 1 is not cut.
    return axis(theme, title, range=[0, 1.02], showgrid=True, **ticks)


def _difference_axis(theme: Theme, title: str, limit: float) -> dict[str, Any]:
    marks = [share * limit for share in (-1, -0.5, 0, 0.5, 1)]
    ticks = {"tickvals": marks, "ticktext": [signed_exact(mark) for mark in marks]}
    # 5 % beyond the limit for the number at the end of the longest bar.
    return signed_axis(theme, title, range=[-1.05 * limit, 1.05 * limit], **ticks)


def _panel_title(row: NamedRow, left: float, theme: Theme) -> dict[str, Any]:
    colour = getattr(palette(theme), row.identity.lower())
    return {
        "text": f'<span style="color:{colour}">■</span> <b>{as_typed(row.name)}</b>',
        "font": {"size": WORD_SIZE},
        "x": left,
        "y": 1,
        "yshift": 8,
        "xref": "paper",
        "yref": "paper",
        "xanchor": "left",
        "yanchor": "bottom",
        "showarrow": False,
    }


def _side(value: float, theme: Theme) -> str:
    """Return the colour of the sentence that looks more."""
    return palette(theme).a if value < 0 else palette(theme).b


def _differences(a: np.ndarray, b: np.ndarray, pairs: Sequence[Pair]) -> np.ndarray:
    # A word of one sentence counts as weight 0 in the other; each row sums to 1, so the bars sum
    # to 0.
    return np.array([_signed(a, b, pair) for pair in pairs])


def _signed(a: np.ndarray, b: np.ndarray, pair: Pair) -> float:
    i, j = pair
    # b first: the difference is B − A everywhere in the app.
    return float((0 if j is None else b[j]) - (0 if i is None else a[i]))


def _pair_label(a_labels: Sequence[str], b_labels: Sequence[str], pair: Pair) -> str:
    i, j = pair
    if i is not None and j is not None:
        return tick(a_labels[i])
    name, label = ("A", a_labels[i]) if i is not None else ("B", b_labels[j or 0])
    return f'<span style="font-size:{NOTE_SIZE}px">{name}:</span> {tick(label)}'


def _pair_hover(a_labels: Sequence[str], b_labels: Sequence[str], pair: Pair) -> str:
    i, j = pair
    if i is None or j is None:
        return hover(a_labels[i], i) if i is not None else hover(b_labels[j or 0], j or 0)
    return hover(a_labels[i], i) + ("" if i == j else f" → ({j + 1})")


def _where(pair: Pair, text: FigureText) -> str:
    i, j = pair
    if i is None:
        return as_typed(text.only_b)
    return as_typed(text.only_a if j is None else text.both)
