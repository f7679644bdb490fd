"""Lines: values as measured, named axes, names that do not overlap; the loss above its floor."""

from itertools import pairwise

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from owi_core.figures import (
    FigureText,
    Level,
    Line,
    Scale,
    Theme,
    Timed,
    line_chart,
    loss_curve,
    palette,
    time_by_length,
)
from owi_core.figures.lines import spread


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


@pytest.fixture(scope="module")
def times() -> go.Figure:
    series = [
        Timed("LSTM", {16: 0.001, 32: 0.002}, 1.0, "B"),
        Timed("Transformer", {16: 0.002, 32: 0.008}, 2.0, "A"),
        Timed("not reached", {}, None),
        Timed("GRU", {16: 0.004, 32: 0.0081}, None),
    ]
    return time_by_length(series, x_title="tokens", y_title="ms")


def test_times_are_drawn_in_milliseconds_on_two_logarithmic_axes(
    times: go.Figure,
) -> None:
    assert list(times.data[0].x) == [16, 32]
    assert list(times.data[0].y) == pytest.approx([1.0, 2.0])
    assert (times.layout.xaxis.type, times.layout.yaxis.type) == ("log", "log")
    assert (times.layout.xaxis.title.text, times.layout.yaxis.title.text) == ("tokens", "ms")


def test_a_model_without_a_measurement_has_no_line_and_no_label(times: go.Figure) -> None:
    assert [trace.name for trace in times.data] == ["LSTM", "Transformer", "GRU"]


def test_each_line_ends_in_its_name_and_slope(times: go.Figure) -> None:
    told = {a.text for a in times.layout.annotations}
    assert told == {"LSTM <b>1.00</b>", "Transformer <b>2.00</b>", "GRU"}


def test_labels_of_lines_that_end_together_do_not_overlap(times: go.Figure) -> None:
    places = sorted(a.y for a in times.layout.annotations)
    span = np.log10(8.1) - np.log10(1.0)
    assert min(np.diff(places)) >= 0.05 * span


def test_identities_keep_their_colours(times: go.Figure) -> None:
    colours = {trace.name: trace.line.color for trace in times.data}
    assert colours["Transformer"] == palette("light").a
    assert colours["LSTM"] == palette("light").b


def test_no_measurement_at_all_is_an_empty_chart() -> None:
    figure = time_by_length([], x_title="tokens", y_title="ms")
    assert not figure.data
    assert not figure.layout.annotations


LENGTHS = [16, 32, 64]
FULL = Line("全部重算 <b>", list(zip(LENGTHS, [0.1, 0.3, 1.0], strict=True)), "b", "solid")
CACHED = Line("KV", list(zip(LENGTHS, [0.05, 0.1, 0.2], strict=True)), "a", "dash")
LOG_X, LOG_Y = Scale("字", log=True), Scale("秒", log=True)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_both_ways_are_drawn_as_measured_on_two_logarithmic_axes(theme: Theme) -> None:
    figure = line_chart([FULL, CACHED], LOG_X, LOG_Y, theme=theme)
    assert [list(trace.y) for trace in figure.data] == [[0.1, 0.3, 1.0], [0.05, 0.1, 0.2]]
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("log", "log")
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text) == ("字", "秒")
    assert list(figure.layout.xaxis.ticktext) == ["16", "32", "64"]
    colours = palette(theme)
    assert [trace.line.color for trace in figure.data] == [colours.b, colours.a]
    assert len({trace.line.dash for trace in figure.data}) == 2


def test_a_name_is_no_markup_in_legend_hover_and_at_the_end() -> None:
    figure = line_chart([FULL, CACHED], LOG_X, LOG_Y)
    assert "<b>" not in figure.data[0].name
    assert figure.layout.showlegend
    assert figure.layout.hovermode == "x unified"  # that box names every line
    at_end = line_chart([FULL], LOG_X, LOG_Y, names="ends")
    assert at_end.data[0].name in at_end.data[0].hovertemplate
    assert at_end.layout.annotations[0].text == at_end.data[0].name


def test_limits_are_kept_whatever_the_values_are() -> None:
    low = Line("a", [(0.1, 0.01), (1.0, 0.0), (2.0, 0.0)])
    y = Scale("share", limits=(-0.03, 1.03), tick_format=".0%")
    figure = line_chart([low], Scale("T", log=True), y)
    assert figure.layout.yaxis.range == (-0.03, 1.03)
    assert figure.layout.yaxis.tickformat == ".0%"
    assert list(figure.layout.xaxis.tickvals) == [0.1, 1.0, 2.0]
    assert list(figure.data[0].y) == [0.01, 0.0, 0.0]


def test_a_linear_chart_begins_at_zero_and_holds_its_levels() -> None:
    line = Line("a", [(1, 1.0), (2, 2.0)])
    figure = line_chart([line], Scale("x"), Scale("y"), levels=[Level("top", 4.0)])
    low, high = figure.layout.yaxis.range
    assert low == 0
    assert high > 4
    assert line_chart([], Scale("x"), Scale("y")).layout.yaxis.range[1] > 0


def test_many_lengths_leave_out_ticks_rather_than_let_them_touch() -> None:
    lengths = [16 * 2**n for n in range(8)]
    line = Line("a", [(length, 1.0) for length in lengths])
    ticks = line_chart([line], LOG_X, LOG_Y, names="ends").layout.xaxis.tickvals
    assert list(ticks) == lengths[::2]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_lines_carry_their_values_names_and_colours(theme: Theme) -> None:
    lines = [
        Line("chain", [(1, 1.0), (8, 0.5)], end="0.50"),
        Line("window", [(1, 1.0), (8, 0.06)], "b", end="0.06"),
        Line("attention", [(1, 1.0), (8, 1.0)], "a", end="1.00"),
        Line("nothing", []),
    ]
    y = Scale("right", limits=(-0.03, 1.06))
    chance = Level("chance", 1 / 16, below=True)
    figure = line_chart(lines, Scale("d", log=True), y, names="ends", levels=[chance], theme=theme)
    assert [trace.name for trace in figure.data] == ["chain", "window", "attention"]
    assert list(figure.data[1].y) == [1.0, 0.06]
    assert figure.data[2].line.color == palette(theme).a
    assert list(figure.layout.xaxis.tickvals) == [1, 8]
    texts = [annotation.text for annotation in figure.layout.annotations]
    assert texts[:3] == ["attention <b>1.00</b>", "chain <b>0.50</b>", "window <b>0.06</b>"]
    assert "chance 0.06" in texts


def test_names_of_lines_that_end_together_do_not_lie_on_each_other() -> None:
    lines = [Line(str(n), [(1, 0.5), (8, 1.0)]) for n in range(6)]
    figure = line_chart(lines, Scale("x", log=True), Scale("y", limits=(0, 1.06)), names="ends")
    heights = [a.y for a in figure.layout.annotations]
    assert all(a - b > 0.05 for a, b in pairwise(heights))


@given(st.lists(st.floats(0, 1), max_size=8))
def test_places_of_names_keep_their_order_their_distance_and_the_axis(ends: list[float]) -> None:
    places = spread(sorted(ends, reverse=True), 0.0, 1.0, 0.1)
    assert len(places) == len(ends)
    assert all(a - b >= 0.1 - 1e-9 for a, b in pairwise(places))
    assert all(0 <= place <= 1 + 1e-9 for place in places)
