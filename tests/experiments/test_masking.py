"""The mask lab: two models in lock step, the leak between positions, wrong masks, their checks."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from owi_core import masks, training
from owi_core.checkpoints import load, shipped
from owi_core.errors import RunError, TextError
from owi_core.events import (
    Control,
    Diverged,
    Evaluated,
    Event,
    Finished,
    Paused,
    Started,
    StepDone,
    Stopped,
)
from owi_core.experiments import masking
from owi_core.experiments.faults import masks as wrong_masks
from owi_core.experiments.masking import Params
from owi_core.probes import leakage
from owi_core.training import windows
from tests.tiny import character_bundle, refused, rng, some_ids, tiny_config, tiny_model

SMALL: dict[str, Any] = {"steps": 9, "window": 8, "batch_size": 3, "n_layer": 2, "d_model": 8}
KEYS = {
    "train_loss_nats", "prefix_only_loss_nats", "next_token_accuracy", "repeated_share", "sample",
    "leak_max", "future_change_max",
}  # fmt: skip
TRAINABLE = sorted(set(masking.FAULTS) - {"self_hidden"})
T = 7


def small(**changes: Any) -> Params:
    return Params(**(SMALL | changes))


def events_of(params: Params, *rest: Any) -> list[Event]:
    return list(masking.run(params, *rest))


def result_of(events: list[Event]) -> dict[str, dict[str, Any]]:
    assert isinstance(events[-1], Finished), events[-1]
    no_clock = {"train_seconds"}
    return {
        side: {k: v for k, v in part.items() if k not in no_clock}
        for side, part in events[-1].result.items()
    }


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Event], Path]:
    folder = tmp_path_factory.mktemp("masking")
    return events_of(small(), folder), folder


def test_a_run_tells_of_both_models_in_one_stream(finished: tuple[list[Event], Path]) -> None:
    events, _ = finished
    assert isinstance(events[0], Started)
    assert [e.step for e in events if isinstance(e, StepDone)] == list(range(1, 10))
    told = [set(e.metrics) for e in events if isinstance(e, Evaluated)]
    for side in ("causal", "unmasked"):
        assert any(f"{side}.train_loss_nats" in names for names in told)
        assert {f"{side}.prefix_only_loss_nats", f"{side}.next_token_accuracy"} <= told[0]
    assert "floor_nats" in told[0]


def test_the_result_has_what_a_lesson_needs_of_each(finished: tuple[list[Event], Path]) -> None:
    result = result_of(finished[0])
    assert list(result) == ["causal", "unmasked"]
    assert all(set(part) >= KEYS for part in result.values())


def test_the_causal_model_cannot_move_and_the_other_can(
    finished: tuple[list[Event], Path],
) -> None:
    result = result_of(finished[0])
    assert result["causal"]["leak_max"] == 0.0
    assert result["unmasked"]["leak_max"] > 0
    assert all(part["future_change_max"] > 0 for part in result.values())


def test_for_the_causal_model_the_honest_loss_is_its_ordinary_one(
    finished: tuple[list[Event], Path],
) -> None:
    part = result_of(finished[0])["causal"]
    assert part["prefix_only_loss_nats"] == pytest.approx(part["evaluation_loss_nats"], abs=1e-5)


def test_both_start_from_the_same_weights_and_see_the_same_batches() -> None:
    a, b = masking.prepare(small()).sides
    for one, other in zip(a.bundle.model.parameters(), b.bundle.model.parameters(), strict=True):
        assert torch.equal(one, other)
    assert a.trainer.data is b.trainer.data
    assert a.trainer.config == b.trainer.config
    assert (a.bundle.model.config.mask, b.bundle.model.config.mask) == ("causal", "bidirectional")


def test_a_run_leaves_both_models(finished: tuple[list[Event], Path]) -> None:
    folder = finished[1]
    ids = torch.tensor(load(folder).tokenizer.encode("山下有一条小河").ids)
    assert leakage.leak_max(leakage.change_matrix(load(folder).model, ids)) == 0.0
    other = load(folder / "unmasked").model
    leak = leakage.leak_max(leakage.change_matrix(other, ids))
    assert leak > 0


def asked(params: Params, folder: Path, request: Any, at: int, resume: bool = False) -> list[Event]:
    control, events = Control(), []
    for event in masking.run(params, folder, control, resume):
        events.append(event)
        if isinstance(event, StepDone) and event.step == at:
            control.request = request
    return events


def test_a_paused_run_goes_on_as_if_it_had_not_been(
    finished: tuple[list[Event], Path], tmp_path: Path
) -> None:
    first = asked(small(), tmp_path, "pause", 4)
    assert first[-1] == Paused(4)
    rest = list(masking.run(small(), tmp_path, None, True))
    assert [e.step for e in rest if isinstance(e, StepDone)] == [5, 6, 7, 8, 9]
    assert result_of(rest) == result_of(finished[0])


def test_a_stop_ends_both_and_leaves_both(tmp_path: Path) -> None:
    assert asked(small(), tmp_path, "stop", 3)[-1] == Stopped(3)
    assert {p.name for p in tmp_path.iterdir()} == {"model.safetensors", "unmasked"}
    load(tmp_path / "unmasked")


def test_a_wish_before_the_first_step_is_heard(tmp_path: Path) -> None:
    assert list(masking.run(small(), tmp_path, Control("stop")))[-1] == Stopped(0)
    assert list(masking.run(small(), tmp_path, Control("pause")))[-1] == Paused(0)


def test_resuming_without_a_state_is_refused(tmp_path: Path) -> None:
    with refused("state_unreadable", RunError):
        list(masking.run(small(), tmp_path, None, True))


def test_one_that_diverges_ends_both(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = training.loss_nats
    monkeypatch.setattr(training, "loss_nats", lambda *args: honest(*args) * math.inf)
    events = events_of(small())
    assert isinstance(events[-1], Diverged)
    assert not [e for e in events if isinstance(e, StepDone)]


# Texts, prompts and sentences of one's own


def test_a_text_shorter_than_the_window_is_learned_with_a_shorter_one() -> None:
    result = result_of(events_of(small(own_text="abcdefghijklmnopqrstu", window=64)))
    assert result["causal"]["leak_max"] == 0.0


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"own_text": "山"}, "text_too_short"),
        ({"own_text": "天" * 50}, "vocabulary_of_one"),
        ({"prompt": "Ω≈"}, "unknown_characters"),
        ({"sentence": "山Ω"}, "unknown_characters"),
        ({"sentence": "山"}, "sentence_of_one_token"),
        ({"sentence": "山" * 25}, "text_over_block"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_words(changes: dict[str, Any], code: str) -> None:
    with refused(code, TextError):
        events_of(small(**changes))


def test_one_character_repeated_in_a_sentence_is_measured_place_by_place() -> None:
    result = result_of(events_of(small(sentence="天天天天", prompt="天")))
    for part in result.values():
        assert len(part["changes"]) == len(part["gradients"]) == 4
    assert result["causal"]["leak_max"] == 0.0
    assert result["unmasked"]["leak_max"] > 0


@pytest.mark.parametrize(("ids", "share"), [((1, 1, 1), 1.0), ((1, 2, 2, 3), 1 / 3), ((1,), 0.0)])
def test_repeated_share_counts_a_token_like_the_one_before(
    ids: tuple[int, ...], share: float
) -> None:
    assert masking.repeated_share(ids) == pytest.approx(share)


def test_typed_words_do_not_travel_with_the_model() -> None:
    for side in masking.prepare(small(own_text="我的日记" * 9, sentence="我的日记")).sides:
        assert "日记" not in str(side.bundle.note)
        assert side.bundle.note["command"] == ""


# The matrices


def test_causal_changes_lie_on_and_below_the_diagonal_only() -> None:
    changes = leakage.change_matrix(tiny_model(), some_ids(T))
    assert leakage.leak_max(changes) == 0.0
    assert bool((changes.tril() > 0).sum() == T * (T + 1) // 2)


def test_bidirectional_changes_are_everywhere() -> None:
    changes = leakage.change_matrix(tiny_model(mask="bidirectional"), some_ids(T))
    assert leakage.leak_max(changes) > 0
    assert leakage.future_change_max(changes) > 0


def test_a_change_is_what_two_runs_by_hand_differ_by() -> None:
    model, ids = tiny_model(mask="bidirectional"), some_ids(T)
    V, s, t = model.config.vocab_size, 4, 2
    most = 0.0
    for k in (1, 1 + (V - 2) // 2, V - 1):
        other = ids.clone()
        other[s] = (ids[s] + k) % V
        moved = model(other[None]).logits[0, t] - model(ids[None]).logits[0, t]
        most = max(most, float(moved.detach().abs().max()))
    assert float(leakage.change_matrix(model, ids)[t, s]) == pytest.approx(most, rel=1e-4)


def test_gradients_agree_with_finite_differences() -> None:
    model = tiny_model(mask="bidirectional", tie_weights=False, positions="learned").double()
    ids = torch.arange(5)
    found = leakage.gradient_matrix(model, ids)
    table, h = model.embedding.weight.data, 1e-5
    t, s = 1, 3
    square = 0.0
    for d in range(table.shape[1]):
        sides = []
        for sign in (1, -1):
            table[s, d] += sign * h
            sides.append(model(ids[None]).logits[0, t].detach().clone())
            table[s, d] -= sign * h
        square += float(((sides[0] - sides[1]) / (2 * h)).square().sum())
    assert float(found[t, s]) == pytest.approx(math.sqrt(square), rel=1e-4)


def test_gradients_of_a_causal_model_are_exactly_zero_above_the_diagonal() -> None:
    gradients = leakage.gradient_matrix(tiny_model(), some_ids(T))
    assert leakage.leak_max(gradients) == 0.0
    assert leakage.future_change_max(gradients) > 0


def test_equal_tokens_have_gradients_of_their_own() -> None:
    gradients = leakage.gradient_matrix(tiny_model(), torch.full((4,), 3))
    assert leakage.leak_max(gradients) == 0.0


def test_prefix_only_counts_right_tokens_and_its_loss_is_the_old_one() -> None:
    model, data = tiny_model(), windows(some_ids(40), 9)
    honest = leakage.prefix_only(model, data)
    assert honest.loss_nats == leakage.prefix_only_loss_nats(model, data)
    assert honest.loss_nats == pytest.approx(leakage.evaluation_loss_nats(model, data), abs=1e-5)
    logits = model(data.ids).logits
    share = (logits.argmax(-1) == data.targets).double().mean()
    assert honest.accuracy == pytest.approx(float(share))


# Wrong masks


def wrong(fault: str, **changes: Any) -> Any:
    return wrong_masks.make(tiny_config(**changes), rng(), fault).eval()


def failed(model: Any) -> set[str]:
    return {c.code for c in wrong_masks.mask_checks(model, some_ids(T)) if not c.passed}


def test_the_right_mask_passes_every_check() -> None:
    checks = wrong_masks.mask_checks(tiny_model(), some_ids(T))
    assert len(checks) == 6
    assert all(check.passed for check in checks)


@pytest.mark.parametrize("fault", masking.FAULTS)
def test_the_named_check_catches_the_wrong_mask(fault: str) -> None:
    assert wrong_masks.CAUGHT_BY[fault] in failed(wrong(fault))


def test_zeroing_after_the_softmax_leaves_short_rows_and_a_leak_in_the_denominator() -> None:
    assert failed(wrong("zeroed_after_softmax")) == {"rows_sum_to_one", "past_does_not_move"}


def test_one_ahead_leaks_one_step_per_layer_and_no_further() -> None:
    changes = leakage.change_matrix(wrong("one_ahead"), some_ids(T))
    assert float(changes.triu(1).tril(2).max()) > 0
    assert float(changes.triu(3).max()) == 0.0


def test_transposed_sees_the_future_and_not_the_past() -> None:
    changes = leakage.change_matrix(wrong("transposed"), some_ids(T))
    assert leakage.leak_max(changes) > 0
    assert leakage.future_change_max(changes) == 0.0


def test_a_mask_along_the_batch_shows_in_a_batch_and_not_in_one_sentence() -> None:
    model = wrong("wrong_axis")
    used = wrong_masks.wrong_mask("wrong_axis", model.config, T, T)
    assert torch.equal(used[0, :, 0, 0], masks.causal(T))
    assert {"past_is_visible", "forbidden_is_zero", "past_does_not_move"} <= failed(model)


def test_a_hidden_self_is_an_error_and_never_a_nan() -> None:
    model = wrong("self_hidden")
    with pytest.raises(ValueError, match="nowhere"):
        model(some_ids(1, T))
    (check,) = wrong_masks.mask_checks(model, some_ids(T))
    assert (check.code, check.passed, check.value) == ("every_row_can_look", False, 1.0)
    with refused("mask_blind_row", RunError, row=1):
        events_of(small(against="self_hidden"))


def test_attended_padding_moves_the_sentence_and_masked_padding_does_not() -> None:
    right = tiny_model(mask="bidirectional")
    attended = wrong_masks.wrapped(right, "padding_attended")
    assert wrong_masks.pads_check(right, some_ids(T), 8).passed
    caught = wrong_masks.pads_check(attended, some_ids(T), 8)
    assert (caught.code, caught.passed) == (wrong_masks.CAUGHT_BY["padding_attended"], False)


def test_a_causal_model_is_not_moved_by_pads_behind_it_even_unmasked() -> None:
    attended = wrong_masks.wrapped(tiny_model(), "padding_attended")
    assert wrong_masks.pads_check(attended, some_ids(T), 8).passed


@pytest.mark.parametrize("fault", TRAINABLE)
def test_a_wrong_mask_can_be_trained_and_read_back(fault: str, tmp_path: Path) -> None:
    result = result_of(events_of(small(against=fault), tmp_path))
    assert list(result) == ["causal", fault]
    caught = {c["code"] for c in result[fault]["checks"] if not c["passed"]}
    assert wrong_masks.CAUGHT_BY[fault] in caught
    assert all(c["passed"] for c in result["causal"]["checks"])
    ids = torch.tensor(load(tmp_path).tokenizer.encode("山下有一条小").ids)
    again = wrong_masks.wrapped(load(tmp_path / fault).model, fault)
    assert wrong_masks.CAUGHT_BY[fault] in {
        c.code for c in wrong_masks.mask_checks(again, ids) if not c.passed
    }


@pytest.mark.parametrize("n_pads", [8, 32])
def test_pads_behind_a_shipped_sentence_change_nothing_when_masked(n_pads: int) -> None:
    bundle = shipped("fit_bidirectional")
    encoding = bundle.tokenizer.encode("苹果放不进杯子，因为它太大了")
    query = encoding.labels.index("它")
    alone = wrong_masks.padded(bundle, encoding, query, 0, masked=True)
    beside = wrong_masks.padded(bundle, encoding, query, n_pads, masked=True)
    attended = wrong_masks.padded(bundle, encoding, query, n_pads, masked=False)
    assert (beside.word, beside.pad_mass) == (alone.word, 0.0)
    assert beside.probability == pytest.approx(alone.probability, abs=1e-5)
    assert attended.pad_mass > 0
    assert sum(attended.row) == pytest.approx(1, abs=1e-5)
    assert len(attended.row) == len(encoding.ids) + n_pads


def test_the_padding_mask_shuts_whole_columns() -> None:
    bundle = shipped("fit_bidirectional")
    encoding = bundle.tokenizer.encode("苹果放不进杯子，因为它太大了")
    n = len(encoding.ids)
    seen = wrong_masks.see_padded(bundle, encoding, 3)
    assert seen.mask.shape == seen.pattern.shape == (n + 3, n + 3)
    assert seen.mask[:, :n].all()
    assert not seen.mask[:, n:].any()
    assert (seen.pattern[:, n:] == 0).all()
    assert seen.labels[n:] == ("<PAD>",) * 3


@pytest.mark.parametrize("fault", ["", *TRAINABLE])
def test_what_is_seen_is_the_mask_in_use_with_its_weights(fault: str) -> None:
    bundle = character_bundle()
    encoding = bundle.tokenizer.encode("attent")
    seen = wrong_masks.see(wrong_masks.wrapped(bundle.model, fault), encoding)
    assert (seen.pattern[~seen.mask] == 0).all()
    sums = seen.pattern.sum(-1)
    assert (abs(sums - 1).max() < 1e-5) == (fault != "zeroed_after_softmax")
    assert seen.struck == (fault == "zeroed_after_softmax")
    assert (seen.mask == masks.causal(6).numpy()).all() == (fault in ("", "zeroed_after_softmax"))


def test_wrapping_changes_no_weight() -> None:
    model = tiny_model()
    other = wrong_masks.wrapped(model, "zeroed_after_softmax")
    for one, two in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(one, two)
    assert wrong_masks.wrapped(model, "") is model


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_default_run_shows_that_peeking_is_useless(seed: int) -> None:
    result = result_of(events_of(Params(seed=seed)))
    causal, other = result["causal"], result["unmasked"]
    assert causal["prefix_only_loss_nats"] <= 0.4
    assert causal["next_token_accuracy"] >= 0.85
    assert other["train_loss_nats"] < causal["train_loss_nats"]
    assert other["prefix_only_loss_nats"] >= causal["prefix_only_loss_nats"] + 3
    assert other["next_token_accuracy"] <= 0.3
    assert causal["leak_max"] == 0.0
    assert other["leak_max"] > 1
    assert causal["future_change_max"] > 0
    assert other["future_change_max"] > 0
    assert causal["prefix_only_loss_nats"] == pytest.approx(
        causal["evaluation_loss_nats"], abs=1e-5
    )
