"""Relations: sentences that ask three things, and heads taken out one by one."""

from typing import Any

import numpy as np
import pytest
import torch

from owi_core.corpora.relations import RELATIONS, RelationSample, relation_samples
from owi_core.corpora.words import word_list
from owi_core.events import Finished
from owi_core.experiments import relations
from tests.experiments.some import some
from tests.tiny import global_generator_untouched

SMALL: dict[str, Any] = {"d_model": 16, "n_head": 2, "d_mlp": 8, "steps": 3, "n_train": 100}


def triple(sample: RelationSample) -> tuple[str, str, str]:
    """Giver, receiver, thing."""
    names = [w for w in sample.words if word_list().classes.get(w) in ("male", "female")]
    giver = sample.words[sample.meant[2]]
    other = next(name for name in names if name != giver)
    return giver, other, sample.words[sample.meant[0]]


def test_each_question_means_the_word_that_a_reader_would_name() -> None:
    classes = word_list().classes
    for sample in relation_samples(0, 300, heldout=False):
        asked = [sample.words[i] for i in sample.asked]
        meant = [sample.words[i] for i in sample.meant]
        assert asked[0] == "它"
        assert classes[meant[0]] == "noun"
        assert classes[meant[1]] == {"他": "male", "她": "female"}[asked[1]]
        assert asked[2] == "借" or classes[asked[2]] == "give"
        assert all(m < a for m, a in zip(sample.meant, sample.asked, strict=True))


def test_the_doer_is_not_always_the_nearest_person_nor_the_one_that_the_pronoun_means() -> None:
    samples = relation_samples(0, 300, heldout=False)
    assert {s.meant[1] == s.meant[2] for s in samples} == {True, False}
    persons = ("male", "female")
    between = [
        [w for w in s.words[s.meant[2] + 1 : s.asked[2]] if word_list().classes.get(w) in persons]
        for s in samples
    ]
    assert {len(words) for words in between} == {0, 1}


def test_training_shows_no_triple_that_is_held_out() -> None:
    train = {triple(s) for s in relation_samples(0, 2000, heldout=False)}
    heldout = {triple(s) for s in relation_samples(0, 300, heldout=True)}
    assert not train & heldout


def test_same_seed_gives_the_same_run() -> None:
    params = relations.Params(**SMALL)
    with global_generator_untouched():
        first, second = (list(relations.run(params))[-1] for _ in range(2))
    assert isinstance(first, Finished)
    assert isinstance(second, Finished)
    assert first.result["knock_out_nats"] == second.result["knock_out_nats"]
    assert np.array(first.result["knock_out_nats"]).shape == (len(RELATIONS), 2)


def test_a_head_taken_out_writes_nothing_and_the_model_itself_stays() -> None:
    bundle, _, _ = relations.prepare(relations.Params(**SMALL))
    samples = relation_samples(0, 5, heldout=True)
    data = relations.encode(samples, bundle.tokenizer)  # type: ignore[arg-type]
    before = [p.clone() for p in bundle.model.parameters()]
    cut = relations.without_head(bundle, 1)
    z = cut.model(data.ids, explicit=True).z
    assert z is not None
    shares = cut.model.blocks[0].attention.head_shares(z[0])  # (B, H, T, d_model)
    assert not shares[:, 1].any()
    assert shares[:, 0].any()
    after = list(bundle.model.parameters())
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize(
    ("changes", "how"),
    [
        ([-5.0, -0.1, 0.0], "alone"),
        ([-5.0, -4.0, 0.0], "shared"),
        ([-0.3, -0.2, 0.1], "spare"),
        ([-5.0], "alone"),
    ],
)
def test_what_is_said_of_a_relation_follows_its_numbers(changes: list[float], how: str) -> None:
    assert relations.carried(np.array(changes)) == how


@pytest.mark.parametrize(
    ("accuracy", "nats", "code"),
    [
        (0.5, [[-5.0, 0.0]] * 3, "not_all_learned"),
        (1.0, [[-5.0]] * 3, "one_head_for_all"),
        (1.0, [[-5.0, 0, 0], [0, -5.0, 0], [0, 0, -5.0]], "divided"),
        (1.0, [[-5.0, 0, 0], [-5.0, 0, 0], [0, 0, -5.0]], "overlapping"),
    ],
)
def test_verdict_follows_the_table(accuracy: float, nats: list[list[float]], code: str) -> None:
    result = some(
        relations.Result,
        accuracy=dict.fromkeys(RELATIONS, accuracy),
        knock_out_nats=nats,
        carried=[relations.carried(np.array(row)) for row in nats],
    )
    verdict = relations.verdict(result)
    assert verdict.code == code
    assert verdict.passed == (accuracy == 1.0)


@pytest.mark.slow
def test_four_heads_learn_all_three_relations() -> None:
    last = list(relations.run(relations.Params()))[-1]
    assert isinstance(last, Finished)
    assert min(last.result["accuracy"].values()) >= relations.GOOD_ACCURACY
