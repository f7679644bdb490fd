"""Sentences with three questions each: 它 → thing, 他/她 → person, verb → doer.

One triple of words (giver, receiver, thing) in five is held out of training.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from owi_core.corpora.pronoun import frame_is_heldout
from owi_core.corpora.words import word_list

RELATIONS = ("thing", "person", "doer")
_ENDING = ("，", "[then]", "PRONOUN", "[manner]", "take", "了", "它")
_BEGINNINGS = (
    ("[time]", "A", "把", "N", "VERB", "B"),
    ("[time]", "N", "被", "A", "VERB", "B"),
    ("[time]", "A", "向", "B", "借", "了", "N"),
)


@dataclass(frozen=True)
class RelationSample:
    """A sentence as words, and the three questions.

    asked, meant: the token at which a question is asked and the token that answers it, as indices
    in the order of RELATIONS.
    """

    words: tuple[str, ...]
    asked: tuple[int, int, int]
    meant: tuple[int, int, int]


def relation_samples(seed: int, count: int, *, heldout: bool) -> tuple[RelationSample, ...]:
    """Draw sentences; held-out ones have triples of words that training never shows."""
    rng = random.Random(f"relations {seed} {heldout}")
    return tuple(_sample(rng, index, heldout) for index in range(count))


def _sample(rng: random.Random, index: int, heldout: bool) -> RelationSample:
    a, b, noun = next(t for t in _triples(rng) if frame_is_heldout(t) == heldout)
    lists = word_list().by_class
    meant_person = rng.choice((a, b))
    fillers = {
        "A": a,
        "B": b,
        "N": noun,
        "VERB": rng.choice(lists["give"]),
        "PRONOUN": "他" if meant_person in lists["male"] else "她",
        "take": rng.choice(lists["take"]),
    }
    line = (*_BEGINNINGS[index % len(_BEGINNINGS)], *_ENDING)
    words = tuple(_filled(rng, line, fillers))
    verb = "借" if "借" in line else fillers["VERB"]
    return RelationSample(
        words=words,
        asked=(len(words) - 1, words.index(fillers["PRONOUN"]), words.index(verb)),
        meant=(words.index(noun), words.index(meant_person), words.index(a)),
    )


def _triples(rng: random.Random) -> Iterator[tuple[str, str, str]]:
    """Yield a man and a woman, in either order, and a thing, endlessly."""
    # One of each gender, or 他 or 她 would not decide between the two.
    lists = word_list().by_class
    while True:
        names = [rng.choice(lists["male"]), rng.choice(lists["female"])]
        rng.shuffle(names)
        yield names[0], names[1], rng.choice(lists["noun"])


def _filled(rng: random.Random, line: tuple[str, ...], fillers: dict[str, str]) -> Iterator[str]:
    """Fill the slots; one in brackets is left out half of the time."""
    for element in line:
        if element.startswith("["):
            if rng.random() < 0.5:
                yield rng.choice(word_list().by_class[element[1:-1]])
        else:
            yield fillers.get(element, element)
