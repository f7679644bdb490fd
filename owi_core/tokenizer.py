"""Text ↔ ids ↔ labels, in characters or in words.

A character is a grapheme cluster: an emoji joined of several code points is one token. A text is
cleaned before it is cut (see `cleaning`); positions are offsets into the cleaned text.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from owi_core.cleaning import by_clean_form, clean
from owi_core.errors import ModelFileError, TextError
from owi_core.segmentation import (
    check_text,
    clusters,
    cut_words,
    is_inside_word,
    joined,
    usual_form,
)
from owi_core.untrusted import WRITABLE, MisfitError, checked

MAX_SENTENCE_CHARACTERS = 2_000
MAX_CORPUS_CHARACTERS = 1_000_000
MAX_VOCABULARY = 20_000
MAX_WORD_CHARACTERS = 64
MAX_SPARE = 256
MAX_LISTED = 10
FILE_VERSION = 1

PAD, BOS, EOS = SPECIALS = ("<PAD>", "<BOS>", "<EOS>")

_Character = Annotated[str, Meta(min_length=1, max_length=MAX_WORD_CHARACTERS, pattern=WRITABLE)]
# `encode` drops white space, so a word that contains some could never be found again.
_Word = Annotated[
    str, Meta(min_length=1, max_length=MAX_WORD_CHARACTERS, pattern=r"\A[^\s\ud800-\udfff]*\Z")
]
_SIZE = Meta(min_length=1, max_length=MAX_VOCABULARY)


class _CharacterFile(
    Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="characters"
):
    version: Literal[1]
    characters: Annotated[tuple[_Character, ...], _SIZE]


class _WordFile(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="words"):
    version: Literal[1]
    words: Annotated[tuple[_Word, ...], _SIZE]
    n_spare: Annotated[int, Meta(ge=0, le=MAX_SPARE)]
    classes: dict[str, str] = {}


@dataclass(frozen=True)
class Encoding:
    """A text as tokens: ids, labels as typed, and spans (start, end) into the text.

    text: the cleaned text.
    The labels, with the parts of the text between the spans, give back the text exactly.
    unknown: indices of the tokens whose words are not in the vocabulary.
    """

    text: str
    ids: tuple[int, ...]
    labels: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    unknown: tuple[int, ...]


class CharTokenizer:
    """One id for each distinct character, with no ids for padding, beginning or end."""

    pad_id: int | None = None

    def __init__(self, characters: Sequence[str]) -> None:
        self.characters = tuple(characters)
        self._id_of = by_clean_form({c: index for index, c in enumerate(self.characters)})

    @classmethod
    def from_text(cls, text: str) -> "CharTokenizer":
        """Take the distinct characters of a text, sorted, as the vocabulary.

        Raises TextError when the text is empty, too long or not text, or has more or longer
        characters than a model file may hold.
        """
        text = clean(text).text
        check_text(text, MAX_CORPUS_CHARACTERS)
        characters = sorted(set(clusters(text)))
        if len(characters) > MAX_VOCABULARY:
            count = len(characters)
            raise TextError("too_many_characters", limit=MAX_VOCABULARY, count=count)
        # One cluster can have thousands of combining marks, which no model file could hold.
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
        text = clean(text).text
        check_text(text, MAX_CORPUS_CHARACTERS)
        labels = tuple(clusters(text))
        strange = list(dict.fromkeys(label for label in labels if label not in self._id_of))
        if strange:
            shown = " ".join(strange[:MAX_LISTED])
            raise TextError("unknown_characters", characters=shown, count=len(strange))
        ids = tuple(self._id_of[label] for label in labels)
        return Encoding(text, ids, labels, _spans(labels), unknown=())

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of these ids."""
        return "".join(self.characters[index] for index in ids)

    def label(self, index: int) -> str:
        """Return the character of an id."""
        return self.characters[index]

    def to_dict(self) -> dict[str, Any]:
        """Return what `tokenizer_from_dict` reads, fit for JSON."""
        return {"kind": "characters", "version": FILE_VERSION, "characters": list(self.characters)}


class WordTokenizer:
    """Ids: 0 padding, 1 beginning, 2 end, then the words, then spare rows for unknown words.

    classes: the class of each word; `owi_core.corpora` recognizes sentence structures by them.
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
        self._id_of = by_clean_form({w: i for i, w in enumerate(self.words, start=len(SPECIALS))})
        self._longest = max((len(clusters(word)) for word in self.words), default=0)

    @property
    def vocab_size(self) -> int:
        """The number of ids, spare ones included."""
        return len(SPECIALS) + len(self.words) + self.n_spare

    @property
    def spare_ids(self) -> range:
        """The ids that unknown words take, in order of first appearance."""
        return range(self.vocab_size - self.n_spare, self.vocab_size)

    def encode(self, text: str) -> Encoding:
        """Cut a text into words: the longest in the vocabulary first, rjieba where none fits.

        White space separates words and is not a token. The same unknown word always takes the same
        spare id, with a capital letter or without.
        Raises TextError when the text is blank, too long, or has more unknown words than spare ids.
        """
        text = clean(text).text
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
        """Return the words as one text; padding, beginning and end are left out."""
        return joined([self.label(index) for index in ids if index >= len(SPECIALS)])

    def label(self, index: int) -> str:
        """Return the word of an id; a spare id is `<NEW1>`, `<NEW2>`, …"""
        if index in self.spare_ids:
            return f"<NEW{index - self.spare_ids.start + 1}>"
        return (*SPECIALS, *self.words)[index]

    def with_spare(self, n_spare: int) -> "WordTokenizer":
        """Return a tokenizer of the same words with another number of spare ids at the end."""
        return WordTokenizer(self.words, n_spare, self.classes)

    def class_of(self, label: str) -> str | None:
        """Return the class of a word as typed, or None when the vocabulary does not have it."""
        return self.classes.get(self._vocabulary_word(label))

    def to_dict(self) -> dict[str, Any]:
        """Return what `tokenizer_from_dict` reads, fit for JSON."""
        return {
            "kind": "words",
            "version": FILE_VERSION,
            "words": list(self.words),
            "n_spare": self.n_spare,
            "classes": dict(self.classes),
        }

    def _encoding(
        self, text: str, labels: tuple[str, ...], spans: tuple[tuple[int, int], ...]
    ) -> Encoding:
        known = [self._id_of.get(self._vocabulary_word(label)) for label in labels]
        missing = zip(labels, known, strict=True)
        # Words are compared in their usual form, as known words are: The and the are one word.
        strange = list(dict.fromkeys(usual_form(w) for w, index in missing if index is None))
        if len(strange) > self.n_spare:
            raise TextError(
                "too_many_unknown_words",
                limit=self.n_spare,
                count=len(strange),
                excess=len(strange) - self.n_spare,
                words=" ".join(strange[:MAX_LISTED]),
            )
        # Spare rows are handed out again for each text: they hold no knowledge about any word.
        spare = dict(zip(strange, self.spare_ids, strict=False))
        ids = tuple(
            spare[usual_form(label)] if index is None else index
            for label, index in zip(labels, known, strict=True)
        )
        unknown = tuple(position for position, index in enumerate(known) if index is None)
        return Encoding(text, ids, labels, spans, unknown)

    def _vocabulary_word(self, label: str) -> str:
        """Return the vocabulary's word for a label as typed."""
        # Exact spelling first: where the vocabulary has both, US and us are different words.
        return label if label in self._id_of else usual_form(label)

    def _cut(self, text: str) -> Iterator[str]:
        """Cut a text into words and blanks; concatenated they are the text.

        Where no vocabulary word fits, the single characters next to the gap are not trusted either
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
            # rjieba may join two words of the vocabulary (台 and 上).  The vocabulary wins, because
            # its rows were trained.
            if word not in self._id_of and all(c in self._id_of for c in characters):
                yield from characters
            else:
                yield word

    def _longest_matches(self, characters: Sequence[str]) -> Iterator[tuple[str, bool]]:
        """Yield, from left to right, the longest word that begins at each place, or one character.

        With each piece comes whether it is a word of the vocabulary.
        """
        position = 0
        while position < len(characters):
            size = self._match_size(characters, position)
            step = max(size, 1)
            yield "".join(characters[position : position + step]), size > 0
            position += step

    def _match_size(self, characters: Sequence[str], start: int) -> int:
        """Return the number of characters of the longest word at `start`; 0 when there is none."""
        for size in range(min(self._longest, len(characters) - start), 0, -1):
            end = start + size
            if "".join(characters[start:end]) not in self._id_of:
                continue
            # "it" must not be found inside "item".
            if not is_inside_word(characters, start) and not is_inside_word(characters, end):
                return size
        return 0


def tokenizer_from_dict(data: object) -> CharTokenizer | WordTokenizer:
    """Read what either tokenizer's `to_dict` wrote; `data` may be anything.

    Raises ModelFileError "vocabulary_unreadable" with the name of the part that does not fit.
    """
    try:
        found: _CharacterFile | _WordFile = checked(data, _CharacterFile | _WordFile)
    except MisfitError as error:
        part = str(error.place[0]) if error.place else "vocabulary"
        raise ModelFileError("vocabulary_unreadable", part=part) from error
    # msgspec checks one value at a time; what follows compares values with each other.
    if isinstance(found, _CharacterFile):
        _demand(all(len(clusters(c)) == 1 for c in found.characters), "characters")
        _demand(_are_distinct(found.characters), "characters")
        return CharTokenizer(found.characters)
    _demand(_are_distinct(found.words), "words")
    _demand(found.classes.keys() <= set(found.words), "classes")
    return WordTokenizer(found.words, found.n_spare, found.classes)


def _are_distinct(words: Sequence[str]) -> bool:
    return len(set(words)) == len(words)


def _demand(holds: bool, part: str) -> None:
    if not holds:
        raise ModelFileError("vocabulary_unreadable", part=part)


def _spans(labels: Sequence[str]) -> tuple[tuple[int, int], ...]:
    spans, start = [], 0
    for label in labels:
        spans.append((start, start + len(label)))
        start += len(label)
    return tuple(spans)
