"""Every word a figure prints is shown as given: no label or title reaches Plotly as markup."""

import json
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from owi_core.figures import (
    Bar,
    CutEdge,
    FigureText,
    Group,
    Level,
    Line,
    NamedRow,
    Scale,
    Timed,
    accuracy_map,
    amount_bars,
    attention_path,
    gradient_map,
    grouped_bars,
    influence_map,
    knockout_bars,
    line_chart,
    loss_curve,
    pattern_matrix,
    position_likeness,
    position_table,
    reach_panels,
    row_bars,
    row_difference,
    row_over_training,
    signed_bars,
    thumbnails,
    time_by_length,
)

# A tag, a formula, an entity and a template: all that Plotly would read.  Short, so that no axis
# cuts it.
HOSTILE = "<i>$%{x}&lt;"
WORDS = [HOSTILE, "b"]
MASK = np.tri(2, dtype=bool)
PATTERN = np.array([[1.0, 0.0], [0.5, 0.5]])
LEAKING = np.array([[0.5, 0.5], [0.5, 0.5]])
TEXT = replace(
    FigureText(**{field.name: HOSTILE for field in fields(FigureText)}),
    threshold="<i>$&lt; {threshold}",  # a template of ours: braces in it are filled
)
LINES = [Line(HOSTILE, [(1, 1.0), (2, 0.5)], end=HOSTILE)]
AXES = (Scale(HOSTILE, log=True), Scale(HOSTILE, limits=(0, 1)))
ROW = NamedRow(HOSTILE, WORDS, LEAKING[0], query=0, allowed=MASK[0])

FIGURES: dict[str, Callable[[], go.Figure]] = {
    "row_bars": lambda: row_bars([ROW], text=TEXT),
    "row_difference": lambda: row_difference(
        WORDS, PATTERN[0], WORDS[:1], PATTERN[0, :1], text=TEXT
    ),
    "pattern_matrix": lambda: pattern_matrix(LEAKING, MASK, WORDS, WORDS, text=TEXT),
    "influence_map": lambda: influence_map(PATTERN, MASK, WORDS, text=TEXT),
    "thumbnails": lambda: thumbnails(PATTERN[None, None], MASK, WORDS, WORDS, text=TEXT),
    "path": lambda: attention_path(PATTERN[None], WORDS, 1, text=TEXT),
    "loss_curve": lambda: loss_curve([1, 2], [2.0, 1.0], [(2, 1.5)], 0.1, text=TEXT),
    "line_chart": lambda: line_chart(LINES, *AXES, levels=[Level(HOSTILE, 0.5)]),
    "line_ends": lambda: line_chart(LINES, *AXES, names="ends"),
    "time_by_length": lambda: time_by_length(
        [Timed(HOSTILE, {8: 1.0}, 2.0)], x_title=HOSTILE, y_title=HOSTILE
    ),
    "signed_bars": lambda: signed_bars([Bar(HOSTILE, -1.0)], HOSTILE),
    "amount_bars": lambda: amount_bars([Bar(HOSTILE, 1.0)], HOSTILE, unit=HOSTILE),
    "grouped_bars": lambda: grouped_bars(WORDS, [Group(HOSTILE, [1.0, 2.0], "a")], HOSTILE),
    "knockout_bars": lambda: knockout_bars(
        [CutEdge(HOSTILE, 1, HOSTILE, 0, -1.0, control=True)], text=TEXT
    ),
    "accuracy_map": lambda: accuracy_map(
        WORDS, PATTERN, MASK, x_title=HOSTILE, value_title=HOSTILE, unlinked=HOSTILE
    ),
    "gradient_map": lambda: gradient_map(
        WORDS, [HOSTILE, "r"], PATTERN, names=(HOSTILE, "o"), across=HOSTILE, scale=HOSTILE
    ),
    "row_over_training": lambda: row_over_training([0, 9], PATTERN, WORDS, text=TEXT),
    "position_table": lambda: position_table(PATTERN, text=TEXT),
    "position_likeness": lambda: position_likeness(LEAKING, text=TEXT),
    "reach_panels": lambda: reach_panels(
        MASK[None, None], [HOSTILE], [HOSTILE], linked=HOSTILE, unlinked=HOSTILE,
        row_notes=[HOSTILE],
    ),
}  # fmt: skip


def printed(node: Any) -> Iterator[str]:
    """Every text of a figure but `meta`, which Plotly stores and never draws."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict):
        for key, value in node.items():
            if key != "meta":
                yield from printed(value)
    elif isinstance(node, list):
        for value in node:
            yield from printed(value)


@pytest.mark.parametrize("name", FIGURES)
def test_hostile_words_are_shown_and_never_read_as_markup(name: str) -> None:
    figure = json.loads(FIGURES[name]().to_json())
    texts = list(printed([figure["data"], figure["layout"]]))
    assert not [text for text in texts if "<i>" in text or "$" in text or "&lt;" in text]
    assert any("&#60;i&#62;&#36;&#37;{x}&#38;lt;" in text for text in texts)
