"""The path: what the query read, and what that had read before."""

import numpy as np
import pytest

from owi_core.figures import attention_path, path_edges
from owi_core.figures.path import Edge

LABELS = ["小明", "把", "苹果", "放在", "它"]


def detour() -> np.ndarray:
    """它 reads 放在 in layer 2, 放在 has read 苹果 in layer 1; (L=2, T=5, T=5)."""
    pattern = np.zeros((2, 5, 5))
    pattern[1, 4, 3] = 0.9
    pattern[1, 4, 0] = 0.05
    pattern[0, 3, 2] = 0.8
    pattern[0, 1, 0] = 1.0
    return pattern


def test_two_hops_are_found_and_what_is_not_reached_is_left_out() -> None:
    assert path_edges(detour(), 4) == (Edge(1, 4, 3, 0.9), Edge(0, 3, 2, 0.8))


def test_an_edge_at_the_threshold_counts_and_one_under_it_does_not() -> None:
    assert [e.key for e in path_edges(detour(), 4, threshold=0.05) if e.layer == 1] == [0, 3]
    assert [e.key for e in path_edges(detour(), 4, threshold=0.051) if e.layer == 1] == [3]


def test_the_query_itself_is_followed_down_its_residual_stream() -> None:
    pattern = np.zeros((2, 3, 3))
    pattern[0, 2, 1] = 0.7
    assert path_edges(pattern, 2) == (Edge(0, 2, 1, 0.7),)


def test_lines_are_as_wide_as_their_weights() -> None:
    figure = attention_path(detour(), LABELS, 4)
    widths = [trace.line.width for trace in figure.data if trace.name == "read"]
    assert widths[0] / widths[1] == pytest.approx(0.9 / 0.8)


def test_a_line_runs_from_the_reader_down_to_what_it_reads() -> None:
    line = next(trace for trace in attention_path(detour(), LABELS, 4).data if trace.name == "read")
    assert (line.x[0], line.y[0]) == (4, 2)
    assert (line.x[-1], line.y[-1]) == (3, 1)


def test_the_threshold_is_said_on_the_figure() -> None:
    notes = attention_path(detour(), LABELS, 4, threshold=0.25).layout.annotations
    assert any("0.25" in note.text for note in notes)


def test_words_are_columns_and_layers_rise_from_the_input() -> None:
    layout = attention_path(detour(), LABELS, 4).layout
    assert list(layout.yaxis.ticktext) == ["input", "layer 1", "layer 2"]
    assert list(layout.xaxis.ticktext) == ["小明", "把", "苹果", "放在", "<b>它</b>"]


def test_long_sentences_run_downwards() -> None:
    pattern = np.zeros((1, 64, 64))
    pattern[0, 63, 5] = 1
    figure = attention_path(pattern, ["词"] * 64, 63)
    assert len(figure.layout.yaxis.ticktext) == 64
    line = next(trace for trace in figure.data if trace.name == "read")
    assert (line.y[0], line.y[-1]) == (63, 5)


def test_hover_tells_layer_words_and_three_digits() -> None:
    notes = next(t for t in attention_path(detour(), LABELS, 4).data if t.name == "weights")
    assert list(notes.customdata[0]) == ["它 (5)", "放在 (4)", 0.9, 2]
    assert "%{customdata[2]:.3f}" in notes.hovertemplate


def test_a_pattern_of_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match="must agree"):
        attention_path(detour(), LABELS[:4], 3)
