"""Cuts texts: into grapheme clusters, into words without a vocabulary, and back into one text.

A character is a grapheme cluster here: an emoji joined of several code points counts as one, and
no function cuts inside it.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby
from typing import Any, cast

import regex

from owi_core.errors import TextError

# Half-width marks that mean the same as a full-width word of the vocabulary.
SAME_MARK = {",": "，", ".": "。", "!": "！", "?": "？", ":": "：", ";": "；"}

_CLUSTER = regex.compile(r"\X")
# What rjieba knows: Chinese, and the Latin letters and digits that Chinese words may hold (T恤).
_CHINESE = regex.compile(r"[\p{Han}A-Za-z0-9]")
_HAN = regex.compile(r"\p{Han}")
_PRONOUNS = "它他她"
# Letters of scripts that separate words with blanks. \p{M}: a combining mark belongs to its letter.
_SPACED = regex.compile(r"[^\W\p{Han}_]|\p{M}")


def check_text(text: str, limit: int) -> None:
    """Raise TextError when a text is blank, longer than `limit` characters, or not text."""
    if not text.strip():
        raise TextError("text_empty")
    if len(text) > limit:
        raise TextError("text_too_long", limit=limit, length=len(text), excess=len(text) - limit)
    # Half of a surrogate pair cannot be encoded, so it could go into no file and to no browser.
    if regex.search(r"\p{Cs}", text):
        raise TextError("text_not_text")


def usual_form(word: str) -> str:
    """Return the form in which words are compared: full-width marks, lower case, plain quotes."""
    return SAME_MARK.get(word, word.lower().replace("’", "'"))


def names_something(word: str) -> bool:
    """Return whether a word could name a thing: not if it is all marks, blanks and controls."""
    return any(unicodedata.category(character)[0] in "LNS" for character in word)


def joined(words: Iterable[str]) -> str:
    """Return words as one text, with blanks only between words of scripts that use them."""
    parts: list[str] = []
    for word in words:
        if parts and is_spaced(parts[-1][-1], word[0]):
            parts.append(" ")
        parts.append(word)
    return "".join(parts)


def clusters(text: str) -> list[str]:
    """Return the grapheme clusters of a text; concatenated they are the text again."""
    return cast(list[str], _CLUSTER.findall(text))


def cut_words(characters: Sequence[str]) -> list[str]:
    """Cut clusters into words without a vocabulary: rjieba for Chinese, runs of letters elsewhere.

    Every other character (a mark, an emoji, a blank) is a word by itself.
    """
    # rjieba cuts between code points and would split a joined emoji, so it only ever gets runs in
    # which every cluster is a single Chinese character, Latin letter or digit.
    runs: list[list[str]] = []
    for index, character in enumerate(characters):
        if index and _is_joined(characters, index):
            runs[-1].append(character)
        else:
            runs.append([character])
    return [word for run in runs for word in _cut_run(run)]


def _is_joined(characters: Sequence[str], index: int) -> bool:
    """Return whether a character may belong to the same word as the one before it."""
    left, right = characters[index - 1], characters[index]
    if _is_glue(characters, index) or _is_glue(characters, index - 1):
        return True
    return (_is_chinese(left) and _is_chinese(right)) or is_spaced(left, right)


def _is_glue(characters: Sequence[str], index: int) -> bool:
    """Return whether a mark belongs to the word or number around it: don't, 12.5."""
    if not 0 < index < len(characters) - 1:
        return False
    mark, left, right = characters[index], characters[index - 1], characters[index + 1]
    if mark == ".":
        return left.isdecimal() and right.isdecimal()
    return mark in ("'", "’") and is_spaced(left, right)


def _cut_run(run: Sequence[str]) -> list[str]:
    text = "".join(run)
    if not _HAN.search(text) or len(run) == 1:
        return [text]
    # T恤 goes to the dictionary whole; a run with other letters (naïve苹果) is cut at the script.
    if all(map(_is_chinese, run)):
        return _with_nicknames(_without_pronouns(_dictionary().cut(text)))
    parts = [list(part) for _, part in groupby(run, lambda c: _HAN.match(c) is not None)]
    return [word for part in parts for word in _cut_run(part)]


@cache
def _dictionary() -> Any:
    """Return rjieba, imported at the first Chinese word: it takes 30 MB, often for nothing."""
    import rjieba

    return rjieba


def _without_pronouns(words: Sequence[str]) -> Iterator[str]:
    """Split a pronoun off the guesses that begin or end with one: 它响 is no word, 它们 is."""
    for word in words:
        if len(word) == 1 or _dictionary().has_word(word):
            yield word
        elif word[0] in _PRONOUNS:
            yield from (word[0], word[1:])
        elif word[-1] in _PRONOUNS:
            yield from (word[:-1], word[-1])
        else:
            yield word


def _with_nicknames(words: Iterable[str]) -> list[str]:
    """Correct rjieba's guesses at names: it splits 小波, and takes 向 in 向小婷 for a surname."""
    corrected: list[str] = []
    for word in words:
        # The sentences of the corpora use many such names, and a name must be one token.
        if corrected and corrected[-1] == "小" and len(word) == 1 and _HAN.match(word):
            corrected[-1] += word
        elif len(word) == 3 and "小" in word[:2] and not _dictionary().has_word(word):
            start = word.index("小")
            corrected += filter(None, (word[:start], word[start : start + 2], word[start + 2 :]))
        else:
            corrected.append(word)
    return corrected


def _is_chinese(cluster: str) -> bool:
    return _CHINESE.fullmatch(cluster) is not None


def is_inside_word(characters: Sequence[str], boundary: int) -> bool:
    """Return whether a boundary lies between two letters of a script that uses blanks."""
    inside = 0 < boundary < len(characters)
    return inside and is_spaced(characters[boundary - 1], characters[boundary])


def is_spaced(left: str, right: str) -> bool:
    """Return whether two characters are both letters or digits of scripts that use blanks."""
    return _SPACED.match(left) is not None and _SPACED.match(right) is not None
