"""Cleans a text that a user typed or pasted, and counts what was changed.

Two texts that look the same must give the same tokens, and every token must be visible. So a text
is cleaned before it is cut: line ends become "\\n", characters without a shape and control
characters are removed, and letters written in parts are composed (Unicode NFC).
"""

import unicodedata
from dataclasses import dataclass
from typing import TypeVar, cast

import regex

from owi_core.segmentation import clusters, is_spaced

T = TypeVar("T")

_LINE_END = regex.compile(r"\r\n|[\r\v\f\x85\u2028\u2029]")
# Tabs and line ends are blanks. Noncharacters are no legal XML: an SVG with one cannot be opened.
_CONTROL = regex.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\p{Noncharacter_Code_Point}]")

# Scripts in which a joiner or a non-joiner between two letters changes the spelling.
_JOINING = (
    r"[\p{Arabic}\p{Syriac}\p{Mongolian}\p{Nko}\p{Thaana}\p{Devanagari}\p{Bengali}\p{Gurmukhi}"
    r"\p{Gujarati}\p{Oriya}\p{Tamil}\p{Telugu}\p{Kannada}\p{Malayalam}\p{Sinhala}\p{Khmer}"
    r"\p{Myanmar}\p{Tibetan}]"
)
_PICTURE = r"\p{Extended_Pictographic}"
# What belongs to a visible character is kept: the parts of a joined emoji, its colour, a keycap,
# the letters of a flag. The same characters anywhere else show nothing.
_KEPT = "|".join(
    (
        rf"(?<={_PICTURE}[\ufe0f\p{{Emoji_Modifier}}]?)\u200d(?={_PICTURE})",
        rf"(?<={_JOINING})[\u200c\u200d](?={_JOINING})",
        rf"(?<={_PICTURE})[\ufe0e\ufe0f]",
        r"(?<=[0-9#*])\ufe0f(?=\u20e3)",
        r"(?<=\U0001f3f4[\U000e0020-\U000e007e]*)[\U000e0020-\U000e007f]",
    )
)
_SHAPELESS = (
    r"[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\uffa0\ufe00-\ufe0f"
    r"\ufeff\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_INVISIBLE = regex.compile(rf"(?:{_KEPT})(*SKIP)(*FAIL)|{_SHAPELESS}")
_BLANKS = regex.compile(r"\s+")


@dataclass(frozen=True)
class Cleaned:
    """A cleaned text, and how many changes of each kind were made.

    line_ends: line ends that were not "\\n".  controls: control characters removed.
    invisible: characters without a shape removed.  composed: characters written in parts, or in a
    compatibility form, now written as one.
    """

    text: str
    line_ends: int = 0
    controls: int = 0
    invisible: int = 0
    composed: int = 0


def clean(text: str) -> Cleaned:
    """Return a text as models read it. Cleaning a cleaned text changes nothing."""
    text, line_ends = _LINE_END.subn("\n", text)
    text, controls = _CONTROL.subn("", text)
    text, invisible = _INVISIBLE.subn("", text)
    composed = 0
    # The check is fast and nearly always true; counting cuts the text into clusters.
    if not unicodedata.is_normalized("NFC", text):
        parts = sum(not unicodedata.is_normalized("NFC", c) for c in clusters(text))
        composed = max(1, parts)  # a mark can also compose with the cluster before it
        text = unicodedata.normalize("NFC", text)
    return Cleaned(text, line_ends, controls, invisible, composed)


def by_clean_form(ids: dict[str, T]) -> dict[str, T]:
    """Return the ids of labels, and under a label's clean form the same id unless it is taken.

    A vocabulary from a file can hold "\\r\\n" or a letter in two parts, which no clean text has.
    """
    clean_ids = {form: index for label, index in ids.items() if (form := clean(label).text)}
    return clean_ids | ids


def n_loose_blanks(text: str) -> int:
    """Return how many blanks separate nothing: all but one between two words of letters.

    A word tokenizer drops them. Blanks beside a letter or a digit of a script that separates its
    words are how that script is written, and are not counted.
    """
    return sum(len(run.group()) - _is_needed(text, run) for run in _BLANKS.finditer(text))


def _is_needed(text: str, run: "regex.Match[str]") -> bool:
    start, end = cast(tuple[int, int], run.span())
    if start == 0 or end == len(text):
        return False
    left, right = text[start - 1], text[end]
    return is_spaced(left, left) or is_spaced(right, right)
