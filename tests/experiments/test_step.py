"""One step by hand: against loops, torch's kernel and module; where numbers come from; mistakes."""

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from owi_core.checkpoints import shipped
from owi_core.errors import SettingError
from owi_core.events import Finished, Started
from owi_core.experiments import step
from owi_core.experiments.faults import attention
from owi_core.experiments.faults.attention import trials
from owi_core.probes.derivation import CHAIN, Cell, derive, feeds, recomputed, table, tables_of
from owi_core.probes.step import (
    WEIGHTS,
    StepInputs,
    StepRecord,
    changed,
    from_model,
    join_heads,
    named_mask,
    position_table,
    random_inputs,
    run_step,
    split_heads,
    with_cell,
    with_positions,
)
from owi_core.probes.step_checks import (
    agreement,
    convolution_weights,
    fused,
    moved,
    multihead,
    shuffled,
    z_by_hand,
)
from owi_core.readings import read
from tests.tiny import global_generator_untouched, refused, rng, word_bundle

SENTENCE = "小明把苹果放在桌子上，小红拿走了它"
ERRORS = ("row_sum_error", "sdpa_error", "mha_error", "z_by_hand_error", "permutation_error")
SETTINGS = [
    {"mask": mask, "n_head": n_head} for mask in ("none", "causal", "padding") for n_head in (1, 3)
]


def inputs_of(**changes: Any) -> StepInputs:
    return random_inputs(**({"seed": 3, "n_tokens": 5, "d_model": 6, "n_head": 3} | changes))


def record_of(**changes: Any) -> StepRecord:
    return run_step(inputs_of(**changes))


def biased(inputs: StepInputs) -> StepInputs:
    d = inputs.x.shape[1]
    return replace(inputs, bias=np.linspace(-1, 1, 4 * d).reshape(4, d), temperature=0.7)


def result_of(**changes: Any) -> dict[str, Any]:
    last = list(step.run(step.Params(**changes)))[-1]
    assert isinstance(last, Finished)
    assert last.verdict["passed"]
    return last.result


def test_defaults_are_the_articles_shapes_and_all_ways_agree() -> None:
    result = result_of()
    for name in ("x", "q", "k", "v", "z", "out"):
        assert result["shapes"][name] == [1, 4, 8]
    for name in ("scores", "scaled", "masked", "pattern"):
        assert result["shapes"][name] == [1, 4, 4]
    assert all(result[name] <= 1e-6 for name in ERRORS)


@pytest.mark.parametrize("seed", [0, 1, 42, 2**31 - 1])
@pytest.mark.parametrize(("dtype", "most"), [("float64", 1e-6), ("float32", 1e-5)])
@pytest.mark.parametrize("mask", ["none", "causal", "padding"])
def test_errors_stay_within_the_precision(seed: int, dtype: str, most: float, mask: str) -> None:
    result = result_of(seed=seed, dtype=dtype, mask=mask, n_head=2)
    assert all(result[name] <= most for name in ERRORS)
    assert result["shapes"]["pattern"] == [1, 2, 4, 4]


def test_float32_is_really_computed_in_float32() -> None:
    assert record_of(dtype="float32").norm.dtype == np.float32
    assert result_of(dtype="float32")["sdpa_error"] > result_of()["sdpa_error"]


def test_same_seed_gives_the_same_step_and_leaves_the_global_generator_alone() -> None:
    with global_generator_untouched():
        first, second = result_of(seed=7), result_of(seed=7)
    assert first == second
    assert result_of(seed=8) != first


def test_a_run_reports_its_beginning_and_its_end() -> None:
    events = list(step.run(step.Params()))
    assert [type(event) for event in events] == [Started, Finished]


def test_heads_that_do_not_divide_and_an_odd_width_are_refused_in_words() -> None:
    with refused("d_model_not_divisible", SettingError, d_model=8, n_head=3):
        list(step.run(step.Params(n_head=3)))
    with refused("d_model_odd", SettingError, d_model=5):
        step.Params(d_model=5)


def test_a_query_that_may_look_nowhere_is_refused_by_its_number() -> None:
    mask = np.ones((5, 5), bool)
    mask[2] = False
    with refused("query_sees_nothing", SettingError, query=3):
        replace(inputs_of(), mask=mask)


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_chain_equals_loops_kernel_and_module_also_with_biases(setting: dict[str, Any]) -> None:
    inputs = biased(inputs_of(**setting))
    record = run_step(inputs)
    np.testing.assert_allclose(record.concat, z_by_hand(inputs), atol=1e-12)
    np.testing.assert_allclose(record.z, fused(inputs), atol=1e-12)
    pattern, out = multihead(inputs)
    np.testing.assert_allclose(record.pattern, pattern, atol=1e-12)
    np.testing.assert_allclose(record.out, out, atol=1e-12)


def test_an_error_in_the_step_is_seen_by_every_other_way() -> None:
    record = record_of()
    wrong = replace(record, z=record.z + 1e-3, concat=record.concat + 1e-3, out=record.out + 1e-3)
    found = agreement(replace(wrong, pattern=record.pattern * 1.001))
    assert min(found.row_sum_error, found.z_by_hand_error) > 1e-4
    assert min(found.sdpa_error, found.mha_error) > 1e-4


def test_residual_and_norm_are_what_they_say() -> None:
    record = record_of()
    np.testing.assert_array_equal(record.resid, record.inputs.x + record.out)
    np.testing.assert_allclose(record.norm.mean(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(record.norm.std(axis=1), 1, atol=1e-3)


def test_masked_cells_are_minus_infinity_before_and_exactly_zero_after_the_softmax() -> None:
    record = record_of(mask="causal")
    hidden = ~named_mask("causal", 5)
    assert np.isneginf(record.masked[:, hidden]).all()
    assert (record.pattern[:, hidden] == 0).all()


def test_positions_are_added_to_x() -> None:
    x = inputs_of().x
    np.testing.assert_allclose(with_positions(x) - x, position_table(*x.shape), atol=1e-6)
    assert position_table(2, 4)[1].tolist() == pytest.approx(
        [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)]
    )


def test_heads_split_and_joined_are_the_same_numbers() -> None:
    x = torch.arange(30.0).view(5, 6)
    assert torch.equal(join_heads(split_heads(x, 3)), x)
    assert split_heads(x, 3)[1, 4].tolist() == [26.0, 27.0]


@pytest.mark.parametrize("layer", [0, 1])
def test_a_trained_layer_taken_apart_gives_the_models_own_pattern(layer: int) -> None:
    bundle = shipped("swap")
    inputs, labels = from_model(bundle, SENTENCE, layer)
    record, own = run_step(inputs), read(bundle, SENTENCE).record
    assert labels == own.query_tokens
    np.testing.assert_allclose(record.pattern, own.pattern[layer], atol=1e-4)
    np.testing.assert_allclose(record.scaled, own.scores[layer], atol=1e-2, rtol=1e-4)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("layer", [0, 1])
def test_the_last_stage_adds_to_the_models_own_residual_stream(norm: str, layer: int) -> None:
    bundle = word_bundle(norm=norm)
    with torch.no_grad():  # a fresh norm would scale by 1 and shift by 0
        for name, parameter in bundle.model.named_parameters():
            if "norm" in name:
                parameter.add_(torch.randn(parameter.shape, generator=rng(4)), alpha=0.3)
    record = run_step(from_model(bundle, SENTENCE, layer)[0])
    block = bundle.model.blocks[layer]
    entered: list[torch.Tensor] = []  # what the block's second half starts from
    own = block.join
    block.join = lambda resid, written: entered.append(own(resid, written)) or entered[-1]
    with torch.no_grad():
        bundle.model(torch.tensor([bundle.tokenizer.encode(SENTENCE).ids]), explicit=True)
    np.testing.assert_allclose(record.resid, entered[0][0].numpy(), atol=1e-5)
    # Gain and shift of the model's next norm are not part of the step.
    next_norm = block.norm_mlp if norm == "pre" else block.norm_attention
    scaled = record.norm * next_norm.weight.detach().numpy() + next_norm.bias.detach().numpy()
    np.testing.assert_allclose(scaled, next_norm(entered[0][0]).detach().numpy(), atol=1e-4)


def test_the_stream_of_a_layer_explains_the_sum_that_x_does_not() -> None:
    record = run_step(from_model(word_bundle(), SENTENCE, 1)[0])
    for i, j in np.ndindex(record.resid.shape):
        derivation = derive(record, Cell("resid", i, j))
        assert recomputed(derivation) == pytest.approx(derivation.value, abs=1e-9)
        assert derivation.sources == (Cell("stream", i, j), Cell("out", i, j))
    assert feeds(record, Cell("stream", 1, 2)) == (Cell("resid", 1, 2),)
    assert Cell("resid", 1, 2) not in feeds(record, Cell("x", 1, 2))
    assert derive(record, Cell("stream", 1, 2)).kind == "given"
    assert "stream" in tables_of(record.inputs)
    assert "stream" not in tables_of(inputs_of())


def test_a_layer_that_a_model_has_not_is_refused() -> None:
    with refused("setting_out_of_range", SettingError, name="layer", value=3, high=2):
        from_model(shipped("swap"), SENTENCE, 2)


# What depends on what


def reached(record: StepRecord, start: Cell) -> set[str]:
    """Follow `feeds` to the end; return the tables that were touched."""
    todo, seen = [start], {start}
    while todo:
        new = set(feeds(record, todo.pop())) - seen
        todo += new
        seen |= new
    return {cell.table for cell in seen}


AFTER = ("masked", "pattern", "z", "concat", "out", "resid", "norm")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("x", {"x", "q", "k", "v", "scores", "scaled", *AFTER}),
        ("w_q", {"w_q", "q", "scores", "scaled", *AFTER}),
        ("w_k", {"w_k", "k", "scores", "scaled", *AFTER}),
        ("w_v", {"w_v", "v", "z", "concat", "out", "resid", "norm"}),
        ("w_o", {"w_o", "out", "resid", "norm"}),
        ("mask", {"mask", *AFTER}),
    ],
)
def test_one_changed_number_changes_what_depends_on_it_and_nothing_else(
    given: str, expected: set[str]
) -> None:
    before = record_of(n_head=1)
    value = 0.0 if given == "mask" else 9.0
    after = run_step(with_cell(before.inputs, given, 1, 2, value))
    differs = {name for name, cells in changed(before, after).items() if cells.any()}
    assert differs == expected
    assert reached(before, Cell(given, 1, 2)) == expected


def test_changed_inputs_are_copies() -> None:
    inputs = inputs_of()
    kept = inputs.x.copy()
    assert with_cell(inputs, "x", 0, 0, 5.0).x[0, 0] == 5.0
    np.testing.assert_array_equal(inputs.x, kept)


@pytest.mark.parametrize("head", [0, 1, 2])
def test_the_arithmetic_of_every_cell_gives_the_cell(head: int) -> None:
    record = run_step(biased(inputs_of(mask="causal")))
    for name in CHAIN:
        for i, j in np.ndindex(table(record, name, head).shape):
            derivation = derive(record, Cell(name, i, j), head)
            if math.isfinite(derivation.value):
                assert recomputed(derivation) == pytest.approx(derivation.value, abs=1e-9)
            else:
                assert recomputed(derivation) == derivation.value


@pytest.mark.parametrize("head", [0, 2])
def test_sources_and_feeds_tell_the_same_story(head: int) -> None:
    record = record_of()
    cells = [
        Cell(name, int(i), int(j))
        for name in CHAIN
        for i, j in np.ndindex(table(record, name, head).shape)
    ]
    made_from = {(s, c) for c in cells for s in derive(record, c, head).sources}
    fed = {(c, f) for c in cells for f in derive(record, c, head).feeds}
    per_head = {"scores", "z"}  # q, k, v of other heads feed nothing in this one
    assert made_from == fed
    assert per_head <= {c.table for _, c in made_from}


# Shuffling, static and dynamic


def test_without_positions_a_shuffle_only_shuffles_and_with_positions_it_does_not() -> None:
    for order in itertools.permutations(range(4)):
        found = shuffled(random_inputs(42), order)
        assert found.without_positions < 1e-12
        assert (found.with_positions > 1e-3) == (order != (0, 1, 2, 3))


def test_a_convolution_keeps_its_weights_where_attention_changes_them() -> None:
    one, other = random_inputs(1), random_inputs(2)
    kernel = (0.25, 0.5, 0.25)
    weights = [convolution_weights(inputs.x, kernel) for inputs in (one, other)]
    assert moved(*weights) < 1e-12
    expected = [[0.5, 0.25, 0, 0], [0.25, 0.5, 0.25, 0], [0, 0.25, 0.5, 0.25], [0, 0, 0.25, 0.5]]
    np.testing.assert_allclose(weights[0], expected, atol=1e-12)
    same_matrices = replace(one, x=other.x)
    assert moved(run_step(one).pattern, run_step(same_matrices).pattern) > 0.05


# Mistakes


@pytest.mark.parametrize("d_model", [4, 8])
@pytest.mark.parametrize("mask", ["none", "causal", "padding"])
@pytest.mark.parametrize("seed", [0, 42])
def test_each_mistake_fails_its_check_and_the_right_thing_passes_it(
    d_model: int, mask: str, seed: int
) -> None:
    found = trials(random_inputs(seed, 4, d_model, mask=mask))
    assert len({trial.mistake for trial in found}) == 6
    assert len({trial.right.check for trial in found}) == 6
    for trial in found:
        assert trial.right.passed, trial.mistake
        assert not trial.wrong.passed, trial.mistake
        assert trial.right.check == trial.wrong.check


def test_heads_that_do_not_divide_are_refused_by_the_model_in_words() -> None:
    error = attention.refusal(8)
    assert (error.code, error.values) == ("d_model_not_divisible", {"d_model": 8, "n_head": 3})


def test_weights_are_all_there() -> None:
    assert all(getattr(inputs_of(), name).shape == (6, 6) for name in WEIGHTS)
