"""Rows as bars: two sentences on one scale, and the difference word by word."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from owi_core.figures import FigureText, NamedRow, row_bars, row_difference
from owi_core.figures.alignment import aligned
from owi_core.figures.rows import symmetric_limit

A = ["小明", "把", "苹果", "放在", "桌子", "上"]
B = ["小明", "把", "杯子", "放在", "桌子", "上"]
ROW = np.array([0.01, 0.01, 0.95, 0.01, 0.01, 0.01])
TEXT = FigureText(weight="权重", difference="差", only_a="只在甲", only_b="只在乙")


def test_both_rows_stand_on_one_scale_from_0_to_1() -> None:
    figure = row_bars([NamedRow("A", A, ROW), NamedRow("B", B, ROW, "B")], text=TEXT)
    assert figure.layout.xaxis.range == figure.layout.xaxis2.range
    assert figure.layout.xaxis.range[0] == 0
    assert 1 <= figure.layout.xaxis.range[1] < 1.05
    assert figure.layout.xaxis.title.text == figure.layout.xaxis2.title.text == "权重"
    assert figure.layout.xaxis.domain[1] < figure.layout.xaxis2.domain[0]


def test_each_sentence_has_its_colour_and_its_words() -> None:
    figure = row_bars([NamedRow("A", A, ROW), NamedRow("B", B, ROW, "B")])
    assert [bar.marker.color for bar in figure.data] == ["#0072B2", "#D55E00"]
    assert list(figure.layout.yaxis.ticktext) == A
    assert list(figure.layout.yaxis2.ticktext) == B
    np.testing.assert_array_equal(figure.data[1].x, ROW)


def test_hover_gives_three_digits_the_word_and_its_place() -> None:
    figure = row_bars([NamedRow("A", A, ROW)], text=TEXT)
    assert "%{x:.3f}" in figure.data[0].hovertemplate
    assert "权重" in figure.data[0].hovertemplate
    assert figure.data[0].customdata[2] == "苹果 (3)"


def test_repeated_words_keep_all_their_bars() -> None:
    figure = row_bars([NamedRow("A", ["苹果", "苹果", "苹果"], np.array([0.2, 0.3, 0.5]))])
    assert list(figure.data[0].y) == [0, 1, 2]
    assert list(figure.data[0].x) == [0.2, 0.3, 0.5]


def test_a_forbidden_key_is_hatched_and_a_small_weight_is_not() -> None:
    allowed = np.array([True, True, True, False])
    row = NamedRow("A", ["a", "b", "c", "d"], np.array([0.5, 0.5, 0.0, 0.0]), allowed=allowed)
    hatched, bars = row_bars([row]).data
    assert list(hatched.y) == [3]
    assert hatched.marker.pattern.shape == "/"
    assert hatched.customdata[0][1] == FigureText().forbidden
    assert bars.marker.pattern.shape is None
    assert len(bars.x) == 4


def test_a_leak_through_the_mask_is_named() -> None:
    row = NamedRow("A", ["a", "b"], np.array([0.5, 0.5]), allowed=np.array([True, False]))
    hatched, bars = row_bars([row]).data
    assert hatched.customdata[0][1] == FigureText().leak
    assert bars.x[1] == 0.5


def test_the_query_is_bold() -> None:
    figure = row_bars([NamedRow("A", ["它", "<b>"], np.array([0.5, 0.5]), query=1)])
    assert list(figure.layout.yaxis.ticktext) == ["它", "<b>&#60;b&#62;</b>"]


def test_a_row_with_another_length_than_its_labels_is_refused() -> None:
    with pytest.raises(ValueError, match="give one weight a label"):
        NamedRow("A", A, ROW[:3])


@pytest.mark.parametrize("tokens", [1, 2, 64])
def test_any_length_draws_every_word(tokens: int) -> None:
    labels = ["词"] * tokens
    figure = row_bars([NamedRow("A", labels, np.full(tokens, 1 / tokens))])
    assert len(figure.layout.yaxis.tickvals) == tokens
    assert figure.layout.height >= 140


def test_the_difference_keeps_its_signs() -> None:
    figure = row_difference(A, ROW, B, ROW, text=TEXT)
    by_word = {c[0]: (c[1], c[2]) for c in figure.data[0].customdata}
    assert by_word["苹果 (3)"] == ("−0.950", "只在甲")
    assert by_word["杯子 (3)"] == ("+0.950", "只在乙")
    assert by_word["桌子 (5)"][0] == "0.000"
    assert "差" in figure.layout.xaxis.title.text


def test_the_difference_has_symmetric_limits_around_a_drawn_zero() -> None:
    figure = row_difference(A, ROW, B, ROW * 0.1)
    low, high = figure.layout.xaxis.range
    assert low == -high
    assert figure.layout.xaxis.zeroline


def test_ticks_of_a_fine_scale_are_not_rounded() -> None:
    near = ROW + np.array([0.03, -0.03, 0, 0, 0, 0])
    figure = row_difference(A, ROW, A, near)
    assert list(figure.layout.xaxis.ticktext) == ["−0.05", "−0.025", "0", "+0.025", "+0.05"]


def test_same_words_in_another_order_show_where_the_weight_went() -> None:
    a = ["小明", "把", "苹果", "放在", "杯子", "旁边"]
    b = ["小明", "把", "杯子", "放在", "苹果", "旁边"]
    bars = row_difference(a, ROW, b, ROW).data[0]
    change = {c[0]: value for c, value in zip(bars.customdata, bars.x, strict=True)}
    assert len(change) == 6
    assert change["苹果 (3) → (5)"] == pytest.approx(-0.94)
    assert change["杯子 (5) → (3)"] == pytest.approx(0.94)


@given(
    st.lists(st.sampled_from("一二三它"), max_size=8),
    st.lists(st.sampled_from("一二三它"), max_size=8),
)
def test_alignment_uses_every_position_once_and_pairs_equal_words_only(
    a: list[str], b: list[str]
) -> None:
    pairs = aligned(a, b)
    assert [i for i, _ in pairs if i is not None] == list(range(len(a)))
    assert sorted(j for _, j in pairs if j is not None) == list(range(len(b)))
    assert all(a[i] == b[j] for i, j in pairs if i is not None and j is not None)
    alone = [a[i] for i, j in pairs if i is not None and j is None]
    assert not set(alone) & {b[j] for i, j in pairs if i is None and j is not None}


@pytest.mark.parametrize(("largest", "limit"), [(0.0, 0.05), (0.04, 0.05), (0.3, 0.5), (0.98, 1.0)])
def test_small_differences_get_a_finer_scale(largest: float, limit: float) -> None:
    assert symmetric_limit(np.array([0.0, -largest])) == limit


def test_b_against_a_is_a_against_b_reversed_also_where_words_repeat() -> None:
    rng = random.Random(7)
    repeating = [(["它", "和", "苹果", "和", "它"], ["苹果", "和", "它", "和", "苹果"])]
    for _ in range(1000):
        a, b = (rng.choices("它和苹果杯子", k=rng.randint(1, 9)) for _ in range(2))
        repeating.append((a, b))
    for a, b in repeating:
        pairs = aligned(a, b)
        assert {(j, i) for i, j in aligned(b, a)} == set(pairs)
        assert sorted(i for i, _ in pairs if i is not None) == list(range(len(a)))
        assert sorted(j for _, j in pairs if j is not None) == list(range(len(b)))
        assert all(a[i] == b[j] for i, j in pairs if i is not None and j is not None)
