"""The pronoun corpora: generated sentences, with pairs and frames that training never shows.

What is held out:
- A *pair* is the two words that the pronoun could mean (two nouns; two names in `person`), in
  either order. One pair in five is held out: where the words' ranks in their lists add up to a
  multiple of five, so that every word has both kinds of partner.
- A *frame* is everything else that fills a slot: names, adverbs, verbs, place word, adjective. One
  frame in five is held out, chosen by a checksum of its words.
The choice depends on neither seed, structure nor family, so a sentence held out for one model is
held out for all. Training has neither a held-out pair nor a held-out frame; a held-out sentence has
both.
"""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from zlib import crc32

from owi_core.corpora.grammar import (
    FAMILIES,
    LANGUAGE_OF,
    NAMES,
    STRUCTURES,
    Element,
    Structure,
    locate,
)
from owi_core.corpora.words import WordList, word_list
from owi_core.errors import SettingError

_ONE_IN = 5


@dataclass(frozen=True)
class Sample:
    """A sentence as words. The output read at `position`, the pronoun's, should name `target`.

    antecedent: index of the word meant, words[antecedent] == target.  distractors: indices of the
    words of the same kind that are not meant.
    """

    words: tuple[str, ...]
    position: int
    target: str
    antecedent: int
    distractors: tuple[int, ...]
    structure: str
    family: str


@dataclass(frozen=True)
class PronounCorpus:
    """Training sentences, and three sets that training never shows.

    heldout: structures of training, pairs and frames held out.  heldout_structure: structures held
    out too.  unseen: as heldout, but the word meant is outside the vocabulary; every other time
    the rival noun is too (a rival name never: its gender must be known).
    words: the vocabulary, the same for all families of a language.  classes: each word's class.
    """

    family: str
    train: tuple[Sample, ...]
    heldout: tuple[Sample, ...]
    heldout_structure: tuple[Sample, ...]
    unseen: tuple[Sample, ...]
    words: tuple[str, ...]
    classes: dict[str, str]


def pronoun_corpus(
    family: str, seed: int, n_train: int = 8000, n_heldout: int = 500
) -> PronounCorpus:
    """Generate the corpus of a family; the same arguments give the same sentences.

    Each of the three held-out sets has n_heldout sentences. In training each word that can be the
    target is the target equally often, and the structures take turns.
    Raises SettingError for a family that does not exist.
    """
    if family not in FAMILIES:
        raise SettingError("family_unknown", family=family, choices=", ".join(FAMILIES))
    lists = word_list(LANGUAGE_OF[family])
    maker = _Maker(lists, random.Random(f"{family} {seed}"))
    structures = [s for s in STRUCTURES if s.family == family]
    known = [s for s in structures if not s.heldout]
    new = [s for s in structures if s.heldout]
    return PronounCorpus(
        family=family,
        train=tuple(maker.samples(known, n_train, heldout=False)),
        heldout=tuple(maker.samples(known, n_heldout, heldout=True)),
        heldout_structure=tuple(maker.samples(new, n_heldout, heldout=True)),
        unseen=tuple(maker.unseen_samples(known, n_heldout)),
        words=lists.words,
        classes=lists.classes,
    )


def frame_is_heldout(words: Sequence[str]) -> bool:
    """Whether training avoids this choice of words for all slots but the pair."""
    # A checksum, because hash() of a string differs from process to process.
    return crc32(" ".join(words).encode()) % _ONE_IN == 0


def pair_is_heldout(one: str, other: str) -> bool:
    """Whether training avoids these two vocabulary words as the two that a pronoun could mean."""
    # The sum of ranks: symmetric in the two, and each word has partners of both kinds.
    ranks = _ranks()
    return (ranks[one] + ranks[other]) % _ONE_IN == 0


class _Maker:
    """Draws sentences with one random generator."""

    def __init__(self, lists: WordList, rng: random.Random) -> None:
        self._rng = rng
        people = tuple(name for names in NAMES for name in lists.by_class.get(names, ()))
        self._fillers = lists.by_class | {"person": people}
        self._unseen = lists.unseen

    def samples(
        self, structures: Sequence[Structure], count: int, heldout: bool
    ) -> Iterator[Sample]:
        """Draw sentences whose pair and frame are both held out, or both not."""
        decks: dict[str, Iterator[str]] = {}
        for structure in self._turns(structures, count):
            meant_class = _class_of(structure.antecedent)
            deck = decks.setdefault(meant_class, self._deck(meant_class))
            meant, rival = self._pair(structure, next(deck), heldout)
            yield self._sample(structure, meant, rival, heldout)

    def unseen_samples(self, structures: Sequence[Structure], count: int) -> Iterator[Sample]:
        """Draw sentences with held-out frames that mean a word outside the vocabulary."""
        for index, structure in enumerate(self._turns(structures, count)):
            meant = self._rng.choice(self._unseen[_class_of(structure.antecedent)])
            # An unknown name shows no gender, so 他 between two of them would be undecidable; which
            # of two unknown nouns is meant follows from the structure.
            both = structure.rival not in NAMES and index // len(structures) % 2 == 1
            source = self._unseen if both else self._fillers
            rivals = [w for w in source[_class_of(structure.rival)] if w != meant]
            yield self._sample(structure, meant, self._rng.choice(rivals), heldout=True)

    def _turns(self, structures: Sequence[Structure], count: int) -> Iterator[Structure]:
        return (structures[index % len(structures)] for index in range(count))

    def _deck(self, word_class: str) -> Iterator[str]:
        """Yield the words of a class endlessly, all of them before any is repeated."""
        # Drawn independently, some words would be the target far more often than others.
        while True:
            words = list(self._fillers[word_class])
            self._rng.shuffle(words)
            yield from words

    def _pair(self, structure: Structure, meant: str, heldout: bool) -> tuple[str, str]:
        rivals = self._fillers[_class_of(structure.rival)]
        # Rejection: one pair in five is held out, so five draws are enough on average.
        while True:
            rival = self._rng.choice(rivals)
            if rival != meant and pair_is_heldout(meant, rival) == heldout:
                return meant, rival

    def _sample(self, structure: Structure, meant: str, rival: str, heldout: bool) -> Sample:
        line, frame = self._frame(structure, heldout)
        filled = frame | {structure.antecedent: meant, structure.rival: rival}
        match = locate(structure, line)
        return Sample(
            words=tuple(filled.get(element.text, element.text) for element in line),
            position=match.position,
            target=meant,
            antecedent=match.antecedent,
            distractors=match.distractors,
            structure=structure.name,
            family=structure.family,
        )

    def _frame(
        self, structure: Structure, heldout: bool
    ) -> tuple[tuple[Element, ...], dict[str, str]]:
        """Draw a variant and the fillers of its free slots, on the wanted side of the split."""
        while True:
            line = self._rng.choice(structure.variants)
            frame = self._fill(structure, line)
            if frame_is_heldout(tuple(frame.values())) == heldout:
                return line, frame

    def _fill(self, structure: Structure, line: Sequence[Element]) -> dict[str, str]:
        frame: dict[str, str] = {}
        for element in line:
            if element.word_class and element.text not in (structure.antecedent, structure.rival):
                frame[element.text] = self._other_than(frame, element.word_class)
        return frame

    def _other_than(self, frame: Mapping[str, str], word_class: str) -> str:
        """Draw a word that is not in the frame yet: two names in a sentence are two people."""
        while (word := self._rng.choice(self._fillers[word_class])) in frame.values():
            pass
        return word


@cache
def _ranks() -> dict[str, int]:
    lists = [words for lang in set(LANGUAGE_OF.values()) for words in _classes(lang)]
    return {word: rank for words in lists for rank, word in enumerate(words)}


def _classes(language: str) -> Iterable[tuple[str, ...]]:
    return word_list(language).by_class.values()


def _class_of(slot: str) -> str:
    return slot.split("_")[0]
