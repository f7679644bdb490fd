"""What a reader sees in a figure: words as typed, on the axis and under the pointer."""

from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest
from playwright.sync_api import Browser, Page

from owi_core.figures import NamedRow, pattern_matrix, row_bars, thumbnails

TYPED = ["<b>x</b>", "$x$", "&amp;", "a<br>b", "%{x}", "<extra>", "苹果", "苹果", "&#60;"]
T = len(TYPED)
MASK = np.tril(np.ones((T, T), dtype=bool))
PATTERN = MASK / MASK.sum(-1, keepdims=True)


@pytest.fixture
def drawn(chromium: Browser, tmp_path: Path) -> Page:
    """A page that draws figures with the library's own script, no network."""
    return chromium.new_page(viewport={"width": 900, "height": 900})


def draw(page: Page, figure: go.Figure, folder: Path) -> None:
    file = folder / "figure.html"
    figure.write_html(file, include_plotlyjs=True)
    page.goto(file.as_uri())
    page.wait_for_function(
        "document.querySelector('.js-plotly-plot')?._fullLayout?.xaxis?._offset > 0"
    )


def point_at(page: Page, x: float, y: float) -> str:
    """Move the pointer to a place in axis coordinates and return the hover box's text."""
    left, top = page.evaluate(
        """([x, y]) => {
            const plot = document.querySelector('.js-plotly-plot');
            const { xaxis, yaxis } = plot._fullLayout;
            const box = plot.getBoundingClientRect();
            const [left, top] = [box.left + xaxis._offset, box.top + yaxis._offset];
            return [left + xaxis.d2p(x), top + yaxis.d2p(y)];
        }""",
        [x, y],
    )
    page.mouse.move(left + 2, top + 60)
    page.mouse.move(left, top, steps=2)
    page.wait_for_timeout(150)
    return "".join(page.locator(".hoverlayer text").all_text_contents())


def test_axes_and_hover_show_typed_markup_literally(drawn: Page, tmp_path: Path) -> None:
    draw(drawn, row_bars([NamedRow("<i>A</i>", TYPED, PATTERN[-1])]), tmp_path)
    assert drawn.locator(".ytick text").all_text_contents() == TYPED
    assert drawn.locator(".annotation-text").all_text_contents() == ["■ <i>A</i>"]
    for position, word in enumerate(TYPED):
        assert f"{word} ({position + 1})" in point_at(drawn, 0.03, position)


def test_matrix_hover_names_words_values_and_what_is_forbidden(drawn: Page, tmp_path: Path) -> None:
    draw(drawn, pattern_matrix(PATTERN, MASK, TYPED, TYPED), tmp_path)
    allowed = point_at(drawn, 6, 7)
    assert "looks: 苹果 (8)" in allowed
    assert "looked at: 苹果 (7)" in allowed
    assert "0.125" in allowed
    forbidden = point_at(drawn, 4, 1)
    assert "looks: $x$ (2)" in forbidden
    assert "looked at: %{x} (5)" in forbidden
    assert "forbidden" in forbidden


def test_thumbnail_hover_names_layer_and_head(drawn: Page, tmp_path: Path) -> None:
    draw(drawn, thumbnails(np.stack([PATTERN[None]] * 2), MASK, TYPED, TYPED), tmp_path)
    assert "layer 2 · <b>x</b> (1)head 1 · <b>x</b> (1)" in point_at(drawn, 0, T + 1)
