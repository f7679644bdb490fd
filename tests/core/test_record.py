"""The record: its rows, its checks on itself, and its way through JSON."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from owi_core.record import AttentionRecord

L, H, T_Q, T_K, D = 2, 3, 5, 7, 11


def arrays(seed: int = 0) -> dict[str, Any]:
    draw = np.random.default_rng(seed)
    mask = draw.random((T_Q, T_K)) < 0.6
    mask[:, 0] = True
    scores = draw.normal(size=(L, H, T_Q, T_K)).astype(np.float32)
    powers = np.exp(scores) * mask
    pattern = (powers / powers.sum(-1, keepdims=True)).astype(np.float32)
    heads = draw.normal(size=(L, H, T_Q, D)).astype(np.float32)
    return {"scores": scores, "pattern": pattern, "head_outputs": heads, "mask": mask}


def record(**changes: Any) -> AttentionRecord:
    values: dict[str, Any] = {
        "text": "它 看 它",
        "query_tokens": tuple("abcde"),
        "key_tokens": tuple("苹果它苹果它，"),
        "query_spans": tuple((i, i + 1) for i in range(T_Q)),
        "key_spans": tuple((i, i + 1) for i in range(T_K)),
    }
    return AttentionRecord(**(values | arrays() | changes))


def test_row_of_a_head_and_mean_over_heads() -> None:
    r = record()
    assert (r.n_layer, r.n_head) == (L, H)
    np.testing.assert_array_equal(r.row(4, 1, 2), r.pattern[1, 2, 4])
    by_hand = (r.pattern[1, 0, 4] + r.pattern[1, 1, 4] + r.pattern[1, 2, 4]) / 3
    np.testing.assert_allclose(r.row(4, 1), by_hand, rtol=1e-6)


def test_arrays_of_a_record_cannot_be_written() -> None:
    r = record()
    for name in arrays():
        with pytest.raises(ValueError, match="read-only"):
            getattr(r, name)[0] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        r.text = ""  # type: ignore[misc]


def test_a_good_record_passes_every_check() -> None:
    checks = record().checks()
    assert {c.code for c in checks} == {
        "rows_sum_to_one", "forbidden_is_zero", "dropout_off", "shapes_fit"
    }  # fmt: skip
    assert all(check.passed for check in checks)


def failed(r: AttentionRecord) -> set[str]:
    return {check.code for check in r.checks() if not check.passed}


def test_weights_that_dropout_made_larger_than_one_are_found() -> None:
    assert failed(record(pattern=arrays()["pattern"] * np.float32(1.1))) == {"rows_sum_to_one"}


@pytest.mark.parametrize("excess", [-1e-4, 1e-4])
def test_a_single_row_that_is_a_ten_thousandth_off_is_found(excess: float) -> None:
    pattern = arrays()["pattern"]
    pattern[1, 2, 3] *= np.float32(1 + excess)  # the mean over all rows is within the tolerance
    assert failed(record(pattern=pattern)) == {"rows_sum_to_one"}


def test_one_weight_on_a_forbidden_key_is_found() -> None:
    pattern, mask = arrays()["pattern"], arrays()["mask"]
    query, key = np.argwhere(~mask)[0]
    pattern[1, 2, query, key] = 1e-9
    assert failed(record(pattern=pattern)) == {"forbidden_is_zero"}


def test_a_record_made_in_training_says_so() -> None:
    assert failed(record(training=True)) == {"dropout_off"}


def test_weights_that_are_no_number_are_found() -> None:
    pattern = arrays()["pattern"]
    pattern[0, 0, 0, 0] = np.nan
    assert "rows_sum_to_one" in failed(record(pattern=pattern))


@pytest.mark.parametrize(
    "changes",
    [
        {"pattern": arrays()["pattern"].transpose(1, 0, 2, 3)},
        {"scores": arrays()["scores"].transpose(0, 1, 3, 2)},
        {"mask": arrays()["mask"].T},
        {"head_outputs": arrays()["head_outputs"][:, :, 1:]},
        {"query_tokens": tuple("abcd")},
        {"key_spans": ()},
        {"pattern": np.zeros((0, H, T_Q, T_K), np.float32)},
    ],
)
def test_a_swapped_or_missing_axis_is_found(changes: dict[str, Any]) -> None:
    assert failed(record(**changes)) == {"shapes_fit"}
