"""Text ↔ ids ↔ labels, in characters or in words.

A character is a grapheme cluster: an emoji joined of several code points is one token. Positions in
a text are offsets into the Python string.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any, cast

import regex

from owi_core.errors import ModelFileError, TextError

MAX_SENTENCE_CHARACTERS = 2_000
MAX_CORPUS_CHARACTERS = 1_000_000
MAX_VOCABULARY = 20_000
MAX_WORD_CHARACTERS = 64
MAX_SPARE = 256
MAX_LISTED = 10

PAD, BOS, EOS = SPECIALS = ("<PAD>", "<BOS>", "<EOS>")

# Half-width marks that mean the same as a full-width word of the vocabulary.
SAME_MARK = {",": "，", ".": "。", "!": "！", "?": "？", ":": "：", ";": "；"}

_CLUSTER = regex.compile(r"\X")
# What rjieba knows: Chinese, and the Latin letters and digits that Chinese words may hold (T恤).
_CHINESE = regex.compile(r"[\p{Han}A-Za-z0-9]")
_HAN = regex.compile(r"\p{Han}")
_SPACED = regex.compile(r"[^\W\p{Han}_]|\p{M}")


@dataclass(frozen=True)
class Encoding:
    """A text as tokens: ids, labels as typed, and spans (start, end) into the text.

    The labels, with what stands in the text between the spans, give back the text exactly.
    unknown: indices of the tokens that are words the vocabulary does not have.
    """

    text: str
    ids: tuple[int, ...]
    labels: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    unknown: tuple[int, ...]


class CharTokenizer:
    """One id for each distinct character, and no others: no padding, no beginning, no end."""

    pad_id: int | None = None

    def __init__(self, characters: Sequence[str]) -> None:
        self.characters = tuple(characters)
        self._id_of = {character: index for index, character in enumerate(self.characters)}

    @classmethod
    def from_text(cls, text: str) -> "CharTokenizer":
        """Take the distinct characters of a text, sorted, as the vocabulary.

        Raises TextError when the text is empty, too long, no text, or has more or longer characters
        than a model file may hold.
        """
        check_text(text, MAX_CORPUS_CHARACTERS)
        characters = sorted(set(clusters(text)))
        if len(characters) > MAX_VOCABULARY:
            count = len(characters)
            raise TextError("too_many_characters", limit=MAX_VOCABULARY, count=count)
        if max(map(len, characters)) > MAX_WORD_CHARACTERS:
            raise TextError("text_not_text")
        return cls(characters)

    @property
    def vocab_size(self) -> int:
        """The number of ids."""
        return len(self.characters)

    def encode(self, text: str) -> Encoding:
        """Return one token for each character.

        Raises TextError when the text is empty, too long, or has characters without an id.
        """
        check_text(text, MAX_CORPUS_CHARACTERS)
        labels = tuple(clusters(text))
        strange = list(dict.fromkeys(label for label in labels if label not in self._id_of))
        if strange:
            shown = " ".join(strange[:MAX_LISTED])
            raise TextError("unknown_characters", characters=shown, count=len(strange))
        ids = tuple(self._id_of[label] for label in labels)
        return Encoding(text, ids, labels, _spans(labels), unknown=())

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text that these ids stand for."""
        return "".join(self.characters[index] for index in ids)

    def label(self, index: int) -> str:
        """Return the character that an id stands for."""
        return self.characters[index]

    def to_dict(self) -> dict[str, Any]:
        """Return what `tokenizer_from_dict` reads, fit for JSON."""
        return {"kind": "characters", "version": 1, "characters": list(self.characters)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "CharTokenizer":
        """Read what `to_dict` wrote. Raises ModelFileError."""
        characters = _strings(data, "characters")
        _demand(all(len(clusters(c)) == 1 for c in characters), "characters")
        return cls(characters)


class WordTokenizer:
    """Ids: 0 padding, 1 beginning, 2 end, then the words, then spare rows for words never seen.

    classes: the class of each word, carried along for whoever recognises sentence structures.
    """

    pad_id: int | None = 0
    bos_id = 1
    eos_id = 2

    def __init__(
        self, words: Sequence[str], n_spare: int = 16, classes: Mapping[str, str] | None = None
    ) -> None:
        self.words = tuple(words)
        self.n_spare = n_spare
        self.classes = dict(classes or {})
        self._id_of = {word: index for index, word in enumerate(self.words, start=len(SPECIALS))}
        self._longest = max((len(clusters(word)) for word in self.words), default=0)

    @property
    def vocab_size(self) -> int:
        """The number of ids, spare ones included."""
        return len(SPECIALS) + len(self.words) + self.n_spare

    @property
    def spare_ids(self) -> range:
        """The ids that words never seen take, in order of first appearance."""
        return range(self.vocab_size - self.n_spare, self.vocab_size)

    def encode(self, text: str) -> Encoding:
        """Cut a text into words: the longest in the vocabulary first, rjieba where none fits.

        White space parts words and is no token. The same unknown word takes the same spare id.
        Raises TextError when the text is blank, too long, or has more unknown words than spare ids.
        """
        check_text(text, MAX_SENTENCE_CHARACTERS)
        labels, spans, start = [], [], 0
        for word in self._cut(text):
            end = start + len(word)
            if not word.isspace():
                labels.append(word)
                spans.append((start, end))
            start = end
        return self._encoding(text, tuple(labels), tuple(spans))

    def encode_words(self, words: Sequence[str]) -> Encoding:
        """Encode words that are already cut; the text is the words joined."""
        return self._encoding("".join(words), tuple(words), _spans(words))

    def decode(self, ids: Iterable[int]) -> str:
        """Return the words joined; blanks only between words that are written with blanks."""
        return joined([self.label(index) for index in ids if index >= len(SPECIALS)])

    def label(self, index: int) -> str:
        """Return the word that an id stands for; a spare id is `<NEW1>`, `<NEW2>`, …"""
        if index in self.spare_ids:
            return f"<NEW{index - self.spare_ids.start + 1}>"
        return (*SPECIALS, *self.words)[index]

    def class_of(self, label: str) -> str | None:
        """Return the class of a word as typed, or None when the vocabulary does not have it."""
        return self.classes.get(self._vocabulary_word(label))

    def to_dict(self) -> dict[str, Any]:
        """Return what `tokenizer_from_dict` reads, fit for JSON."""
        return {
            "kind": "words",
            "version": 1,
            "words": list(self.words),
            "n_spare": self.n_spare,
            "classes": dict(self.classes),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "WordTokenizer":
        """Read what `to_dict` wrote. Raises ModelFileError."""
        words = _strings(data, "words")
        _demand(not any(regex.search(r"\s", word) for word in words), "words")
        n_spare = data.get("n_spare")
        _demand(type(n_spare) is int and 0 <= n_spare <= MAX_SPARE, "n_spare")
        return cls(words, cast(int, n_spare), _classes(data, words))

    def _encoding(
        self, text: str, labels: tuple[str, ...], spans: tuple[tuple[int, int], ...]
    ) -> Encoding:
        known = [self._id_of.get(self._vocabulary_word(label)) for label in labels]
        missing = zip(labels, known, strict=True)
        strange = list(dict.fromkeys(label for label, index in missing if index is None))
        if len(strange) > self.n_spare:
            raise TextError(
                "too_many_unknown_words",
                limit=self.n_spare,
                count=len(strange),
                excess=len(strange) - self.n_spare,
                words=" ".join(strange[:MAX_LISTED]),
            )
        spare = dict(zip(strange, self.spare_ids, strict=False))
        ids = tuple(
            spare[label] if index is None else index
            for label, index in zip(labels, known, strict=True)
        )
        unknown = tuple(position for position, index in enumerate(known) if index is None)
        return Encoding(text, ids, labels, spans, unknown)

    def _vocabulary_word(self, label: str) -> str:
        """Return the word that a label as typed stands for."""
        return label if label in self._id_of else usual_form(label)

    def _cut(self, text: str) -> Iterator[str]:
        """Part a text into words and blanks; joined they are the text.

        Where no vocabulary word fits, the single characters beside the gap are not trusted either
        (大 in 大象, 小 in 小华): rjieba cuts the gap together with them.
        """
        loose: list[str] = []
        for piece, is_word in self._longest_matches(clusters(text)):
            if is_word and len(piece) > 1:
                yield from self._cut_loose(loose)
                loose = []
                yield piece
            else:
                loose.append(piece)
        yield from self._cut_loose(loose)

    def _cut_loose(self, pieces: Sequence[str]) -> Iterator[str]:
        """Cut a run of single characters, of which some may be words of the vocabulary."""
        if all(piece in self._id_of for piece in pieces):
            yield from pieces
            return
        for word in cut_words(pieces):
            characters = clusters(word)
            if word not in self._id_of and all(c in self._id_of for c in characters):
                yield from characters
            else:
                yield word

    def _longest_matches(self, characters: Sequence[str]) -> Iterator[tuple[str, bool]]:
        """Go from left to right: the longest vocabulary word that begins here, or one character."""
        position = 0
        while position < len(characters):
            size = self._match_size(characters, position)
            step = max(size, 1)
            yield "".join(characters[position : position + step]), size > 0
            position += step

    def _match_size(self, characters: Sequence[str], start: int) -> int:
        """Return how many characters the longest word here has; none ends inside a Latin word."""
        for size in range(min(self._longest, len(characters) - start), 0, -1):
            end = start + size
            if "".join(characters[start:end]) not in self._id_of:
                continue
            if not _is_inside_word(characters, start) and not _is_inside_word(characters, end):
                return size
        return 0


def tokenizer_from_dict(data: object) -> CharTokenizer | WordTokenizer:
    """Read either tokenizer's `to_dict`.

    Raises ModelFileError "vocabulary_unreadable", naming the part, for anything else.
    """
    if not isinstance(data, Mapping):
        raise ModelFileError("vocabulary_unreadable", part="vocabulary")
    _demand(data.get("version") == 1, "version")
    if data.get("kind") == "characters":
        return CharTokenizer.from_dict(data)
    _demand(data.get("kind") == "words", "kind")
    return WordTokenizer.from_dict(data)


def check_text(text: str, limit: int) -> None:
    """Raise TextError when a text is blank, longer than `limit` characters, or not text."""
    if not text.strip():
        raise TextError("text_empty")
    if len(text) > limit:
        raise TextError("text_too_long", limit=limit, length=len(text), excess=len(text) - limit)
    # Half of a surrogate pair cannot be written to any file.
    if regex.search(r"\p{Cs}", text):
        raise TextError("text_not_text")


def usual_form(word: str) -> str:
    """Return how a word as typed is compared: marks full-width, letters small, apostrophe plain."""
    return SAME_MARK.get(word, word.lower().replace("’", "'"))


def joined(words: Iterable[str]) -> str:
    """Return words as one text; blanks only between words that are written with blanks."""
    parts: list[str] = []
    for word in words:
        if parts and _is_spaced(parts[-1][-1], word[0]):
            parts.append(" ")
        parts.append(word)
    return "".join(parts)


def clusters(text: str) -> list[str]:
    """Return the grapheme clusters of a text; joined they are the text."""
    return cast(list[str], _CLUSTER.findall(text))


def cut_words(characters: Sequence[str]) -> list[str]:
    """Cut clusters into words without a vocabulary: rjieba for Chinese, letters run together.

    Every other character (a mark, an emoji, a blank) is a word by itself; no cluster is torn.
    """
    runs: list[list[str]] = []
    for index, character in enumerate(characters):
        if index and _is_joined(characters, index):
            runs[-1].append(character)
        else:
            runs.append([character])
    return [word for run in runs for word in _cut_run(run)]


def _is_joined(characters: Sequence[str], index: int) -> bool:
    """Whether a character may belong to the same word as the one before it."""
    left, right = characters[index - 1], characters[index]
    if _is_glue(characters, index) or _is_glue(characters, index - 1):
        return True
    return (_is_chinese(left) and _is_chinese(right)) or _is_spaced(left, right)


def _is_glue(characters: Sequence[str], index: int) -> bool:
    """Whether a mark stands inside a word or number: don't, 12.5."""
    if not 0 < index < len(characters) - 1:
        return False
    mark, left, right = characters[index], characters[index - 1], characters[index + 1]
    if mark == ".":
        return left.isdecimal() and right.isdecimal()
    return mark in ("'", "’") and _is_spaced(left, right)


def _cut_run(run: Sequence[str]) -> list[str]:
    text = "".join(run)
    if not _HAN.search(text) or len(run) == 1:
        return [text]
    if all(map(_is_chinese, run)):
        return _with_nicknames(_dictionary().cut(text))
    parts = [list(part) for _, part in groupby(run, lambda c: _HAN.match(c) is not None)]
    return [word for part in parts for word in _cut_run(part)]


@cache
def _dictionary() -> Any:
    """Return rjieba, whose words take 30 MB once it is loaded: a run on characters needs none."""
    import rjieba

    return rjieba


def _with_nicknames(words: Sequence[str]) -> list[str]:
    """Mend rjieba's guesses at names like 小波 (it parts them) and 向小婷 (it takes 向 for one)."""
    mended: list[str] = []
    for word in words:
        if mended and mended[-1] == "小" and len(word) == 1 and _HAN.match(word):
            mended[-1] += word
        elif len(word) == 3 and "小" in word[:2] and not _dictionary().has_word(word):
            start = word.index("小")
            mended += filter(None, (word[:start], word[start : start + 2], word[start + 2 :]))
        else:
            mended.append(word)
    return mended


def _is_chinese(cluster: str) -> bool:
    return _CHINESE.fullmatch(cluster) is not None


def _is_inside_word(characters: Sequence[str], boundary: int) -> bool:
    """Whether a boundary lies between two letters of a script that is written with blanks."""
    inside = 0 < boundary < len(characters)
    return inside and _is_spaced(characters[boundary - 1], characters[boundary])


def _is_spaced(left: str, right: str) -> bool:
    return _SPACED.match(left) is not None and _SPACED.match(right) is not None


def _spans(labels: Sequence[str]) -> tuple[tuple[int, int], ...]:
    spans, start = [], 0
    for label in labels:
        spans.append((start, start + len(label)))
        start += len(label)
    return tuple(spans)


def _strings(data: Mapping[str, Any], part: str) -> list[str]:
    """Return a list of distinct, short, writable strings from a file that may hold anything."""
    words = data.get(part)
    _demand(isinstance(words, list) and 0 < len(words) <= MAX_VOCABULARY, part)
    strings = cast(list[str], words)
    _demand(all(isinstance(w, str) and 0 < len(w) <= MAX_WORD_CHARACTERS for w in strings), part)
    _demand(len(set(strings)) == len(strings), part)
    _demand(not any(regex.search(r"\p{Cs}", word) for word in strings), part)
    return strings


def _classes(data: Mapping[str, Any], words: Sequence[str]) -> dict[str, str]:
    classes = data.get("classes", {})
    _demand(isinstance(classes, Mapping), "classes")
    _demand(set(classes) <= set(words), "classes")
    _demand(all(isinstance(name, str) for name in classes.values()), "classes")
    return dict(classes)


def _demand(holds: bool, part: str) -> None:
    if not holds:
        raise ModelFileError("vocabulary_unreadable", part=part)
