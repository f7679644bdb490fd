"""What a connection costs, as pictures: read from the figures' data, titles and hover words."""

import numpy as np
import plotly.graph_objects as go
import pytest

from owi_core.figures import (
    Timed,
    accuracy_map,
    cost_bars,
    paired_curves,
    palette,
    reach_panels,
    time_by_length,
)


@pytest.fixture(scope="module")
def times() -> go.Figure:
    series = [
        Timed("LSTM", {16: 0.001, 32: 0.002}, 1.0, "B"),
        Timed("Transformer", {16: 0.002, 32: 0.008}, 2.0, "A"),
        Timed("not reached", {}, None),
        Timed("GRU", {16: 0.004, 32: 0.0081}, None),
    ]
    return time_by_length(series, x_title="tokens", y_title="ms")


def test_times_are_drawn_as_measured_in_milliseconds_on_two_logarithmic_axes(times):
    assert list(times.data[0].x) == [16, 32]
    assert list(times.data[0].y) == pytest.approx([1.0, 2.0])
    assert (times.layout.xaxis.type, times.layout.yaxis.type) == ("log", "log")
    assert (times.layout.xaxis.title.text, times.layout.yaxis.title.text) == ("tokens", "ms")


def test_a_model_without_a_measurement_has_no_line_and_no_label(times):
    assert [trace.name for trace in times.data] == ["LSTM", "Transformer", "GRU"]


def test_each_line_ends_in_its_name_and_slope(times):
    told = {a.text for a in times.layout.annotations}
    assert told == {"LSTM <b>1.00</b>", "Transformer <b>2.00</b>", "GRU"}


def test_labels_of_lines_that_end_together_do_not_overlap(times):
    places = sorted(a.y for a in times.layout.annotations)
    span = np.log10(8.1) - np.log10(1.0)
    assert min(np.diff(places)) >= 0.05 * span


def test_identities_keep_their_colours(times):
    colours = {trace.name: trace.line.color for trace in times.data}
    assert colours["Transformer"] == palette("light").a
    assert colours["LSTM"] == palette("light").b


def test_no_measurement_at_all_is_an_empty_chart():
    figure = time_by_length([], x_title="tokens", y_title="ms")
    assert not figure.data
    assert not figure.layout.annotations


@pytest.fixture(scope="module")
def panels() -> go.Figure:
    reached = np.zeros((2, 3, 5, 5), dtype=bool)
    reached[:] = np.eye(5, dtype=bool)
    reached[1, 2, 4, 0] = True
    return reach_panels(
        reached, ["window", "global"], ["1", "2", "3"], linked="linked", unlinked="not linked"
    )


def test_a_linked_pair_stands_in_the_panel_of_its_kind_and_layer(panels):
    sheet = panels.data[0].z
    assert sheet.shape == (2 * 5 + 4, 3 * 5 + 2 * 4)
    assert sheet[5 + 4 + 4, 2 * 9 + 0] == 1
    assert np.nansum(sheet) == 6 * 5 + 1


def test_future_is_drawn_as_forbidden_and_gutters_stay_empty(panels):
    forbidden = panels.data[1].z
    assert np.nansum(forbidden) == 6 * 10
    assert np.isnan(panels.data[0].z[5:9]).all()
    assert forbidden[0, 1] == 1
    assert np.isnan(forbidden[1, 0])


def test_without_causality_nothing_is_forbidden():
    one = np.ones((1, 1, 3, 3), dtype=bool)
    figure = reach_panels(one, ["full"], ["1"], linked="l", unlinked="u", causal=False)
    assert np.isnan(figure.data[1].z).all()


def test_panels_name_rows_and_columns(panels):
    assert [a.text for a in panels.layout.annotations] == ["window", "global", "1", "2", "3"]
    assert panels.data[0].customdata[0][0] == "linked"
    assert panels.data[0].customdata[1][0] == "not linked"


def test_bars_begin_at_zero_and_carry_value_and_unit():
    figure = cost_bars(["a", "a"], [1.5, 200.0], x_title="MiB", unit="MiB", marked=["a"])
    assert list(figure.data[0].y) == [0, 1]  # equal labels stay two bars
    assert list(figure.data[0].text) == ["1.5 MiB", "200 MiB"]
    assert figure.layout.xaxis.range[0] == 0
    assert set(figure.data[0].marker.color) == {palette("light").a}


def test_accuracies_are_cells_and_what_nothing_links_has_a_cross():
    accuracy = np.array([[1.0, 0.9, 0.1], [1.0, 1.0, 1.0]])
    linked = np.array([[True, True, False], [True, True, True]])
    figure = accuracy_map(
        ["window", "full"], accuracy, linked, x_title="d", value_title="right", unlinked="none"
    )
    cells, crosses = figure.data
    np.testing.assert_array_equal(cells.z, accuracy)
    assert list(cells.x) == [1, 2, 3]
    assert (cells.zmin, cells.zmax) == (0, 1)
    assert (list(crosses.x), list(crosses.y)) == ([3], [0])


def test_a_pair_of_curves_has_two_colours_two_dashes_and_names():
    figure = paired_curves(
        [8, 16], [1.0, 1.0], [2.0, 4.0], names=("on", "off"), x_title="d", y_title="s",
        logarithmic=True,
    )  # fmt: skip
    assert [t.name for t in figure.data] == ["on", "off"]
    assert {t.line.dash for t in figure.data} == {"solid", "dash"}
    assert figure.layout.yaxis.range[0] == 0
    assert list(figure.layout.xaxis.tickvals) == [8, 16]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_figure_is_drawn_in_both_themes(theme):
    reached = np.ones((1, 1, 2, 2), dtype=bool)
    made = [
        time_by_length([Timed("x", {16: 0.1})], x_title="", y_title="", theme=theme),
        reach_panels(reached, ["x"], ["1"], linked="", unlinked="", theme=theme),
        cost_bars([], [], x_title="", unit="", theme=theme),
    ]
    assert all(figure.layout.font.color == palette(theme).ink for figure in made)
