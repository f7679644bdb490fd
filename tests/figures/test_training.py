"""A run over its steps: the loss above its floor, and the row as it forms."""

import numpy as np
import pytest

from owi_core.figures import FigureText, loss_curve, row_over_training


def test_the_loss_is_drawn_as_it_was_from_zero_up() -> None:
    figure = loss_curve([1, 2, 3], [3.0, 2.0, 1.5])
    assert list(figure.data[0].x) == [1, 2, 3]
    assert list(figure.data[0].y) == [3.0, 2.0, 1.5]
    assert figure.layout.yaxis.range[0] == 0
    assert figure.layout.yaxis.range[1] > 3


def test_axes_carry_their_units() -> None:
    figure = loss_curve([1], [3.0], text=FigureText(step="训练步", loss="损失（nat）"))
    assert figure.layout.xaxis.title.text == "训练步"
    assert figure.layout.yaxis.title.text == "损失（nat）"
    assert figure.data[0].hovertemplate == "%{y:.3f}"


def test_the_floor_is_a_line_with_its_value() -> None:
    figure = loss_curve([1, 2], [3.0, 2.0], floor=0.18)
    assert figure.layout.shapes[0].y0 == 0.18
    assert figure.layout.annotations[0].text == "floor 0.18"


def test_without_a_floor_no_line_is_drawn() -> None:
    assert not loss_curve([1, 2], [3.0, 2.0]).layout.shapes


def test_held_out_loss_stands_beside_and_brings_the_legend() -> None:
    figure = loss_curve([1, 2], [3.0, 2.0], [(2, 2.5)])
    assert list(figure.data[1].x) == [2]
    assert list(figure.data[1].y) == [2.5]
    assert figure.layout.showlegend
    assert not loss_curve([1, 2], [3.0, 2.0]).layout.showlegend


def test_no_step_yet_is_an_empty_chart() -> None:
    assert len(loss_curve([], []).data[0].x) == 0


def test_a_single_step_is_a_visible_point() -> None:
    assert "markers" in loss_curve([1], [2.0]).data[0].mode


def test_the_cursor_stands_at_the_step() -> None:
    figure = loss_curve([1, 2, 3], [3.0, 2.0, 1.5], step=2)
    assert figure.layout.shapes[0].x0 == 2


def test_a_forming_row_has_a_column_a_snapshot_and_a_line_a_word() -> None:
    rows = np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1]])
    figure = row_over_training([0, 50], rows, ["苹果", "和", "苹果"])
    cells = figure.data[0]
    np.testing.assert_array_equal(cells.z, rows.T)
    assert list(cells.x) == [0, 50]
    assert list(cells.y) == [0, 1, 2]
    assert (cells.zmin, cells.zmax) == (0, 1)
    assert list(figure.layout.yaxis.ticktext) == ["苹果", "和", "苹果"]
    assert cells.customdata[2][1] == "苹果 (3)"
    assert "%{z:.3f}" in cells.hovertemplate


def test_rows_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\(2, 3\) is needed"):
        row_over_training([0, 50], np.zeros((2, 2)), ["a", "b", "c"])
