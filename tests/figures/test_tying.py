"""The pictures of shared weights hold the numbers they were given, and leave nothing at nothing."""

import numpy as np
import pytest

from owi_core.figures import palette
from owi_core.figures.tying import NamedLine, edited_logits, gradient_rows, named_lines


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_equal_words_keep_a_line_each_and_tied_is_blue(theme: str) -> None:
    figure = edited_logits(
        ["苹果", "苹果"], [1, 2], [3, 4], [1, 2],
        names=("before", "one", "two"), across="logit", theme=theme,  # type: ignore[arg-type]
    )  # fmt: skip
    assert [list(bar.x) for bar in figure.data] == [[1, 2], [3, 4], [1, 2]]
    assert list(figure.data[0].y) == [0, 1]
    assert list(figure.layout.yaxis.ticktext) == ["苹果", "苹果"]
    colours = palette(theme)  # type: ignore[arg-type]
    assert [bar.marker.color for bar in figure.data] == [colours.muted, colours.a, colours.b]
    assert figure.layout.xaxis.title.text == "logit"
    low, high = figure.layout.xaxis.range
    assert low < 0 < 4 < high


def test_a_row_without_gradient_stays_empty() -> None:
    parts = np.array([[1.0, 0.0, 0.1], [0.1, 0.01, 1.0]])
    figure = gradient_rows(
        ["a", "<b>", "c"], ["read", "absent", "absent"], parts,
        names=("in", "out"), across="words", scale="log10",
    )  # fmt: skip
    z = np.array(figure.data[0].z)
    assert np.isnan(z[0, 1])
    np.testing.assert_allclose(z[1], [-1, -2, 0])
    assert "<b>" not in figure.data[0].customdata[0][1][0]
    assert [note.text for note in figure.layout.annotations] == ["▾ read 1", "▾ absent 2"]
    assert len(figure.layout.shapes) == 1


def test_lines_start_at_zero_and_carry_their_names() -> None:
    lines = [NamedLine("tied", [(0, 0.0), (5, 1.0)]), NamedLine("two", [(0, 0.5)], "b", "dash")]
    figure = named_lines(lines, across="step", upward="share", top=1.0)
    assert [line.name for line in figure.data] == ["tied", "two"]
    assert list(figure.data[0].y) == [0.0, 1.0]
    assert figure.layout.yaxis.range[0] == 0
    assert figure.layout.yaxis.range[1] == pytest.approx(1.04)
    assert named_lines([], across="x", upward="y").layout.yaxis.range[1] > 0
