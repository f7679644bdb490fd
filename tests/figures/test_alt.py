"""What is told of a figure to those who hear it are the figure's own numbers."""

import numpy as np
import plotly.graph_objects as go

from owi_core.figures import NamedRow, loss_curve, pattern_matrix, row_bars
from owi_core.figures.alt import Extreme, figure_heard
from tests.figures.conftest import SENTENCE, Pattern


def test_bars_tell_least_and_most_with_their_words() -> None:
    weights = [0.1, 0.05, 0.6, 0.15, 0.03, 0.07]
    (heard,) = figure_heard(row_bars([NamedRow("它", SENTENCE, np.array(weights))]))
    assert heard.count == len(SENTENCE)
    assert (heard.low.value, heard.high.value) == (0.03, 0.6)
    assert heard.high.place.startswith("苹果")
    assert heard.low.place.startswith("的")


def test_a_matrix_tells_which_word_looks_at_which(causal: Pattern) -> None:
    pattern, mask = causal(tokens=3)
    labels = ["甲", "乙", "丙"]
    *_, heard = figure_heard(pattern_matrix(pattern, mask, labels, labels))
    assert heard.high.value == 1.0  # the first word has only itself to look at
    assert heard.high.place == "甲 (1) → 甲 (1)"


def test_a_curve_tells_the_step_of_its_least_loss() -> None:
    heard = figure_heard(loss_curve([0, 7, 20], [3.5, 2.5, 0.25]))[0]
    assert (heard.low, heard.high) == (Extreme(0.25, "20"), Extreme(3.5, "0"))


def test_what_has_places_but_no_values_is_left_out() -> None:
    empty = go.Figure(go.Scatter(x=[0, 1], y=[np.nan, None]))
    assert figure_heard(empty) == []
    words = {"tickvals": [0, 1], "ticktext": ["甲", "乙"]}
    between = go.Figure(go.Scatter(x=[0, 1], y=[0, 1]), {"xaxis": words, "yaxis": words})
    assert figure_heard(between) == []
