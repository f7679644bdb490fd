"""Words on axes and in hover boxes: exactly as typed, never markup, never merged.

Plotly reads `<b>`, `&amp;`, `$…$` and `%{…}` in its text as markup.  It decodes numeric and
named entities after it has looked for tags and formulas, so an entity shows as its character.
"""

import unicodedata
from collections.abc import Sequence
from typing import Any

# Drawn by their customary signs where they would be invisible. A full-width blank is two wide.
_BLANKS = {" ": "␣", "\xa0": "␣", "\u3000": "␣␣", "\n": "↵", "\r": "↵", "\t": "⇥"}
_BLANKS |= dict.fromkeys("\v\f\x85\u2028\u2029", "↵")
# Control characters make an SVG that cannot be opened. Unicode has a picture of each.
_PICTURES = {c: chr(0x2400 + c) for c in range(0x20)} | {0x7F: "␡"}
_PICTURES |= dict.fromkeys([*range(0x80, 0xA0), 0xFFFE, 0xFFFF], "␦")
_SIGNS = _PICTURES | {ord(c): sign for c, sign in _BLANKS.items()}
_SIGNS_INSIDE = {c: sign for c, sign in _SIGNS.items() if chr(c) not in " \xa0\u3000"}
# % as well: a hover box would take %{…} in a word for a place to fill in.
_MARKUP = str.maketrans({c: f"&#{ord(c)};" for c in "&<>$%"})
_ISOLATE, _ISOLATE_END = "\u2068", "\u2069"
_ISOLATE_STARTS = {"LRI", "RLI", "FSI"}
_DIRECTED = _ISOLATE_STARTS | {"R", "AL", "AN", "LRE", "LRO", "RLE", "RLO", "PDF", "PDI"}
# Half-width units: a tick may be this wide; the hover box may hold this much and no more.
# 16 units are eight Chinese characters, about half of a phone's width at 16 px.
MAX_TICK_UNITS = 16
MAX_HOVER_CHARACTERS = 200
_HOVER_LINE = 40
_STACK_CHARACTERS = 4
_NARROW_PX = 300
_MOST_COLUMNS = 24


def as_typed(label: str) -> str:
    """Return the Plotly text that shows `label` as typed; what is invisible shows as its sign."""
    return isolated(_drawn(label).translate(_MARKUP))


def visible(text: str) -> str:
    """Return a text in which every blank and every control character is drawn by its sign.

    A label of nothing but characters without a shape is drawn by their numbers: U+200B.
    """
    if text and all(unicodedata.category(character) == "Cf" for character in text):
        return " ".join(f"U+{ord(character):04X}" for character in text)
    return text.replace("\r\n", "\n").translate(_SIGNS)


def _drawn(label: str) -> str:
    """Return a label as `visible` does, but with the blanks inside it as they are."""
    if label.isspace() or all(unicodedata.category(c) == "Cf" for c in label):
        return visible(label)
    return label.replace("\r\n", "\n").translate(_SIGNS_INSIDE)


def isolated(text: str) -> str:
    """Return the text so that no direction of writing in it turns what stands beside it around.

    A text without right-to-left letters or direction marks comes back as it is.
    Source: Unicode Standard Annex 9, section 6.2, on the isolation of inserted text.
    """
    # Most words need nothing; without this test every label would carry two invisible marks.
    if _DIRECTED.isdisjoint(map(unicodedata.bidirectional, text)):
        return text
    # A closing mark in the text would end our isolate early, an opening one would need an end.
    ends = text.count(_ISOLATE_END)  # each could close one isolate of ours
    starts = sum(unicodedata.bidirectional(c) in _ISOLATE_STARTS for c in text)
    return _ISOLATE * (ends + 1) + text + _ISOLATE_END * (starts + ends + 1)


def width_units(label: str) -> int:
    """Return the width of a label in half-width characters: 苹果 is 4, cat is 3."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in label)


def tick(label: str) -> str:
    """Return `as_typed(label)`, shortened with … when it is too wide for an axis."""
    if width_units(label) <= MAX_TICK_UNITS:
        return as_typed(label)
    kept = ""
    for character in label:
        # Cut before escaping: an entity cut in two would be printed as it is.
        if width_units(kept + character) >= MAX_TICK_UNITS:
            break
        kept += character
    return as_typed(kept) + "…"


def hover(label: str, position: int) -> str:
    """Return a label with its place in the sentence, counted from 1: 苹果 (3)."""
    cut = label if len(label) <= MAX_HOVER_CHARACTERS else label[:MAX_HOVER_CHARACTERS] + "…"
    # A hover box does not wrap: a line of 200 characters would leave the screen.
    lines = [cut[i : i + _HOVER_LINE] for i in range(0, len(cut), _HOVER_LINE)]
    return f"{'<br>'.join(map(as_typed, lines))} ({position + 1})"


def hovers(labels: Sequence[str]) -> list[str]:
    """Return the hover text of every token."""
    return [hover(label, i) for i, label in enumerate(labels)]


def word_axis(labels: Sequence[str]) -> dict[str, Any]:
    """Return ticks at positions 0…T−1 that carry the words: equal words stay apart."""
    return {
        "tickmode": "array",
        "tickvals": list(range(len(labels))),
        "ticktext": [tick(label) for label in labels],
    }


def column_axis(labels: Sequence[str], px: int) -> dict[str, Any]:
    """Return ticks for words above columns, upright and without overlap at `px` font size.

    Where the words do not fit beside each other on a phone, short ones of full-width
    characters are written downwards; else, and in long sentences, numbers stand for them.
    """
    ticks = word_axis(labels)
    widest = max((width_units(label) for label in labels), default=1)
    # Half-width units are half the font size wide, and 4 px keep two words apart.
    if len(labels) * (min(widest, MAX_TICK_UNITS) * px / 2 + 4) <= _NARROW_PX:
        return ticks
    # Written downwards, not rotated: rotated Chinese is hard to read from the back of a room.
    if len(labels) <= _MOST_COLUMNS and all(_stacks(label) for label in labels):
        return ticks | {"ticktext": ["<br>".join(map(as_typed, label)) for label in labels]}
    return _number_axis(len(labels))


def prints_words(columns: dict[str, Any], labels: Sequence[str]) -> bool:
    """Tell whether `column_axis` found room for the words themselves."""
    return columns != _number_axis(len(labels))


def numbered(labels: Sequence[str], columns: dict[str, Any]) -> list[str]:
    """Return row labels, led by their number where the columns show numbers alone."""
    ticks = [tick(label) for label in labels]
    if prints_words(columns, labels):
        return ticks
    return [f"{text}  {i + 1}" for i, text in enumerate(ticks)]


def _number_axis(n: int) -> dict[str, Any]:
    # From 13 columns on every fourth number is printed: 4, 8, 12 …
    positions = range(n) if n <= _MOST_COLUMNS // 2 else range(3, n, 4)
    return {
        "tickmode": "array",
        "tickvals": list(positions),
        "ticktext": [str(i + 1) for i in positions],
    }


def _stacks(label: str) -> bool:
    """Tell whether a label may be written downwards: one character, or a few full-width ones."""
    if len(label) <= 1 or label in _BLANKS:
        return True
    return len(label) <= _STACK_CHARACTERS and width_units(label) == 2 * len(label)
