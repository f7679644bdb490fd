"""Small matrices on one sheet: gutters are gaps, the hover box names panel and words."""

import numpy as np
import plotly.graph_objects as go
import pytest

from owi_core.figures import Theme, palette, reach_panels, thumbnails
from owi_core.figures.panels import gutter_cells, tiled
from tests.figures.conftest import SENTENCE, Pattern


def test_every_panel_lies_in_its_place_with_gaps_between() -> None:
    panels = np.arange(2 * 3 * 5 * 7, dtype=float).reshape(2, 3, 5, 7)
    sheet = tiled(panels, 2)
    assert sheet.shape == (2 * 5 + 2, 3 * 7 + 2 * 2)
    np.testing.assert_array_equal(sheet[7:12, 18:25], panels[1, 2])
    assert np.isnan(sheet[5:7]).all()
    assert np.isnan(sheet[:, 7:9]).all()
    assert np.isfinite(sheet).sum() == panels.size


def test_the_sheet_holds_every_weight_and_marks_every_forbidden_cell(causal: Pattern) -> None:
    pattern, mask = causal(2, 4, tokens=6)
    forbidden, weights = thumbnails(pattern, mask, SENTENCE, SENTENCE).data
    assert np.isfinite(weights.z).sum() == 2 * 4 * mask.sum()
    assert np.isfinite(forbidden.z).sum() == 2 * 4 * (~mask).sum()
    assert (weights.zmin, weights.zmax) == (0, 1)


def test_a_leak_in_one_head_is_seen(causal: Pattern) -> None:
    pattern, mask = causal(1, 2, tokens=6)
    pattern[0, 1, 0, 5] = 0.4
    _, weights = thumbnails(pattern, mask, SENTENCE, SENTENCE).data
    assert weights.z[0, 6 + gutter_cells(6) + 5] == 0.4


def test_hover_names_layer_head_words_and_value(causal: Pattern) -> None:
    pattern, mask = causal(2, 4, tokens=6)
    figure = thumbnails(pattern, mask, SENTENCE, SENTENCE)
    cell = dict(zip(figure.layout.xaxis.tickvals, figure.layout.xaxis.ticktext, strict=True))
    assert cell[7 * 2 + 2] == "head 3 · 苹果 (3)"
    row = dict(zip(figure.layout.yaxis.tickvals, figure.layout.yaxis.ticktext, strict=True))
    assert row[7 + 5] == "layer 2 · 它 (6)"
    for part in ("%{x}", "%{y}", "%{z:.3f}"):
        assert part in figure.data[1].hovertemplate


def test_heads_and_layers_are_named_beside_the_sheet(causal: Pattern) -> None:
    pattern, mask = causal(2, 4, tokens=6)
    names = [note.text for note in thumbnails(pattern, mask, SENTENCE, SENTENCE).layout.annotations]
    assert names == ["head 1", "head 2", "head 3", "head 4", "layer 1", "layer 2"]


def test_many_heads_are_numbered_under_one_name(causal: Pattern) -> None:
    pattern, mask = causal(6, 8, tokens=64)
    figure = thumbnails(pattern, mask, "字" * 64, "字" * 64, selected=(5, 7))
    assert [note.text for note in figure.layout.annotations][:8] == list("12345678")
    assert figure.layout.xaxis.title.text == "head"
    assert len(figure.data) == 2
    frame = figure.layout.shapes[0]
    assert (frame.x1 - frame.x0, frame.y1 - frame.y0) == (64, 64)


@pytest.fixture(scope="module")
def panels() -> go.Figure:
    reached = np.zeros((2, 3, 5, 5), dtype=bool)
    reached[:] = np.eye(5, dtype=bool)
    reached[1, 2, 4, 0] = True
    return reach_panels(
        reached, ["window", "global"], ["1", "2", "3"], linked="linked", unlinked="not linked"
    )


def test_a_linked_pair_stands_in_the_panel_of_its_kind_and_layer(panels: go.Figure) -> None:
    sheet = panels.data[0].z
    assert sheet.shape == (2 * 5 + 4, 3 * 5 + 2 * 4)
    assert sheet[5 + 4 + 4, 2 * 9 + 0] == 1
    assert np.nansum(sheet) == 6 * 5 + 1


def test_future_is_drawn_as_forbidden_and_gutters_stay_empty(panels: go.Figure) -> None:
    forbidden = panels.data[1].z
    assert np.nansum(forbidden) == 6 * 10
    assert np.isnan(panels.data[0].z[5:9]).all()
    assert forbidden[0, 1] == 1
    assert np.isnan(forbidden[1, 0])


def test_without_causality_nothing_is_forbidden() -> None:
    one = np.ones((1, 1, 3, 3), dtype=bool)
    figure = reach_panels(one, ["full"], ["1"], linked="l", unlinked="u", causal=False)
    assert np.isnan(figure.data[1].z).all()


def test_panels_name_rows_and_columns(panels: go.Figure) -> None:
    assert [a.text for a in panels.layout.annotations] == ["window", "global", "1", "2", "3"]
    assert panels.data[0].customdata[0][0] == "linked"
    assert panels.data[0].customdata[1][0] == "not linked"


def test_a_note_is_printed_behind_the_title_and_both_as_typed() -> None:
    one = np.ones((1, 1, 2, 2), dtype=bool)
    figure = reach_panels(
        one, ["<i>full"], ["1"], linked="l", unlinked="u", row_notes=["50% → 100%"]
    )
    title = figure.layout.annotations[0].text
    assert title == "<b>&#60;i&#62;full</b>  50&#37; → 100&#37;"
    assert figure.layout.yaxis.ticktext[0] == "&#60;i&#62;full (1)"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_panels_are_drawn_in_the_ink_of_their_theme(theme: Theme) -> None:
    reached = np.ones((1, 1, 2, 2), dtype=bool)
    figure = reach_panels(reached, ["x"], ["1"], linked="", unlinked="", theme=theme)
    assert figure.layout.font.color == palette(theme).ink
