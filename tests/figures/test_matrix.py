"""The pattern matrix: a fixed scale, words once each, and masked never looks like small."""

import numpy as np
import pytest

from owi_core.figures import FigureText, outline_cells, palette, pattern_matrix
from owi_core.figures.theme import contrast
from tests.figures.conftest import SENTENCE, Pattern


def test_the_scale_is_fixed_from_0_to_1_and_shown(causal: Pattern) -> None:
    pattern, mask = causal(tokens=6)
    weights = pattern_matrix(pattern * 0.2, mask, SENTENCE, SENTENCE).data[1]
    assert (weights.zmin, weights.zmax) == (0, 1)
    assert weights.showscale
    assert [list(stop) for stop in weights.colorscale] == [list(s) for s in palette("light").ramp]


def test_axes_say_who_looks_and_who_is_looked_at(causal: Pattern) -> None:
    pattern, mask = causal(tokens=6)
    text = FigureText(query="谁在看", key="看谁")
    figure = pattern_matrix(pattern, mask, SENTENCE, SENTENCE, text=text)
    assert figure.layout.yaxis2.title.text == "谁在看"
    assert figure.layout.xaxis2.title.text == "看谁"
    for words in ("谁在看", "看谁", "%{x}", "%{y}", "%{z:.3f}"):
        assert words in figure.data[1].hovertemplate


def test_allowed_cells_hold_their_weights_and_forbidden_ones_none(causal: Pattern) -> None:
    pattern, mask = causal(tokens=6)
    forbidden, weights, *_ = pattern_matrix(pattern, mask, SENTENCE, SENTENCE).data
    np.testing.assert_array_equal(weights.z[mask], pattern[mask])
    assert np.isnan(weights.z[~mask]).all()
    assert (np.isfinite(forbidden.z) == ~mask).all()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_masked_cell_differs_from_a_weight_of_zero(theme: str, causal: Pattern) -> None:
    _, mask = causal(tokens=3)
    pattern = np.array([[1.0, 0, 0], [0.0, 1.0, 0], [0.0, 0.0, 1.0]])
    figure = pattern_matrix(pattern, mask, "abc", "abc", theme=theme)  # type: ignore[arg-type]
    forbidden, weights, hatch, *_ = figure.data
    assert weights.z[1, 0] == 0
    assert np.isnan(weights.z[0, 1])
    assert forbidden.colorscale[0][1] != weights.colorscale[0][1]
    assert contrast(hatch.line.color, forbidden.colorscale[0][1]) >= 1.9
    assert FigureText().forbidden in forbidden.hovertemplate


def test_every_forbidden_cell_is_hatched_above_the_cells(causal: Pattern) -> None:
    pattern, mask = causal(tokens=6)
    figure = pattern_matrix(pattern, mask, SENTENCE, SENTENCE)
    hatch = figure.data[2]
    assert sum(x is None for x in hatch.x) == 3 * (~mask).sum()
    assert (hatch.xaxis, hatch.yaxis) == ("x2", "y2")
    assert figure.layout.xaxis2.overlaying == "x"


def test_without_a_forbidden_cell_nothing_is_hatched() -> None:
    figure = pattern_matrix(np.full((2, 3), 1 / 3), np.ones((2, 3), bool), "ab", "xyz")
    assert len(figure.data[2].x) == len(figure.data[3].x) == 0


def test_a_leak_keeps_its_colour_and_is_framed(causal: Pattern) -> None:
    pattern, mask = causal(tokens=6)
    pattern[1, 4] = 0.3
    forbidden, weights, _, leaks, *_ = pattern_matrix(pattern, mask, SENTENCE, SENTENCE).data
    assert weights.z[1, 4] == 0.3
    assert np.isnan(forbidden.z[1, 4])
    assert sorted({x for x in leaks.x if x is not None}) == [3.58, 4.42]
    assert leaks.line.color == palette("light").leak


def test_repeated_words_keep_their_rows_and_columns(causal: Pattern) -> None:
    pattern, mask = causal(tokens=6)
    layout = pattern_matrix(pattern, mask, SENTENCE, SENTENCE).layout
    assert list(layout.yaxis2.ticktext) == SENTENCE
    assert list(layout.xaxis2.ticktext) == SENTENCE
    assert list(layout.yaxis2.tickvals) == list(range(6))
    assert layout.xaxis.ticktext[0] == "苹果 (1)"
    assert layout.xaxis.ticktext[2] == "苹果 (3)"


def test_query_and_key_may_be_different_sentences() -> None:
    figure = pattern_matrix(np.full((2, 5), 0.2), np.ones((2, 5), bool), "ab", "vwxyz")
    assert list(figure.layout.yaxis2.ticktext) == ["a", "b"]
    assert list(figure.layout.xaxis2.ticktext) == list("vwxyz")


def test_a_chosen_row_is_framed(causal: Pattern) -> None:
    pattern, mask = causal(tokens=6)
    frame = pattern_matrix(pattern, mask, SENTENCE, SENTENCE, query=5).layout.shapes[0]
    assert (frame.y0, frame.y1) == (4.5, 5.5)


def test_values_stand_in_the_cells_of_short_sentences_only(causal: Pattern) -> None:
    pattern, mask = causal(tokens=6)
    written = pattern_matrix(pattern, mask, SENTENCE, SENTENCE).data[4]
    assert len(written.text) == (pattern >= 0.1).sum()
    long_pattern, long_mask = causal(tokens=64)
    assert len(pattern_matrix(long_pattern, long_mask, "字" * 64, "字" * 64).data) == 4


def test_two_tokens_do_not_stretch_and_sixty_four_stay_legible(causal: Pattern) -> None:
    for tokens, least in ((2, 150), (64, 64 * 16)):
        pattern, mask = causal(tokens=tokens)
        layout = pattern_matrix(pattern, mask, "字" * tokens, "字" * tokens).layout
        assert layout.height >= least
        assert layout.xaxis.range[1] - layout.xaxis.range[0] >= 8
        assert layout.yaxis2.tickfont.size >= 10


def test_shapes_that_disagree_are_refused(causal: Pattern) -> None:
    pattern, mask = causal(tokens=6)
    with pytest.raises(ValueError, match="mask has shape"):
        pattern_matrix(pattern, mask[:5], SENTENCE, SENTENCE)
    with pytest.raises(ValueError, match="pattern has shape"):
        pattern_matrix(pattern, mask, SENTENCE, SENTENCE[:5])


def test_other_values_than_weights_have_their_own_highest() -> None:
    values = np.array([[3.0, 0.0], [1.5, 12.0]])
    figure = pattern_matrix(values, np.tri(2, dtype=bool), ["a", "b"], ["a", "b"], highest=12.0)
    cells = figure.data[1]
    assert (cells.zmin, cells.zmax) == (0.0, 12.0)
    assert list(cells.colorbar.ticktext) == ["0", "6", "12"]
    assert list(figure.data[-1].text) == ["3.00", "1.50", "12"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_single_cells_are_framed_where_they_are(theme: str, causal: Pattern) -> None:
    pattern, mask = causal(tokens=6)
    figure = pattern_matrix(pattern, mask, SENTENCE, SENTENCE, theme=theme)
    frames = outline_cells(figure, [(2, 1), (4, 0)], theme).layout.shapes
    centres = [((f.y0 + f.y1) / 2, (f.x0 + f.x1) / 2) for f in frames]
    assert centres == [pytest.approx((2, 1)), pytest.approx((4, 0))]
    assert {f.line.color for f in frames} == {palette(theme).b}
