"""The three families: what each learns from, what each may read in an exam, and a full training."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from owi_core.corpora.naming import AT_PRONOUN, Naming, namings, opposite
from owi_core.events import Control, Event, Finished, Paused, Started, StepDone
from owi_core.experiments.families import Params, Result, prepare, run, said_late
from owi_core.experiments.families.exams import (
    BOS,
    CAUSAL,
    FAMILIES,
    MASKED,
    PAD,
    SEQ2SEQ,
    Place,
    answers,
    corrupt,
    lessons,
    share_right,
    token_ids,
    tokenizer,
)
from owi_core.experiments.families.results import EXAMS, Scores, best, verdict
from owi_core.training import IGNORED, loss_nats
from tests.experiments.some import some

SMALL = Params(steps=4, batch_size=4, n_train=100, d_model=16)
MASK_ID = tokenizer().vocab_size - 1


def finished(params: Params) -> Result:
    *_, last = run(params)
    assert isinstance(last, Finished)
    return Result.from_dict(last.result)


def of_scores(**shares: tuple[float, float, float, float]) -> Result:
    models = {
        name: some(Scores, **{f"{e}_accuracy": v for e, v in zip(EXAMS, four, strict=True)})
        for name, four in shares.items()
    }
    return some(Result, models=models)


def rng() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def test_twenty_words_with_three_hidden_give_three_terms_of_the_loss() -> None:
    ids = torch.cat([torch.tensor([[BOS]]), torch.arange(3, 23)[None]], dim=1)  # (1, 21)
    hidden = corrupt(ids, mixed=False, rng=rng())
    places = (hidden.targets != IGNORED).nonzero()[:, 1]
    assert len(places) == 3
    assert (hidden.ids[0, places] == MASK_ID).all()
    model = Params(d_model=16).model(MASKED, tokenizer().vocab_size)
    model.requires_grad_(False)
    batch = lessons(MASKED, ids, mixed=False, seed=0).take(torch.tensor([0]))
    logits = model(batch.ids, lengths=batch.lengths).logits[0]
    terms = [F.cross_entropy(logits[p], ids[0, p]) for p in (batch.targets[0] != IGNORED).nonzero()]
    assert len(terms) == 3
    assert float(loss_nats(model, batch)) == pytest.approx(float(sum(terms)) / 3, abs=1e-6)


def test_neither_padding_nor_the_begin_mark_is_ever_hidden() -> None:
    ids = token_ids([s.words for s in namings(0, 300, heldout=False)])
    hidden = corrupt(ids, mixed=True, rng=rng())
    assert (hidden.targets[ids <= BOS] == IGNORED).all()
    assert (hidden.ids[ids <= BOS] == ids[ids <= BOS]).all()
    untouched = hidden.targets == IGNORED
    assert (hidden.ids[untouched] == ids[untouched]).all()


def test_the_mix_is_80_10_10() -> None:
    ids = torch.full((4000, 20), 5)
    hidden = corrupt(ids, mixed=True, rng=rng())
    chosen = hidden.ids[hidden.targets != IGNORED]
    assert len(chosen) == 12_000
    assert float((chosen == MASK_ID).double().mean()) == pytest.approx(0.8, abs=0.02)
    assert float((chosen == 5).double().mean()) == pytest.approx(0.1, abs=0.02)


def test_both_families_that_restore_miss_the_same_words() -> None:
    ids = token_ids([s.words for s in namings(0, 50, heldout=False)])
    masked = lessons(MASKED, ids, mixed=True, seed=3)
    pair = lessons(SEQ2SEQ, ids, mixed=True, seed=3)
    assert pair.source is not None
    for row in range(50):
        missing = masked.targets[row][masked.targets[row] != IGNORED]
        written = pair.targets[row][pair.targets[row] != IGNORED]
        assert written.tolist() == missing.tolist()
        assert pair.ids[row][pair.ids[row] != PAD].tolist() == [BOS, *missing[:-1].tolist()]
        assert int((pair.source[row] == MASK_ID).sum()) == len(missing)


@pytest.mark.parametrize("family", FAMILIES)
def test_only_the_causal_model_is_blind_to_the_words_behind_a_gap(family: str) -> None:
    model = Params(d_model=16).model(family, tokenizer().vocab_size)
    sentence = next(s for s in namings(0, 10, heldout=True) if s.read == AT_PRONOUN)
    other = replace(opposite(sentence), named=sentence.named)
    asked = [Place(s, sentence.named) for s in (sentence, other)]
    after = answers(family, model, asked, after=True)
    assert torch.equal(after[0], after[1]) == (family == CAUSAL)
    before = answers(family, model, asked, after=False)
    torch.testing.assert_close(before[0], before[1])


def test_a_share_counts_right_words() -> None:
    places = [Place(s, s.named) for s in namings(0, 4, heldout=True)]
    logits = torch.zeros(4, tokenizer().vocab_size)
    for row, place in enumerate(places[:3]):
        logits[row, tokenizer().encode_words([place.word]).ids[0]] = 1.0
    assert share_right(logits, places) == 0.75


def test_models_are_about_equally_large() -> None:
    sizes = [Params().model(name, tokenizer().vocab_size).n_params for name in FAMILIES]
    assert sizes[0] == sizes[1]
    assert sizes[2] == pytest.approx(sizes[0], rel=0.2)


def test_a_run_has_every_key_of_the_table() -> None:
    events = list(run(SMALL))
    assert isinstance(events[0], Started)
    last = events[-1]
    assert isinstance(last, Finished)
    assert set(last.result["models"]) == {"masked", "causal", "seq2seq"}
    for scores in last.result["models"].values():
        assert {f"{exam}_accuracy" for exam in EXAMS} <= set(scores)
    assert set(last.result["bounds"]) == set(EXAMS)
    assert last.verdict["code"] == "not_learned"
    result = Result.from_dict(last.result)
    look = result.looks["pronoun"][CAUSAL]
    assert look.row is not None
    assert look.keys[look.row] == "（"
    assert all(w == 0 for i, row in enumerate(look.pattern) for w in row[i + 1 :])
    assert result.looks["end"][SEQ2SEQ].keys.count("[MASK]") == 1


def test_a_paused_run_goes_on_to_the_same_end(tmp_path: Path) -> None:
    whole = finished(SMALL)
    control, seen = Control(), list[Event]()
    for event in run(SMALL, tmp_path, control):
        seen.append(event)
        if isinstance(event, StepDone) and event.step == 2:
            control.request = "pause"
    assert isinstance(seen[-1], Paused)
    *_, last = run(SMALL, tmp_path, resume=True)
    assert isinstance(last, Finished)
    for name, scores in Result.from_dict(last.result).models.items():
        assert replace(scores, train_seconds=0) == replace(whole.models[name], train_seconds=0)


def test_the_bracket_moves_to_the_end() -> None:
    for sentence in namings(0, 10, heldout=True):
        if sentence.read == AT_PRONOUN:
            late = said_late(sentence)
            assert isinstance(late, Naming)
            assert late in namings(0, 1400, heldout=True)
            assert late.words[late.named] == sentence.words[sentence.named]


@pytest.mark.parametrize(
    ("causal", "masked", "code"),
    [
        ((0.8, 0.8, 0.5, 1.0), (0.5, 0.9, 1.0, 1.0), "read_at_end"),
        ((0.8, 0.8, 0.9, 1.0), (0.5, 0.9, 1.0, 1.0), "causal_knew"),
        ((0.8, 0.8, 0.5, 0.9), (0.5, 0.9, 1.0, 1.0), "not_learned"),
        ((0.8, 0.8, 0.5, 1.0), (0.5, 0.9, 0.9, 1.0), "not_learned"),
    ],
)
def test_the_verdict_is_chosen_by_the_numbers(
    causal: tuple[float, float, float, float], masked: tuple[float, float, float, float], code: str
) -> None:
    assert verdict(of_scores(causal=causal, masked=masked)).code == code


def test_the_best_families_are_those_within_two_points() -> None:
    result = of_scores(
        causal=(0.8, 0.5, 0.5, 1.0), masked=(0.5, 0.9, 1.0, 1.0), seq2seq=(0.79, 0.85, 0.99, 1.0)
    )
    assert [best(result, exam) for exam in EXAMS] == [
        ["causal", "seq2seq"], ["masked"], ["masked", "seq2seq"], ["masked", "causal", "seq2seq"]
    ]  # fmt: skip


def test_the_exams_ask_in_the_middle_and_never_for_the_first_word() -> None:
    prepared = prepare(SMALL)
    for exam, places in prepared.exams.items():
        for place in places:
            assert 0 < place.at < len(place.sentence.words)
            if exam == "gap":
                assert place.at < len(place.sentence.words) - 1
    for exam in ("at_pronoun", "at_end"):
        sentences = [place.sentence for place in prepared.exams[exam]]
        # Each beginning occurs with both adjectives, so a guess is right in at most one half.
        assert [opposite(s) for s in sentences[::2]] == sentences[1::2]
