"""Bars of what heads are worth and write: values, zero, hatching, names as typed."""

import pytest

from owi_core.figures import palette
from owi_core.figures.projection import NamedValue, length_bars, signed_bars
from owi_core.figures.theme import Theme

BARS = [
    NamedValue("head 1", -0.03),
    NamedValue("<b>head</b> 2", -5.07, off=True),
    NamedValue("mlp", 0.9, strong=False),
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
    (bar,) = signed_bars([*BARS, NamedValue("head 3", 1.0)], "nats").data
    colours = palette("light")
    assert list(bar.marker.color) == [colours.a, colours.a, colours.muted, colours.b]


def test_a_head_that_is_off_is_hatched() -> None:
    for figure in (signed_bars(BARS, "nats"), length_bars(BARS[2:] + BARS[1:2], "length")):
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
    bars = [NamedValue(str(i), value) for i, value in enumerate(values)]
    low, high = signed_bars(bars, "nats").layout.xaxis.range
    assert low <= 0 <= high
    assert high - low >= 1.0
    assert all(low <= value <= high for value in values)


@pytest.mark.parametrize("values", [[0.0, 0.0], [3.0, 9.0], []])
def test_lengths_start_at_zero_and_leave_room_for_their_number(values: list[float]) -> None:
    figure = length_bars([NamedValue(str(i), v) for i, v in enumerate(values)], "length")
    low, high = figure.layout.xaxis.range
    assert low == 0
    assert high > max(values, default=0)
