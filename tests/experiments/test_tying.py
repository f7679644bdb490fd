"""Shared weights: what keeps the tie, what an edit moves, one gradient from two places."""

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from owi_core.checkpoints import from_bytes, load, shipped, to_bytes
from owi_core.errors import OwiError, SettingError
from owi_core.events import Control, Evaluated, Event, Finished, Paused, Started, StepDone, Stopped
from owi_core.experiments import pronoun, tying
from owi_core.experiments._kit.results import Verdict
from owi_core.experiments.faults import ties
from owi_core.experiments.tying import Params
from owi_core.probes.storage import tied_storage, untie
from owi_core.probes.tie_gradient import tied_gradient
from owi_core.probes.tie_proof import tie_cases
from owi_core.probes.tie_size import READY, counted, matrix_size
from owi_core.probes.tie_touch import (
    Cell,
    Edit,
    final_state,
    near_state,
    near_word,
    strongest_edit,
    touch,
)
from owi_core.readings import read
from tests.experiments.some import some
from tests.tiny import refused, sentences_of, word_bundle

SMALL: dict[str, Any] = {"steps": 4, "d_model": 8, "n_train": 100, "batch_size": 4}
BUNDLE = word_bundle()
IDS = BUNDLE.tokenizer.encode("小明把苹果放在桌子上，小红拿走了它").ids
QUERY = len(IDS) - 1
ABSENT, PRESENT = BUNDLE.tokenizer.encode("杯子").ids[0], IDS[2]


def small(**changes: Any) -> Params:
    return Params(**(SMALL | changes))


def result_of(events: list[Event]) -> dict[str, Any]:
    assert isinstance(events[-1], Finished), events[-1]
    return events[-1].result


def without_clock(result: dict[str, Any]) -> dict[str, Any]:
    sides = {n: {k: v for k, v in result[n].items() if k != "train_seconds"}
             for n in tying.SIDES[result["question"]]}  # fmt: skip
    return result | sides


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Event], Path]:
    folder = tmp_path_factory.mktemp("tying")
    return list(tying.run(small(), folder)), folder


# The proof


def test_every_case_comes_out_as_expected_and_leaves_the_model_as_it_was() -> None:
    before = to_bytes(BUNDLE)
    cases = tie_cases(BUNDLE)
    assert [case.code for case in cases if not case.expected] == []
    assert {case.code for case in cases if not case.storage.same_object} == {
        "load_assign", "new_parameter", "to_empty"
    }  # fmt: skip
    assert [case.code for case in cases if case.refused] == ["save_file"]
    assert to_bytes(BUNDLE) == before


def test_a_model_with_two_matrices_keeps_two_whatever_is_done_to_it() -> None:
    cases = tie_cases(word_bundle(tie_weights=False))
    assert [case.code for case in cases if case.storage.shared or case.refused] == []
    assert [case.code for case in cases if not case.expected] == []


def test_a_tied_model_that_lost_its_tie_fails_the_proof() -> None:
    parted = word_bundle(tie_weights=True)
    untie(parted.model)
    cases = {case.code: case for case in tie_cases(parted)}
    assert not cases["as_it_is"].expected


def test_assigned_tensors_share_their_memory_and_no_object() -> None:
    case = next(case for case in tie_cases(BUNDLE) if case.code == "load_assign")
    assert (case.storage.same_object, case.storage.shared) == (False, True)


def test_a_shipped_model_is_tied_after_loading() -> None:
    assert tied_storage(shipped("swap").model).same_object


# Touch it


def test_an_edit_moves_the_tied_cell_and_not_the_untied_one() -> None:
    edit = Edit(Cell(ABSENT, 3), 2.5)
    found = touch(BUNDLE, IDS, QUERY, [edit], edit.cell)
    assert found.cell_after == found.tied.head_cell == 2.5
    assert found.untied.head_cell == found.before.head_cell == found.cell_before


@settings(max_examples=15)
@given(
    dimension=st.integers(0, 7), value=st.floats(-1000, 1000, width=32), word=st.integers(0, 601)
)
def test_a_word_that_is_not_read_moves_by_state_times_change(
    dimension: int, value: float, word: int
) -> None:
    edit = Edit(Cell(word, dimension), value)
    found = touch(BUNDLE, IDS, QUERY, [edit], edit.cell)
    assert found.in_sentence == (word in IDS)
    if found.in_sentence:
        return
    expected = found.state * (found.cell_after - found.cell_before)
    assert found.tied.logit - found.before.logit == pytest.approx(expected, rel=1e-4, abs=1e-4)
    assert found.untied == found.before


@settings(max_examples=25)
@given(text=st.text(max_size=30))
def test_any_typed_sentence_is_touched_or_refused_by_name(text: str) -> None:
    try:
        reading = read(BUNDLE, text)
    except OwiError as error:
        sentences_of(error)  # KeyError where a sentence or a value is missing
        return
    edit = Edit(Cell(ABSENT, 0), 3.0)
    found = touch(BUNDLE, reading.encoding.ids, reading.query, [edit], edit.cell)
    assert found.tied.head_cell == 3.0
    assert found.untied.head_cell == found.before.head_cell


def test_a_word_that_is_read_moves_both_through_the_input() -> None:
    edit = Edit(Cell(PRESENT, 1), 5.0)
    found = touch(BUNDLE, IDS, QUERY, [edit], edit.cell)
    assert found.untied.logit != found.before.logit
    assert found.untied.head_cell == found.before.head_cell


def test_edits_leave_the_model_as_it_was_and_the_last_one_holds() -> None:
    before = copy.deepcopy(BUNDLE.model.embedding.weight)
    cell = Cell(ABSENT, 0)
    twice = touch(BUNDLE, IDS, QUERY, [Edit(cell, 9.0), Edit(cell, 1.0)], cell)
    once = touch(BUNDLE, IDS, QUERY, [Edit(cell, 1.0)], cell)
    assert twice == once
    none = touch(BUNDLE, IDS, QUERY, [], cell)
    assert none.tied == none.untied == none.before
    assert torch.equal(before, BUNDLE.model.embedding.weight)


@pytest.mark.parametrize(
    ("edit", "name"),
    [
        (Edit(Cell(602, 0), 0.0), "word"),
        (Edit(Cell(-1, 0), 0.0), "word"),
        (Edit(Cell(0, 8), 0.0), "dimension"),
        (Edit(Cell(0, 0), float("nan")), "value"),
        (Edit(Cell(0, 0), 1e30), "value"),
    ],
)
def test_an_edit_that_cannot_be_is_refused_by_name(edit: Edit, name: str) -> None:
    with refused("setting_out_of_range", SettingError, name=name):
        touch(BUNDLE, IDS, QUERY, [edit], Cell(0, 0))


def test_the_edit_to_try_first_raises_the_logit() -> None:
    edit = strongest_edit(BUNDLE.model, IDS, QUERY, ABSENT)
    found = touch(BUNDLE, IDS, QUERY, [edit], edit.cell)
    assert found.tied.logit > found.before.logit + 1


def test_the_products_with_the_final_state_are_the_logits() -> None:
    near = near_state(BUNDLE.model, IDS, QUERY, n=5)
    logits = BUNDLE.model(torch.tensor([list(IDS)])).logits[0, QUERY]
    assert near.logit_error is not None
    assert near.logit_error < 1e-5
    assert [row.word_id for row in near.rows] == logits.topk(5).indices.tolist()
    other = near_state(untie(copy.deepcopy(BUNDLE.model)), IDS, QUERY)
    assert other.logit_error == pytest.approx(near.logit_error)  # the same numbers still
    loose = word_bundle(tie_weights=False).model
    assert near_state(loose, IDS, QUERY).logit_error > 0.1  # type: ignore[operator]


def test_a_word_is_no_neighbour_of_its_own() -> None:
    rows = near_word(BUNDLE.model, ABSENT, n=4).rows
    assert ABSENT not in [row.word_id for row in rows]
    cosines = [row.cosine for row in rows]
    assert cosines == sorted(cosines, reverse=True)
    E = BUNDLE.model.embedding.weight.detach()
    expected = torch.nn.functional.cosine_similarity(E[rows[0].word_id], E[ABSENT], dim=0)
    assert cosines[0] == pytest.approx(float(expected), abs=1e-5)


# One gradient from two places


@pytest.fixture(scope="module")
def batch() -> Any:
    prepared = pronoun.prepare(pronoun.Params(n_train=100, d_model=8, d_mlp=8))
    return prepared.trainer.data.take(torch.arange(16))


def test_both_parts_add_up_to_the_tied_gradient(batch: Any) -> None:
    found = tied_gradient(BUNDLE.model, batch)
    assert found.relative_error <= 1e-5
    assert min(found.input_norm, found.output_norm) > 0


def test_the_output_part_is_probability_minus_target_times_state(batch: Any) -> None:
    expected = torch.zeros_like(BUNDLE.model.embedding.weight)
    rows = zip(batch.ids, batch.lengths, batch.read_at, batch.targets[:, 0], strict=True)
    for ids, length, query, target in rows:
        known = ids[:length].tolist()
        state = final_state(BUNDLE.model, known, int(query)).detach()
        p = BUNDLE.model(torch.tensor([known])).logits[0, query].softmax(-1).detach()
        p[target] -= 1
        expected += torch.outer(p, state) / len(batch.ids)
    rows = tied_gradient(BUNDLE.model, batch).output_rows
    torch.testing.assert_close(torch.from_numpy(rows), expected.norm(dim=1), rtol=1e-3, atol=1e-6)


def test_only_words_of_the_batch_get_gradient_by_the_input_path(batch: Any) -> None:
    found = tied_gradient(BUNDLE.model, batch)
    given = set(torch.from_numpy(found.input_rows).nonzero()[:, 0].tolist())
    assert given <= set(batch.ids.flatten().tolist())
    assert bool((found.output_rows > 0).all())


# What it saves


def test_a_chinese_vocabulary_of_fifty_thousand_saves_38_million_numbers() -> None:
    size = matrix_size(*READY["chinese_50k"])
    assert size.numbers == 38_400_000
    assert (size.bytes_float32, size.bytes_bfloat16) == (153_600_000, 76_800_000)


def test_two_matrices_are_one_matrix_more() -> None:
    tied, untied = counted(BUNDLE.model)
    assert tied == BUNDLE.model.n_params
    assert untied - tied == matrix_size(602, 8).numbers
    assert counted(word_bundle(tie_weights=False).model) == (tied, untied)


# How it is done wrong


@pytest.fixture(scope="module")
def ways() -> dict[str, ties.Way]:
    prepared = tying.prepare(small())
    side = prepared.sides[0]
    found = ties.tried(side.bundle.model.config, side.trainer.data, side.trainer.config, 16)
    return {way.way: way for way in found}


def test_one_parameter_stays_one_and_copies_drift(ways: dict[str, ties.Way]) -> None:
    assert set(ways["tied"].drift) == {0.0}
    assert ways["tied"].missing == 0.0
    for name in ("copied_in_forward", "data_copied_once"):
        assert not ways[name].same_object
        assert ways[name].drift[0] == 0.0 if name == "data_copied_once" else True
        assert ways[name].drift[-1] > 0
        assert ways[name].missing > 0.1
    assert ways["data_copied_once"].drift == sorted(ways["data_copied_once"].drift)


def test_a_copy_made_at_each_call_lags_by_a_step_and_does_not_run_away(
    ways: dict[str, ties.Way],
) -> None:
    assert ways["copied_in_forward"].drift[-1] < ways["data_copied_once"].drift[-1]


def test_a_bias_leaves_the_matrix_shared_and_learns_for_itself(ways: dict[str, ties.Way]) -> None:
    way = ways["head_bias"]
    assert way.same_object
    assert set(way.drift) == {0.0}
    assert way.bias_max > 0
    assert way.bias_unseen < 0  # the softmax's denominator
    assert way.n_params == ways["tied"].n_params + 602


# Two models side by side


def test_a_run_tells_of_both_models_in_one_stream(finished: tuple[list[Event], Path]) -> None:
    events, _ = finished
    assert isinstance(events[0], Started)
    assert [e.step for e in events if isinstance(e, StepDone)] == [1, 2, 3, 4]
    first = next(e for e in events if isinstance(e, Evaluated))
    last = [e for e in events if isinstance(e, Evaluated)][-1]
    for side in ("tied", "untied"):
        assert f"{side}.accuracy_unseen_words" in first.metrics
        assert f"{side}.train_loss_nats" in last.metrics


def test_the_result_has_what_the_lesson_needs(finished: tuple[list[Event], Path]) -> None:
    result = result_of(finished[0])
    assert result["same_object"]
    assert result["same_storage"]
    assert result["gradient_sum_error"] <= 1e-5
    assert result["params_untied"] - result["params_tied"] == 602 * 8
    for side in ("tied", "untied"):
        assert {"accuracy_heldout", "accuracy_unseen_words", "final_loss_nats"} <= set(result[side])
    assert result["tied"]["n_params"] == result["params_tied"]
    assert result["untied"]["n_params"] == result["params_untied"]


def test_only_where_it_is_shared_is_a_row_moved_that_no_sentence_shows(
    finished: tuple[list[Event], Path],
) -> None:
    result = result_of(finished[0])
    tied, untied = (result[side]["rows_moved"] for side in ("tied", "untied"))
    assert tied["embedding"] == tied["head"]
    assert tied["embedding"]["unseen"] > 0
    assert tied["embedding"]["together"] > 0.5
    assert untied["embedding"]["unseen"] == 0.0
    assert untied["head"]["unseen"] > 0


def test_a_run_leaves_both_models_and_the_tied_one_is_tied(
    finished: tuple[list[Event], Path],
) -> None:
    folder = finished[1]
    assert tied_storage(load(folder).model).same_object
    assert not tied_storage(load(folder / "untied").model).same_storage
    assert result_of(finished[0])["same_object_loaded"]
    assert tied_storage(from_bytes((folder / "model.safetensors").read_bytes()).model).same_object


def test_both_begin_with_the_same_embedding_and_see_the_same_batches() -> None:
    a, b = tying.prepare(small()).sides
    assert torch.equal(a.bundle.model.embedding.weight, b.bundle.model.embedding.weight)
    assert torch.equal(a.trainer.data.ids, b.trainer.data.ids)
    assert a.trainer.config == b.trainer.config


def asked(folder: Path, request: Any, resume: bool = False) -> list[Event]:
    control, events = Control(), []
    for event in tying.run(small(), folder, control, resume):
        events.append(event)
        if isinstance(event, StepDone) and event.step == 2:
            control.request = request
    return events


def test_a_paused_run_goes_on_as_if_it_had_not_been(
    finished: tuple[list[Event], Path], tmp_path: Path
) -> None:
    assert asked(tmp_path, "pause")[-1] == Paused(2)
    events = asked(tmp_path, "run", resume=True)
    assert without_clock(result_of(events)) == without_clock(result_of(finished[0]))


def test_a_stopped_run_leaves_both_models_and_no_result(tmp_path: Path) -> None:
    assert asked(tmp_path, "stop")[-1] == Stopped(2)
    assert load(tmp_path / "untied").model.config.tie_weights is False


def test_the_other_question_leaves_the_scale_out_and_nothing_else() -> None:
    a, b = tying.prepare(small(question="scale")).sides
    assert (a.name, b.name) == ("scaled", "unscaled")
    one, other = a.bundle.model.config.to_dict(), b.bundle.model.config.to_dict()
    assert one.pop("embedding_scale") == pytest.approx(8**0.5)
    assert other.pop("embedding_scale") == 1.0
    assert one == other
    assert one["tie_weights"]


def part(heldout: float, unseen: float, mass: float = 1.0) -> tying.SideResult:
    return some(
        tying.SideResult,
        accuracy_heldout=heldout,
        accuracy_unseen_words=unseen,
        attention_by_layer=[0.1, mass],
    )


def verdict_of(question: str, *parts: tying.SideResult) -> Verdict:
    sides = dict(zip(tying.SIDES[question], parts, strict=True))
    return tying.verdict(some(tying.Result, question=question, sides=sides))


@pytest.mark.parametrize(
    ("tied", "untied", "code"),
    [
        ((1.0, 0.99), (1.0, 0.0), "named_only_when_tied"),
        ((1.0, 0.5), (1.0, 0.2), "tying_helps"),
        ((1.0, 0.0), (1.0, 0.0), "tying_buys_nothing"),
        ((0.8, 0.9), (0.99, 0.0), "tying_hurts"),
        ((0.3, 0.0), (0.2, 0.0), "not_learned"),
    ],
)
def test_the_verdict_on_tying_is_chosen_by_the_numbers(tied: Any, untied: Any, code: str) -> None:
    said = verdict_of("tying", part(*tied), part(*untied))
    assert (said.code, said.passed) == (code, code == "named_only_when_tied")


@pytest.mark.parametrize(
    ("scaled", "unscaled", "code"),
    [
        ((1.0, 1.0, 0.99), (1.0, 0.7, 0.5), "direct_only_when_scaled"),
        ((1.0, 1.0, 0.99), (0.1, 0.0, 0.1), "learned_only_when_scaled"),
        ((1.0, 1.0, 0.99), (1.0, 1.0, 0.99), "scale_buys_nothing"),
        ((1.0, 1.0, 0.99), (1.0, 1.0, 0.85), "scale_helps"),
        ((0.2, 0.0, 0.2), (1.0, 1.0, 0.9), "not_learned"),
    ],
)
def test_the_verdict_on_the_scale_is_chosen_by_the_numbers(
    scaled: Any, unscaled: Any, code: str
) -> None:
    assert verdict_of("scale", part(*scaled), part(*unscaled)).code == code


def test_what_is_usual_follows_question_and_family() -> None:
    assert Params().positions == "sinusoidal"
    assert Params(question="scale").positions == "learned"
    assert Params(family="person").steps == pronoun.RECIPES["person"]["steps"]
    with refused("setting_not_a_choice"):
        Params(question="why")
    with refused("d_model_not_divisible"):
        tying.prepare(small(d_model=9))


def test_another_seed_is_another_model() -> None:
    one, other = (tying.prepare(small(seed=seed)).sides[0].bundle.model for seed in (0, 1))
    assert not torch.equal(one.embedding.weight, other.embedding.weight)


# The claims, full size


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_words_never_seen_are_named_only_when_tied(seed: int) -> None:
    *_, last = tying.run(Params(seed=seed))
    assert isinstance(last, Finished)
    assert last.verdict["code"] == "named_only_when_tied"
    assert last.result["tied"]["accuracy_unseen_words"] >= 0.95
    assert last.result["untied"]["accuracy_unseen_words"] <= 0.1
    assert last.result["gradient_sum_error"] <= 1e-5
    kept = last.result["tied"]["as_trained"]["accuracy_heldout"]
    assert kept == pytest.approx(last.result["tied"]["accuracy_heldout"], abs=0.01)


@pytest.mark.slow
def test_where_the_gender_decides_tying_buys_nothing() -> None:
    *_, last = tying.run(Params(family="person"))
    assert isinstance(last, Finished)
    assert last.verdict["code"] == "tying_buys_nothing"


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_without_the_scale_answers_stay_right_and_the_straight_look_is_lost(seed: int) -> None:
    *_, last = tying.run(Params(question="scale", seed=seed))
    assert isinstance(last, Finished)
    assert last.verdict["code"] == "direct_only_when_scaled"
    unseen = [last.result[side]["accuracy_unseen_words"] for side in tying.SIDES["scale"]]
    assert unseen[0] - unseen[1] > 0.1
