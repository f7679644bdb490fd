"""The sentences that name what their pronoun means, and what may be known at their places."""

import math

import pytest

from owi_core.corpora.naming import (
    AT_END,
    AT_PRONOUN,
    N_NOUNS,
    all_namings,
    known_around,
    known_before,
    naming_words,
    namings,
    opposite,
)


def test_every_sentence_is_listed_once_and_names_one_of_its_nouns() -> None:
    sentences = all_namings()
    assert len({s.words for s in sentences}) == len(sentences) == N_NOUNS * (N_NOUNS - 1) * 12
    for sentence in sentences:
        nouns = [w for w in sentence.words if w in naming_words()[:N_NOUNS]]
        assert len(nouns) == 3
        thing, room = dict.fromkeys(nouns)
        assert sentence.words[sentence.named] == (thing if "太大" in sentence.words else room)
        assert sentence.words[sentence.named - 1] == "（"


def test_training_and_held_out_sentences_share_no_pair_of_nouns() -> None:
    known = naming_words()[:N_NOUNS]
    sides = [
        {frozenset(w for w in s.words if w in known) for s in namings(0, 3000, heldout=heldout)}
        for heldout in (False, True)
    ]
    assert not sides[0] & sides[1]
    assert namings(1, 50, heldout=True) == namings(1, 50, heldout=True)
    assert namings(1, 50, heldout=True) != namings(2, 50, heldout=True)


@pytest.mark.parametrize(("read", "share"), [(AT_PRONOUN, 0.5), (AT_END, 1.0)])
def test_before_the_adjective_half_is_known_and_behind_it_all(read: str, share: float) -> None:
    places = [(s, s.named) for s in namings(0, 60, heldout=True) if s.read == read]
    before, around = known_before(places), known_around(places)
    assert before.accuracy == pytest.approx(share)
    assert before.entropy_nats == pytest.approx(math.log(2) if share < 1 else 0)
    assert around == (1.0, 0.0)


def test_the_bound_counts_the_whole_grammar() -> None:
    # By hand: the first noun of a line is any of all nouns, each equally often.
    place = next((s, 0) for s in all_namings() if s.words[1] == "放不进")
    assert place[0].words[0] in naming_words()[:N_NOUNS]
    firsts = [s.words[0] for s in all_namings()]
    most = max(firsts.count(word) for word in set(firsts))
    assert known_before([place]).accuracy == pytest.approx(most / len(firsts))


def test_the_opposite_has_the_other_adjective_and_the_other_noun() -> None:
    for sentence in namings(0, 20, heldout=True):
        other = opposite(sentence)
        assert other in all_namings()
        assert sum(a != b for a, b in zip(sentence.words, other.words, strict=True)) == 2
        assert opposite(other) == sentence
