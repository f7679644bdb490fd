"""Influence: against the whole Jacobian, exactly 0 where nothing can pass, and a record that
notices when it was tampered with."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from owi_core import peers
from owi_core.errors import ModelFileError, TextError
from owi_core.peers import CAUSAL, KINDS, Plan
from owi_core.probes.influence import (
    MAX_TOKENS,
    InfluenceRecord,
    influence,
    influence_record,
    input_dependence,
    mixing_change,
)
from owi_core.probes.leakage import gradient_matrix
from tests.tiny import VOCABULARY, refused, rng, some_ids

T, WIDTH = 11, 20
PLAN = Plan(VOCABULARY, block_size=T, conv_layers=2, kernel=3, n_head=5)


def model(kind: str, plan: Plan = PLAN) -> peers.AnyModel:
    return peers.make(kind, plan, WIDTH, rng()).eval()


def record(kind: str, seed: int = 1, plan: Plan = PLAN) -> InfluenceRecord:
    ids = some_ids(T, seed=seed)
    return influence_record(kind, model(kind, plan), ids, [str(i) for i in ids.tolist()])


def whole_jacobian(made: peers.AnyModel, ids: torch.Tensor) -> torch.Tensor:
    """‖∂ logits at t / ∂ row s‖ by one gradient for each logit of each position, (T, T)."""
    rows = made.embedding.weight.detach()[ids][None].requires_grad_()  # (1, T, W)
    logits = peers.logits_from_rows(made, rows)[0]  # (T, V)
    squares = torch.zeros(T, T, dtype=torch.float64)
    for t in range(T):
        for v in range(VOCABULARY):
            (gradient,) = torch.autograd.grad(logits[t, v], rows, retain_graph=True)
            squares[t] += gradient[0].double().square().sum(-1)
    return squares.sqrt()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [8, 20])  # fewer and more dimensions than the 13 logits
def test_influence_is_the_norm_of_the_jacobian_taken_logit_by_logit(kind: str, width: int) -> None:
    plan = replace(PLAN, n_head=4 if width == 8 else 5)
    made, ids = peers.make(kind, plan, width, rng()).eval(), some_ids(T)
    exact, found = whole_jacobian(made, ids), influence(made, ids)
    assert torch.equal(found == 0, exact == 0)
    assert torch.allclose(found, exact, rtol=1e-4)


@pytest.mark.parametrize("most", [1, 700])
def test_gradients_taken_in_several_batches_sum_to_the_same(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    made, ids = model("lstm"), some_ids(T)
    whole = influence(made, ids)
    monkeypatch.setattr("owi_core.probes.influence.MAX_GRADIENTS", most * T * T * WIDTH // 100)
    assert torch.allclose(influence(made, ids), whole, rtol=1e-6)


def test_it_is_what_the_mask_page_measures_of_a_transformer() -> None:
    made, ids = model("transformer"), some_ids(T)
    assert torch.allclose(whole_jacobian(made, ids), gradient_matrix(made, ids).double(), rtol=1e-4)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_comes_from_the_future_unless_both_sides_are_seen(kind: str) -> None:
    assert (record(kind).future_max == 0.0) == (kind in CAUSAL)


def test_shares_and_largest_values_by_hand() -> None:
    values = np.array([[1.0, 0.5, 0.0], [3.0, 1.0, 7.0], [0.0, 0.0, 0.0]])
    allowed = np.array([[True, False, False], [True, True, False], [True, True, True]])
    found = InfluenceRecord("rnn", ("甲", "乙", "丙"), values, allowed)
    assert found.future_max == 7.0
    assert found.outside_max == 7.0
    expected = [[2 / 3, 1 / 3, 0], [3 / 11, 1 / 11, 7 / 11], [0, 0, 0]]
    np.testing.assert_allclose(found.shares, expected)
    # The diagonal and the past are not the future.
    assert replace(found, influence=np.tril(np.ones((3, 3)))).future_max == 0.0


def test_nothing_comes_from_outside_the_receptive_field() -> None:
    found = record("cnn")
    back = np.arange(T)[:, None] - np.arange(T)[None]
    inside = (back >= 0) & (back < 5)
    assert (found.influence[~inside] == 0.0).all()
    assert (found.influence[inside] > 0.0).all()
    assert (found.reach == inside).all()


def test_the_map_of_a_linear_convolution_is_the_same_for_every_sentence() -> None:
    plan = replace(PLAN, linear=True)
    a, b = (record("cnn", seed, plan).shares for seed in (1, 2))
    assert input_dependence(a, b) == 0.0
    with_norm = [record("cnn", seed).shares for seed in (1, 2)]
    assert input_dependence(*with_norm) > 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_the_mixing_weights_move_only_where_the_input_makes_them(kind: str) -> None:
    change = mixing_change(model(kind), some_ids(T, seed=1), some_ids(T, seed=2))
    assert (change == 0.0) == (kind in ("rnn", "cnn"))


def test_the_change_of_maps_by_hand() -> None:
    a, b = np.array([[3.0, 0.0], [0.0, 4.0]]), np.zeros((2, 2))
    assert input_dependence(a, a) == 0.0
    assert input_dependence(a, b) == pytest.approx(2.0)
    assert input_dependence(a, a + np.array([[0.0, 1.0], [0.0, 0.0]])) == pytest.approx(
        1 / ((5 + 26**0.5) / 2)
    )
    assert input_dependence(b, b) == 0.0
    with pytest.raises(ValueError, match="must agree"):
        input_dependence(a, np.zeros((3, 3)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_proves_itself_and_comes_back_from_json(kind: str) -> None:
    found = record(kind)
    assert all(check.passed for check in found.checks())
    again = InfluenceRecord.from_dict(found.to_dict())
    np.testing.assert_array_equal(again.influence, found.influence)
    assert again.tokens == found.tokens
    assert not again.influence.flags.writeable


@pytest.mark.parametrize(
    ("at", "value", "code"),
    [((2, 7), 1e-9, "forbidden_is_zero"), ((3, 1), np.nan, "numbers_finite")],
)
def test_a_record_notices_what_was_tampered_with(
    at: tuple[int, int], value: float, code: str
) -> None:
    found = record("cnn")
    spoiled = found.influence.copy()
    spoiled[at] = value
    failed = [c.code for c in replace(found, influence=spoiled).checks() if not c.passed]
    assert failed == [code]


def test_a_record_that_does_not_fit_is_refused() -> None:
    values = record("rnn").to_dict()
    for change in ({"version": 99}, {"tokens": ["一"]}, {"influence": "?"}, {"reach": None}):
        with pytest.raises(ModelFileError):
            InfluenceRecord.from_dict(values | change)


def test_a_refused_record_names_what_is_wrong_and_no_class_of_python() -> None:
    values = record("rnn").to_dict()
    without = {name: value for name, value in values.items() if name != "reach"}
    with refused("record_unreadable", ModelFileError, reason="reach ?"):
        InfluenceRecord.from_dict(without)
    with refused("record_unreadable", ModelFileError, reason="shapes"):
        InfluenceRecord.from_dict(values | {"influence": "?"})


def test_a_sentence_of_one_token_or_too_many_is_refused() -> None:
    with refused("sentence_of_one_token", TextError, tokens=1):
        influence(model("rnn"), some_ids(1))
    with refused("text_over_block", TextError, over=1):
        influence(model("rnn"), some_ids(MAX_TOKENS + 1))
