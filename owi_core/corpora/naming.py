"""Chinese sentences that say in brackets what their pronoun means, right behind it or at the end.

苹果 放不进 杯子 ， 因为 它 （ 苹果 ） 太大 了: the adjective decides, and comes after the bracket.
苹果 放不进 杯子 ， 因为 它 太大 了 （ 苹果 ）: the same word, when everything has been read.
All sentences can be listed, so what may be known at a place is counted and not estimated.
"""

import math
import random
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from owi_core.corpora.pronoun import pair_is_heldout
from owi_core.corpora.words import word_list

N_NOUNS = 24
PRONOUN = "它"
AT_PRONOUN, AT_END = "pronoun", "end"
# {thing} should go into {room}: 太大 describes the one, 太小 the other.  The thing comes first,
# so that the adjective alone decides: what is compared is who may read it, and when.
_LINES = (
    "{thing} 放不进 {room} ， 因为 它",
    "{thing} 没有 放进 {room} ， 因为 它",
    "想 把 {thing} 放进 {room} ， 可是 它",
)
_SIZES = (("太大", "thing"), ("太小", "room"))


@dataclass(frozen=True)
class Naming:
    """A sentence as words; words[named] says what the pronoun means.

    read: where it is said, behind the pronoun or at the end.  heldout: training never shows this
    pair of nouns.
    """

    words: tuple[str, ...]
    named: int
    read: str
    heldout: bool


class Known(NamedTuple):
    """The best that can be done at a place: share of right guesses, and what is open, in nats."""

    accuracy: float
    entropy_nats: float


@cache
def all_namings() -> tuple[Naming, ...]:
    """Return every sentence of the grammar, each once."""
    return tuple(_sentences())


@cache
def naming_words() -> tuple[str, ...]:
    """Return the vocabulary: the nouns first, then the words of the lines."""
    return tuple(dict.fromkeys([*_nouns(), *(w for s in all_namings() for w in s.words)]))


def namings(seed: int, count: int, *, heldout: bool) -> tuple[Naming, ...]:
    """Draw sentences whose pair of nouns is held out, or is not; both places in turn."""
    rng = random.Random(f"naming {seed} {heldout}")
    # Shuffled and not drawn one by one: the two places and sizes stay equally frequent.
    drawn: list[Naming] = []
    pool = [sentence for sentence in all_namings() if sentence.heldout == heldout]
    while len(drawn) < count:
        rng.shuffle(pool)
        drawn += pool
    return tuple(drawn[:count])


def opposite(sentence: Naming) -> Naming:
    """Return the sentence with the other adjective: it names the other noun."""
    other = dict(zip(("太大", "太小"), ("太小", "太大"), strict=True))
    words = [other.get(word, word) for word in sentence.words]
    (meant,) = {n for n in sentence.words if n in _nouns()} - {sentence.words[sentence.named]}
    words[sentence.named] = meant
    return Naming(tuple(words), sentence.named, sentence.read, sentence.heldout)


def known_before(places: Iterable[tuple[Naming, int]]) -> Known:
    """Return what the words before each place leave open, mean over the places."""
    table = _table(before=True)
    return _mean([table[sentence.words[:place]] for sentence, place in places])


def known_around(places: Iterable[tuple[Naming, int]]) -> Known:
    """Return what all the other words of the sentence leave open, mean over the places."""
    table = _table(before=False)
    return _mean([table[_without(sentence.words, place)] for sentence, place in places])


@cache
def _table(*, before: bool) -> dict[Hashable, Known]:
    """Count over the whole grammar which words may come where the rest is the same."""
    counts: defaultdict[Hashable, Counter[str]] = defaultdict(Counter)
    for sentence in all_namings():
        for place, word in enumerate(sentence.words):
            rest = sentence.words[:place] if before else _without(sentence.words, place)
            counts[rest][word] += 1
    return {rest: _known(words) for rest, words in counts.items()}


def _known(words: Counter[str]) -> Known:

    shares = [n / words.total() for n in words.values()]
    return Known(max(shares), -sum(share * math.log(share) for share in shares))


def _mean(found: Sequence[Known]) -> Known:
    n = len(found)
    return Known(sum(k.accuracy for k in found) / n, sum(k.entropy_nats for k in found) / n)


def _without(words: Sequence[str], place: int) -> tuple[str, ...]:
    return (*words[:place], "", *words[place + 1 :])


def _nouns() -> tuple[str, ...]:
    return word_list("zh").by_class["noun"][:N_NOUNS]


def _sentences() -> Iterator[Naming]:
    for thing in _nouns():
        for room in _nouns():
            if thing != room:
                yield from _of_pair(thing, room)


def _of_pair(thing: str, room: str) -> Iterator[Naming]:
    heldout = pair_is_heldout(thing, room)
    for line in _LINES:
        begun = line.format(thing=thing, room=room).split()
        for size, meant in _SIZES:
            aside = ("（", thing if meant == "thing" else room, "）")
            n = len(begun)
            yield Naming((*begun, *aside, size, "了"), n + 1, AT_PRONOUN, heldout)
            yield Naming((*begun, size, "了", *aside), n + 3, AT_END, heldout)
