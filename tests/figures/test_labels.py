"""Words on figures appear as typed: by the rules of the chart's own text, for any Unicode."""

import html
import re
import unicodedata
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from owi_core.figures.labels import (
    MAX_HOVER_CHARACTERS,
    MAX_TICK_UNITS,
    as_typed,
    column_axis,
    hover,
    isolated,
    numbered,
    tick,
    visible,
    width_units,
    word_axis,
)

ANYTHING = st.text(min_size=1, max_size=60)


def shown(text: str) -> str:
    """Read a text as the chart does: tags at `<…>`, formulas at `$…$`, then entities."""
    assert not re.search(r"<[^<>]*>", text), "a tag would be taken for markup"
    assert "$" not in text, "a formula would be typeset"
    assert "%{" not in text, "a template would be filled"
    return html.unescape(without_isolates(text))


def without_isolates(text: str) -> str:
    """Leave out what has no width and only keeps directions of writing apart."""
    return re.sub("[\u2066-\u2069]", "", text)


@given(ANYTHING)
def test_any_label_is_shown_as_typed(label: str) -> None:
    if not visible_in(label):
        return  # drawn by signs, below
    signs = {c: chr(0x2400 + c) for c in range(0x20)} | {0x7F: "␡"}
    signs |= dict.fromkeys([*range(0x80, 0xA0), 0xFFFE, 0xFFFF], "␦") | {0x09: "⇥"}
    signs |= dict.fromkeys([0x0A, 0x0B, 0x0C, 0x0D, 0x85, 0x2028, 0x2029], "↵")
    assert shown(as_typed(label)) == without_isolates(label.replace("\r\n", "\n")).translate(signs)


def visible_in(label: str) -> bool:
    return any(not c.isspace() and unicodedata.category(c) != "Cf" for c in label)


@given(ANYTHING)
@example("\x07")
@example("\u202e")
@example("\ufffe")
def test_every_label_can_be_seen_and_written_into_an_svg(label: str) -> None:
    drawn = as_typed(label)
    assert visible_in(html.unescape(drawn))
    ElementTree.fromstring(f"<text>{drawn}</text>")
    assert not re.search(r"[\s\x00-\x1f\x7f-\x9f]", visible(label))


@pytest.mark.parametrize(
    ("label", "sign"),
    [(" ", "␣"), ("\u3000", "␣␣"), ("\t", "⇥"), ("\r\n", "↵"), ("\x07", "␇"), ("\u200b", "U+200B")],
)
def test_what_cannot_be_seen_is_drawn_by_a_sign(label: str, sign: str) -> None:
    assert as_typed(label) == visible(label) == sign


@given(st.text(alphabet="a它אب\u061c\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"))
def test_no_label_turns_its_neighbours_around(label: str) -> None:
    depth, override = 0, False
    for character in isolated(label):
        depth += (character in "\u2066\u2067\u2068") - (character == "\u2069" and depth > 0)
        override = depth == 0 and character in "אب\u202a\u202b\u202d\u202e\u200f\u061c"
        assert not override, "a direction is set outside of every isolate"
    assert depth == 0, "an isolate stays open"


@pytest.mark.parametrize("label", ["苹果", "cat", "👩‍👩‍👧", "é", "1.5", ""])
def test_label_without_directions_stays_as_it_is(label: str) -> None:
    assert isolated(label) == label


@pytest.mark.parametrize("label", ["<b>x</b>", "a<br>b", "$x$", "&amp;", "&lt;", "&#36;", "%{x}"])
def test_markup_is_text(label: str) -> None:
    assert shown(as_typed(label)) == label
    assert shown(tick(label)) == label


@pytest.mark.parametrize(
    ("blank", "sign"), [(" ", "␣"), ("\n", "↵"), ("\t", "⇥"), ("\u3000", "␣␣")]
)
def test_a_blank_token_is_shown_by_a_sign(blank: str, sign: str) -> None:
    assert as_typed(blank) == sign
    assert column_axis([blank], 16)["ticktext"] == [sign]


@given(ANYTHING)
def test_a_tick_is_never_wider_than_its_limit(label: str) -> None:
    assert width_units(shown(tick(label))) <= MAX_TICK_UNITS


def test_a_wide_word_is_cut_on_the_axis_and_whole_on_hover() -> None:
    word = "Donaudampfschifffahrt<b>"
    assert tick(word).endswith("…")
    assert shown(hover(word, 4)) == f"{word} (5)"


def test_an_endless_word_is_cut_even_on_hover() -> None:
    assert len(hover("a" * 5000, 0)) < MAX_HOVER_CHARACTERS + 60


def test_repeated_words_keep_their_own_positions() -> None:
    ticks = word_axis(["苹果", "和", "苹果"])
    assert ticks["tickvals"] == [0, 1, 2]
    assert ticks["ticktext"] == ["苹果", "和", "苹果"]


def test_short_sentences_print_their_words_over_the_columns() -> None:
    assert column_axis(["苹果", "它"], 16)["ticktext"] == ["苹果", "它"]


def test_chinese_words_that_do_not_fit_are_written_downwards() -> None:
    ticks = column_axis(["苹果"] * 12, 16)
    assert ticks["ticktext"] == ["苹<br>果"] * 12


def test_english_words_that_do_not_fit_give_way_to_numbers_which_the_rows_name() -> None:
    labels = ["elephant"] * 12
    ticks = column_axis(labels, 16)
    assert ticks["ticktext"] == [str(n) for n in range(1, 13)]
    assert numbered(labels, ticks)[11] == "elephant  12"


def test_sixty_four_columns_carry_few_numbers() -> None:
    ticks = column_axis(["苹果"] * 64, 11)
    assert ticks["ticktext"][0] == "4"
    assert ticks["ticktext"][-1] == "64"
    assert len(ticks["ticktext"]) == 16
