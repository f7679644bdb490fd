"""Measured curves: both axes named, logarithmic where a ratio counts, every value on hover."""

import pytest

from owi_core.figures import Curve, cost_curves, shares_by_temperature
from owi_core.figures.theme import Theme, palette

LENGTHS = [16, 32, 64]
FULL, CACHED = (
    Curve("全部重算 <b>", LENGTHS, [0.1, 0.3, 1.0]),
    Curve("KV", LENGTHS, [0.05, 0.1, 0.2]),
)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_both_ways_are_drawn_as_measured_on_two_logarithmic_axes(theme: Theme) -> None:
    figure = cost_curves(FULL, CACHED, x_title="字", y_title="秒", theme=theme)
    assert [list(trace.y) for trace in figure.data] == [[0.1, 0.3, 1.0], [0.05, 0.1, 0.2]]
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("log", "log")
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text) == ("字", "秒")
    assert list(figure.layout.xaxis.ticktext) == ["16", "32", "64"]
    colours = palette(theme)
    assert [trace.line.color for trace in figure.data] == [colours.b, colours.a]
    assert len({trace.line.dash for trace in figure.data}) == 2


def test_a_name_is_no_markup_and_stands_in_legend_and_hover() -> None:
    trace = cost_curves(FULL, CACHED, x_title="x", y_title="y").data[0]
    assert "<b>" not in trace.name
    assert trace.name in trace.hovertemplate
    assert cost_curves(FULL, CACHED, x_title="x", y_title="y").layout.showlegend


def test_shares_stand_on_a_scale_from_0_to_1_whatever_they_are() -> None:
    low = Curve("a", [0.1, 1.0, 2.0], [0.01, 0.0, 0.0])
    figure = shares_by_temperature([low], x_title="T", y_title="share")
    assert figure.layout.yaxis.range[0] < 0
    assert figure.layout.yaxis.range[1] > 1
    assert figure.layout.xaxis.type == "log"
    assert list(figure.layout.xaxis.tickvals) == [0.1, 1.0, 2.0]
    assert list(figure.data[0].y) == [0.01, 0.0, 0.0]
