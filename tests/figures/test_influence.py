"""The influence map and the accuracy lines say what they were given."""

from itertools import pairwise

import numpy as np
import pytest

from owi_core.figures import (
    FigureText,
    Line,
    accuracy_lines,
    influence_map,
    influence_text,
    palette,
)

WORDS = ["猫", "追", "猫", "<b>"]
REACH = np.tri(4, dtype=bool) & ~np.tri(4, k=-2, dtype=bool)


def shares() -> np.ndarray:
    values = np.where(REACH, np.arange(1.0, 17).reshape(4, 4), 0.0)
    return values / values.sum(axis=1, keepdims=True)


def test_a_map_draws_shares_hatches_what_cannot_be_reached_and_writes_no_numbers() -> None:
    figure = influence_map(shares(), REACH, WORDS)
    cells = figure.data[1]
    np.testing.assert_allclose(np.array(cells.z, float)[REACH], shares()[REACH])
    assert np.isnan(np.array(cells.z, float)[~REACH]).all()
    assert "values" not in [trace.name for trace in figure.data]
    hatch = next(trace for trace in figure.data if trace.name == "hatch")
    assert hatch.x.count(None) == 3 * int((~REACH).sum())


def test_an_influence_from_out_of_reach_is_framed_as_a_leak() -> None:
    values = shares()
    values[0, 3] = 1e-9
    text = FigureText()
    figure = influence_map(values, REACH, WORDS, text=text)
    frame = next(trace for trace in figure.data if trace.name == text.leak)
    assert len(frame.x) == 6


def test_the_words_are_those_of_influence() -> None:
    text = influence_text(FigureText(), query="Q", key="K", weight="W", none="N")
    figure = influence_map(shares(), REACH, WORDS, text=text)
    assert figure.layout.xaxis2.title.text == "K"
    assert figure.layout.yaxis2.title.text == "Q"
    assert any("N" in (trace.hovertemplate or "") for trace in figure.data)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_lines_carry_their_values_names_and_colours(theme: str) -> None:
    lines = [
        Line("chain", {1: 1.0, 8: 0.5}),
        Line("window", {1: 1.0, 8: 0.06}, "B"),
        Line("attention", {1: 1.0, 8: 1.0}, "A"),
        Line("nothing", {}),
    ]
    figure = accuracy_lines(
        lines,
        x_title="d",
        y_title="right",
        chance=1 / 16,
        chance_label="chance",
        theme=theme,  # type: ignore[arg-type]
    )
    assert [trace.name for trace in figure.data] == ["chain", "window", "attention"]
    assert list(figure.data[1].y) == [1.0, 0.06]
    assert figure.data[2].line.color == palette(theme).a  # type: ignore[arg-type]
    assert list(figure.layout.xaxis.tickvals) == [1, 8]
    told = [annotation.text for annotation in figure.layout.annotations]
    assert told[:3] == ["attention <b>1.00</b>", "chain <b>0.50</b>", "window <b>0.06</b>"]
    assert "chance 0.06" in told


def test_names_of_lines_that_end_together_do_not_lie_on_each_other() -> None:
    lines = [Line(str(n), {1: 0.5, 8: 1.0}) for n in range(6)]
    heights = [a.y for a in accuracy_lines(lines, x_title="", y_title="").layout.annotations]
    assert all(a - b > 0.05 for a, b in pairwise(heights))
