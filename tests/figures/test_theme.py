"""One palette: readable in both themes, attention from paper to ink, the same in Python and JS."""

import json

import numpy as np
import pytest

from owi_core.figures import enlarged, palette, palette_dict, row_bars
from owi_core.figures.rows import NamedRow
from owi_core.figures.theme import (
    Theme,
    colour_at,
    contrast,
    height_for,
    ink_on,
    row_height,
    word_size,
)

THEMES: tuple[Theme, ...] = ("light", "dark")


def test_contrast_follows_wcag_at_both_ends() -> None:
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#777777", "#777777") == 1


@pytest.mark.parametrize("theme", THEMES)
def test_text_reads_and_both_sentences_are_seen_on_the_surface(theme: Theme) -> None:
    colours = palette(theme)
    assert contrast(colours.ink, colours.surface) >= 7
    assert contrast(colours.muted, colours.surface) >= 4.5
    for mark in (colours.a, colours.b, colours.leak):
        assert contrast(mark, colours.surface) >= 3


@pytest.mark.parametrize("theme", THEMES)
def test_numbers_on_every_shade_of_the_ramp_are_readable(theme: Theme) -> None:
    shades = [colour_at(palette(theme).ramp, value) for value in np.linspace(0, 1, 101)]
    assert min(contrast(ink_on(shade), shade) for shade in shades) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
def test_more_attention_always_stands_out_more_from_the_surface(theme: Theme) -> None:
    colours = palette(theme)
    steps = [
        contrast(colour_at(colours.ramp, value), colours.surface) for value in np.linspace(0, 1, 51)
    ]
    assert steps == sorted(steps)
    assert steps[-1] >= 10


@pytest.mark.parametrize("theme", THEMES)
def test_the_two_sentences_are_the_same_two_colours_in_both_themes(theme: Theme) -> None:
    assert (palette(theme).a, palette(theme).b) == ("#0072B2", "#D55E00")


@pytest.mark.parametrize("theme", THEMES)
def test_difference_colours_are_neutral_in_the_middle(theme: Theme) -> None:
    stops = palette(theme).diverging
    assert [at for at, _ in stops] == [0, 0.5, 1]
    red, green, blue = (int(stops[1][1][i : i + 2], 16) for i in (1, 3, 5))
    assert max(red, green, blue) - min(red, green, blue) <= 16


@pytest.mark.parametrize("theme", THEMES)
def test_the_palette_reaches_javascript_whole(theme: Theme) -> None:
    plain = json.loads(json.dumps(palette_dict(theme)))
    assert plain["ramp"][-1] == [1.0, palette(theme).ramp[-1][1]]
    assert {"a", "b", "ink", "forbidden", "hatch", "leak", "font_family"} <= set(plain)


def test_an_unknown_theme_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="sepia"):
        palette("sepia")  # type: ignore[arg-type]


def test_height_grows_with_the_tokens_and_words_keep_their_line() -> None:
    heights = [height_for(n) for n in range(2, 129)]
    assert all(height >= 120 for height in heights)
    assert height_for(64) > height_for(16) > height_for(2)
    assert all(10 <= word_size(n) <= row_height(n) for n in range(1, 129))


def test_teaching_mode_enlarges_type_and_height_and_leaves_the_data() -> None:
    figure = row_bars([NamedRow("A", ["它", "苹果"], np.array([0.25, 0.75]))])
    large = enlarged(figure, 1.5)
    assert large.layout.height == figure.layout.height * 1.5
    assert large.layout.font.size == figure.layout.font.size * 1.5
    assert large.layout.yaxis.tickfont.size == figure.layout.yaxis.tickfont.size * 1.5
    assert list(large.data[0].x) == [0.25, 0.75]
    assert large.layout.yaxis.range == figure.layout.yaxis.range
