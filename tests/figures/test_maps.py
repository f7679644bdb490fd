"""Maps hold the numbers they were given, name their axes, and leave nothing where nothing is."""

import numpy as np
import pytest

from owi_core import figures

WORDS = ["猫", "追", "猫", "<b>"]
REACH = np.tri(4, dtype=bool) & ~np.tri(4, k=-2, dtype=bool)
TABLE = np.array([[0.0, 1.0], [0.6, 0.8], [1.0, 0.0]])


def test_table_is_drawn_as_it_is_on_a_fixed_scale() -> None:
    figure = figures.position_table(TABLE)
    np.testing.assert_array_equal(figure.data[0].z, TABLE)
    assert (figure.data[0].zmin, figure.data[0].zmax) == (-1, 1)
    assert figure.layout.yaxis.title.text == "position"
    assert figure.layout.xaxis.title.text == "dimension"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_likeness_is_the_cosine(theme: str) -> None:
    z = figures.position_likeness(TABLE * 3, theme=theme).data[0].z  # type: ignore[arg-type]
    np.testing.assert_allclose(np.diag(z), 1)
    assert z[0][1] == pytest.approx(0.8)
    assert figures.position_likeness(-TABLE * [1, -1]).data[0].hovertext[0][2] == "0.000"
    assert figures.position_table(-TABLE).data[0].hovertext[0][1] == "−1.000"
    assert z[0][2] == pytest.approx(0.0)


def test_a_forming_row_has_a_column_a_snapshot_and_a_line_a_word() -> None:
    rows = np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1]])
    figure = figures.row_over_training([0, 50], rows, ["苹果", "和", "苹果"])
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
        figures.row_over_training([0, 50], np.zeros((2, 2)), ["a", "b", "c"])


def test_a_row_without_gradient_stays_empty() -> None:
    parts = np.array([[1.0, 0.0, 0.1], [0.1, 0.01, 1.0]])
    figure = figures.gradient_map(
        ["a", "<b>", "c"], ["read", "absent", "absent"], parts,
        names=("in", "out"), across="words", scale="log10",
    )  # fmt: skip
    z = np.array(figure.data[0].z)
    assert np.isnan(z[0, 1])
    np.testing.assert_allclose(z[1], [-1, -2, 0])
    assert "<b>" not in figure.data[0].customdata[0][1][0]
    assert [note.text for note in figure.layout.annotations] == ["▾ read 1", "▾ absent 2"]
    assert len(figure.layout.shapes) == 1


def test_accuracies_are_cells_and_what_nothing_links_has_a_cross() -> None:
    accuracy = np.array([[1.0, 0.9, 0.1], [1.0, 1.0, 1.0]])
    linked = np.array([[True, True, False], [True, True, True]])
    figure = figures.accuracy_map(
        ["window", "full"], accuracy, linked, x_title="d", value_title="right", unlinked="none"
    )
    cells, crosses = figure.data
    np.testing.assert_array_equal(cells.z, accuracy)
    assert list(cells.x) == [1, 2, 3]
    assert (cells.zmin, cells.zmax) == (0, 1)
    assert (list(crosses.x), list(crosses.y)) == ([3], [0])


def shares() -> np.ndarray:
    values = np.where(REACH, np.arange(1.0, 17).reshape(4, 4), 0.0)
    return values / values.sum(axis=1, keepdims=True)


def test_a_map_draws_shares_hatches_what_cannot_be_reached_and_writes_no_numbers() -> None:
    figure = figures.influence_map(shares(), REACH, WORDS)
    cells = figure.data[1]
    np.testing.assert_allclose(np.array(cells.z, float)[REACH], shares()[REACH])
    assert np.isnan(np.array(cells.z, float)[~REACH]).all()
    assert "values" not in [trace.name for trace in figure.data]
    hatch = next(trace for trace in figure.data if trace.name == "hatch")
    assert hatch.x.count(None) == 3 * int((~REACH).sum())


def test_an_influence_from_out_of_reach_is_framed_as_a_leak() -> None:
    values = shares()
    values[0, 3] = 1e-9
    text = figures.FigureText()
    figure = figures.influence_map(values, REACH, WORDS, text=text)
    frame = next(trace for trace in figure.data if trace.name == text.leak)
    assert len(frame.x) == 6


def test_the_words_are_those_of_influence() -> None:
    text = figures.influence_text(figures.FigureText(), query="Q", key="K", weight="W", none="N")
    figure = figures.influence_map(shares(), REACH, WORDS, text=text)
    assert figure.layout.xaxis2.title.text == "K"
    assert figure.layout.yaxis2.title.text == "Q"
    assert any("N" in (trace.hovertemplate or "") for trace in figure.data)
