"""Bars: values, zero, hatching, names as typed; cut edges with their sign and control."""

import pytest

from owi_core.figures import (
    Bar,
    CutEdge,
    FigureText,
    Group,
    amount_bars,
    grouped_bars,
    knockout_bars,
    palette,
    signed_bars,
)
from owi_core.figures.theme import Theme

CUTS = [
    CutEdge("它", 9, "苹果", 2, -6.03),
    CutEdge("它", 9, "<b>", 0, -0.02, control=True),
]
BARS = [
    Bar("head 1", -0.03),
    Bar("<b>head</b> 2", -5.07, off=True),
    Bar("mlp", 0.9, strong=False),
]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_each_value_is_a_line_in_the_order_given(theme: Theme) -> None:
    figure = signed_bars(BARS, "nats", theme=theme)
    (bar,) = figure.data
    assert list(bar.x) == [-0.03, -5.07, 0.9]
    assert list(bar.y) == [0, 1, 2]
    assert list(bar.text) == ["−0.03", "−5.07", "+0.90"]
    assert figure.layout.xaxis.title.text == "nats"
    assert figure.layout.yaxis.range == (2.5, -0.5)  # the first on top


def test_sides_of_zero_have_colours_of_their_own_and_what_is_not_meant_is_muted() -> None:
    (bar,) = signed_bars([*BARS, Bar("head 3", 1.0)], "nats").data
    colours = palette("light")
    assert list(bar.marker.color) == [colours.a, colours.a, colours.muted, colours.b]


def test_a_head_that_is_off_is_hatched() -> None:
    for figure in (signed_bars(BARS, "nats"), amount_bars(BARS[2:] + BARS[1:2], "length")):
        (bar,) = figure.data
        assert sorted(bar.marker.pattern.shape) == sorted(["/", *[""] * (len(bar.y) - 1)])


def test_names_are_shown_as_typed_on_the_axis_and_on_hover() -> None:
    figure = signed_bars(BARS, "nats")
    (bar,) = figure.data
    assert "<b>" not in figure.layout.yaxis.ticktext[1]
    assert bar.customdata[1] == figure.layout.yaxis.ticktext[1] != ""
    assert "nats <b>%{hovertext}</b>" in bar.hovertemplate
    assert list(bar.hovertext) == ["−0.030", "−5.070", "0.900"]


@pytest.mark.parametrize("values", [[-0.01, 0.0], [0.01, 0.02], [0.0], [], [-0.4, 0.3]])
def test_a_change_of_nothing_looks_like_nothing(values: list[float]) -> None:
    bars = [Bar(str(i), value) for i, value in enumerate(values)]
    low, high = signed_bars(bars, "nats").layout.xaxis.range
    assert low <= 0 <= high
    assert high - low >= 1.0
    assert all(low <= value <= high for value in values)


@pytest.mark.parametrize("values", [[0.0, 0.0], [3.0, 9.0], []])
def test_lengths_start_at_zero_and_leave_room_for_their_number(values: list[float]) -> None:
    figure = amount_bars([Bar(str(i), v) for i, v in enumerate(values)], "length")
    low, high = figure.layout.xaxis.range
    assert low == 0
    assert high > max(values, default=0)


def test_bars_are_the_changes_in_nats() -> None:
    figure = knockout_bars(CUTS, text=FigureText(change="变化（nat）"))
    assert list(figure.data[0].x) == [-6.03, -0.02]
    assert list(figure.data[0].text) == ["−6.03", "−0.02"]
    assert figure.layout.xaxis.title.text == "变化（nat）"


def test_what_rounds_to_nothing_is_written_without_a_sign() -> None:
    cuts = [CutEdge("它", 9, "把", key, change) for key, change in enumerate((-0.0004, 0.0, 3e-7))]
    assert list(knockout_bars(cuts).data[0].text) == ["0.00", "0.00", "0.00"]


def test_zero_is_drawn_and_every_bar_fits() -> None:
    figure = knockout_bars(CUTS)
    low, high = figure.layout.xaxis.range
    assert low < -6.03
    assert high > 0
    assert figure.layout.xaxis.zeroline


def test_a_cut_that_changes_nothing_looks_like_nothing() -> None:
    low, _ = knockout_bars([CutEdge("它", 1, "我", 0, -0.001)]).layout.xaxis.range
    assert low <= -1


def test_the_control_is_named_and_hatched() -> None:
    figure = knockout_bars(CUTS)
    assert "control" in figure.layout.yaxis.ticktext[1]
    assert list(figure.data[0].marker.pattern.shape) == ["", "/"]


def test_edges_are_named_as_typed_with_their_places() -> None:
    figure = knockout_bars(CUTS)
    assert figure.layout.yaxis.ticktext[1].startswith("它 → &#60;b&#62;")
    assert figure.data[0].customdata[0][0] == "它 (10) → 苹果 (3)"
    assert "%{hovertext}" in figure.data[0].hovertemplate
    assert list(figure.data[0].hovertext) == ["−6.030", "−0.020"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_equal_words_keep_a_line_each_and_tied_is_blue(theme: Theme) -> None:
    groups = [
        Group("before", [1, 2], "muted"),
        Group("one", [3, 4], "a"),
        Group("two", [1, 2], "b"),
    ]
    figure = grouped_bars(["苹果", "苹果"], groups, "logit", theme=theme)
    assert [list(bar.x) for bar in figure.data] == [[1, 2], [3, 4], [1, 2]]
    assert list(figure.data[0].y) == [0, 1]
    assert list(figure.layout.yaxis.ticktext) == ["苹果", "苹果"]
    colours = palette(theme)
    assert [bar.marker.color for bar in figure.data] == [colours.muted, colours.a, colours.b]
    assert figure.layout.xaxis.title.text == "logit"
    low, high = figure.layout.xaxis.range
    assert low < 0 < 4 < high


def test_bars_begin_at_zero_and_carry_value_and_unit() -> None:
    figure = amount_bars([Bar("a", 1.5), Bar("a", 200.0)], "MiB", unit="MiB")
    assert list(figure.data[0].y) == [0, 1]  # equal labels stay two bars
    assert list(figure.data[0].text) == ["1.5 MiB", "200 MiB"]
    assert figure.layout.xaxis.range[0] == 0
    assert set(figure.data[0].marker.color) == {palette("light").a}
    muted = amount_bars([Bar("a", 1.5, strong=False)], "MiB", unit="MiB")
    assert set(muted.data[0].marker.color) == {palette("light").muted}
    assert not amount_bars([], "MiB", unit="MiB").data[0].y


def test_a_logit_that_rounds_to_zero_has_no_sign() -> None:
    bars = grouped_bars(["a", "b"], [Group("before", [-0.001, -2.5], "muted")], "logit").data[0]
    assert list(bars.text) == ["0.00", "−2.50"]
    assert list(bars.hovertext) == ["−0.001", "−2.500"]
