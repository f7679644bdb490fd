"""The generated sentences: what they mean, what training never shows, and that they repeat."""

from collections import Counter
from functools import cache

import pytest

from owi_core.corpora import (
    FAMILIES,
    LANGUAGE_OF,
    PRONOUNS,
    PronounCorpus,
    Sample,
    pronoun_corpus,
    word_list,
)
from owi_core.corpora.pronoun import frame_is_heldout

# The classes whose words a pronoun may mean; two in a sentence differ, or are two of one class.
MEANT = dict.fromkeys(FAMILIES, ("noun",)) | {
    "person": ("male", "female"),
    "street": ("mover", "way"),
}
OPEN = ("noun", "mover", "way")


@cache
def corpus_of(family: str, seed: int = 0) -> PronounCorpus:
    return pronoun_corpus(family, seed)


def pair(sample: Sample) -> frozenset[str]:
    return frozenset((sample.target, *(sample.words[i] for i in sample.distractors)))


def frame(sample: Sample) -> tuple[str, ...]:
    """Everything but the pair, as a reader sees it: the sentence with two gaps."""
    gaps = {sample.antecedent, *sample.distractors}
    return tuple("_" if i in gaps else word for i, word in enumerate(sample.words))


def everything(corpus: PronounCorpus) -> list[Sample]:
    return [*corpus.train, *corpus.heldout, *corpus.heldout_structure, *corpus.unseen]


@pytest.mark.parametrize("family", FAMILIES)
def test_target_is_the_word_at_the_antecedent_and_differs_from_its_rival(family: str) -> None:
    for sample in everything(corpus_of(family)):
        assert sample.words[sample.position] in PRONOUNS
        assert sample.words[sample.antecedent] == sample.target
        assert sample.target not in {sample.words[i] for i in sample.distractors}
        assert sample.family == family


@pytest.mark.parametrize("family", FAMILIES)
def test_same_seed_gives_the_same_corpus_and_another_seed_another(family: str) -> None:
    assert pronoun_corpus(family, 7, 80, 20) == pronoun_corpus(family, 7, 80, 20)
    assert pronoun_corpus(family, 7, 80, 20) != pronoun_corpus(family, 8, 80, 20)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_heldout_pair_occurs_in_training_in_either_order(family: str) -> None:
    corpus = corpus_of(family)
    # Another seed's held-out part too: the split must not depend on the seed.
    for other in (corpus, corpus_of(family, 1)):
        strange = [*other.heldout, *other.heldout_structure, *other.unseen]
        assert not {pair(s) for s in corpus.train} & {pair(s) for s in strange}


@pytest.mark.parametrize("family", FAMILIES)
def test_no_heldout_frame_occurs_in_training(family: str) -> None:
    corpus = corpus_of(family)
    for other in (corpus, corpus_of(family, 1)):
        strange = [*other.heldout, *other.heldout_structure, *other.unseen]
        assert not {frame(s) for s in corpus.train} & {frame(s) for s in strange}


def test_about_one_frame_in_five_is_held_out() -> None:
    names = word_list().by_class["male"]
    places = word_list().by_class["place"]
    takes = word_list().by_class["take"]
    frames = [(a, p, b, t) for a in names for b in names for p in places for t in takes]
    assert 0.18 < sum(map(frame_is_heldout, frames)) / len(frames) < 0.22


@pytest.mark.parametrize("family", FAMILIES)
def test_heldout_structures_never_occur_in_training(family: str) -> None:
    corpus = corpus_of(family)
    trained = {sample.structure for sample in corpus.train}
    assert trained == {sample.structure for sample in corpus.heldout}
    assert not trained & {sample.structure for sample in corpus.heldout_structure}
    # Their words all do: what is strange is the order alone.
    words = {word for sample in corpus.train for word in sample.words}
    assert {word for sample in corpus.heldout_structure for word in sample.words} <= words


@pytest.mark.parametrize("family", FAMILIES)
def test_neither_noun_is_always_meant_where_a_structure_was_held_out(family: str) -> None:
    first = [s.antecedent < s.distractors[0] for s in corpus_of(family).heldout_structure]
    assert 0.4 <= sum(first) / len(first) <= 0.6


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("family", FAMILIES)
def test_training_shows_every_noun_and_asks_for_every_possible_answer(
    family: str, seed: int
) -> None:
    corpus = corpus_of(family, seed)
    by_class = word_list(LANGUAGE_OF[family]).by_class
    shown = {word for sample in corpus.train for word in sample.words}
    assert {w for name in by_class for w in by_class[name] if name in OPEN} <= shown
    answers = Counter(sample.target for sample in corpus.train)
    assert set(answers) == {word for name in MEANT[family] for word in by_class[name]}
    for name in MEANT[family]:
        counts = [answers[word] for word in by_class[name]]
        assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize("family", FAMILIES)
def test_unseen_words_are_outside_the_vocabulary_and_never_in_training(family: str) -> None:
    corpus = corpus_of(family)
    assert not {sample.target for sample in corpus.unseen} & set(corpus.words)
    for sample in (*corpus.train, *corpus.heldout, *corpus.heldout_structure):
        assert set(sample.words) <= set(corpus.words)
    rivals_outside = [not pair(s) & set(corpus.words) for s in corpus.unseen]
    share = sum(rivals_outside) / len(rivals_outside)
    assert share == 0 if family == "person" else 0.45 < share < 0.55


def test_neither_the_first_noun_nor_any_fixed_position_is_the_answer_of_swap() -> None:
    train = corpus_of("swap").train
    first = sum(s.antecedent < s.distractors[0] for s in train) / len(train)
    assert 0.45 < first < 0.55
    places = Counter(s.antecedent for s in train)
    from_the_end = Counter(len(s.words) - s.antecedent for s in train)
    assert max(*places.values(), *from_the_end.values()) / len(train) < 0.4


@pytest.mark.parametrize("family", ["verb", "fit", "person", "street"])
def test_either_noun_is_the_answer_equally_often(family: str) -> None:
    train = corpus_of(family).train
    first = sum(s.antecedent < s.distractors[0] for s in train) / len(train)
    assert 0.45 < first < 0.55


@pytest.mark.parametrize(
    ("family", "kinds"), [("fit", ("large", "small")), ("street", ("weary", "hard"))]
)
def test_the_adjective_that_decides_comes_after_the_pronoun(
    family: str, kinds: tuple[str, str]
) -> None:
    by_class = word_list(LANGUAGE_OF[family]).by_class
    adjectives = {word for kind in kinds for word in by_class[kind]}
    for sample in corpus_of(family).train:
        assert not adjectives & set(sample.words[: sample.position])
        assert adjectives & set(sample.words[sample.position :])


def test_neither_animal_nor_adjective_says_which_noun_comes_first_in_english() -> None:
    classes, train = corpus_of("street").classes, corpus_of("street").train
    for meant in ("mover", "way"):
        of_class = [s for s in train if classes[s.target] == meant]
        first = sum(s.antecedent < s.distractors[0] for s in of_class) / len(of_class)
        assert 0.45 < first < 0.55
    places = Counter(s.antecedent for s in train)
    assert max(places.values()) / len(train) < 0.3


def test_every_person_sentence_has_one_man_and_one_woman() -> None:
    for sample in corpus_of("person").train:
        genders = [corpus_of("person").classes[word] for word in sample.words]
        assert genders.count("male") == genders.count("female") == 1
        meant = "male" if sample.words[sample.position] == "他" else "female"
        assert genders[sample.antecedent] == meant


def test_word_classes_are_disjoint_and_large_enough() -> None:
    for language in set(LANGUAGE_OF.values()):
        lists = word_list(language)
        assert len(set(lists.words)) == len(lists.words)
        outside = {word for words in lists.unseen.values() for word in words}
        assert not set(lists.words) & outside
    lists = word_list()
    assert 400 <= len(lists.by_class["noun"]) <= 460
    assert min(len(lists.by_class["male"]), len(lists.by_class["female"])) >= 12
    assert len(lists.unseen["noun"]) >= 30
