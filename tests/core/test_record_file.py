"""Records as files: exact on the way there and back, and nothing false or foreign is taken in."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from owi_core import record_file
from owi_core.checkpoints import MAX_UPLOAD_BYTES, shipped, to_bytes
from owi_core.errors import ModelFileError
from owi_core.readings import MAX_TOKENS, read
from owi_core.record_file import LONGEST_LABEL, SavedRecord, from_bytes, saved
from tests.tiny import refused, word_bundle

TEXT = "小明把苹果放在桌子上，小红拿走了它"
READING = read(word_bundle(), TEXT)
GOOD = record_file.to_bytes(saved(READING, "swap", "小红"))
HEADER: dict[str, Any] = json.loads(
    json.loads(GOOD[8 : 8 + int.from_bytes(GOOD[:8], "little")])["__metadata__"]["owi_record"]
)
TENSORS = safetensors.torch.load(GOOD)
T, L, H = len(READING.labels), READING.record.n_layer, READING.record.n_head
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


def file_of(tensors: dict[str, Tensor] | None = None, **changes: object) -> bytes:
    """Return a record's file with parts of it exchanged."""
    header = json.dumps(HEADER | changes)
    return safetensors.torch.save(TENSORS | (tensors or {}), {"owi_record": header})


def record_or_refusal(data: bytes) -> SavedRecord | None:
    """Read bytes that may be anything: what comes back is whole, and all else is refused."""
    kept = code = None
    try:
        kept = from_bytes(data)
    except ModelFileError as error:
        code = error.code
    if kept is None:
        assert str(code).startswith("record_")
        return None
    record = kept.record
    assert all(check.passed for check in record.checks() if check.code != "dropout_off")
    assert 0 <= kept.query < len(kept.labels) <= MAX_TOKENS
    json.dumps([kept.label, *kept.labels], allow_nan=False).encode()
    assert from_bytes(record_file.to_bytes(kept)).labels == kept.labels
    return kept


def test_a_record_comes_back_exactly() -> None:
    kept = from_bytes(GOOD)
    for name in ("scores", "pattern", "mask"):
        np.testing.assert_array_equal(getattr(kept.record, name), getattr(READING.record, name))
    assert kept.record.text == TEXT
    assert kept.labels == READING.labels
    assert kept.record.query_spans == READING.record.query_spans
    assert kept.query == READING.query
    assert kept.label == "小红"
    assert kept.answer is not None
    assert (kept.answer.word, kept.answer.known) == (READING.answer.word, READING.answer.known)
    assert kept.model.name == "swap"
    np.testing.assert_array_equal(kept.record.row(T - 1, 0), READING.record.row(T - 1, 0))


def test_two_models_of_the_same_numbers_have_one_hash_and_others_another() -> None:
    same, other = word_bundle(), word_bundle(seed=1)
    assert record_file.weights_hash(READING.bundle) == record_file.weights_hash(same)
    assert record_file.weights_hash(READING.bundle) != record_file.weights_hash(other)


def test_a_shipped_model_is_named_with_its_recipe_and_a_private_one_is_not() -> None:
    bundle = shipped("swap")
    assert saved(read(bundle, TEXT), "swap").model.recipe == bundle.note["recipe"]
    own = replace(bundle, note=bundle.note | {"private": True})
    assert saved(read(own, TEXT), "own").model.recipe == ""


def test_a_file_past_the_limit_is_neither_made_nor_read() -> None:
    data = bytes(MAX_UPLOAD_BYTES + 1)
    with refused("record_too_large", bytes=len(data), limit=MAX_UPLOAD_BYTES):
        from_bytes(data)
    record = replace(
        READING.record,
        scores=np.zeros((L, H * 3000, T, T), np.float32),
        pattern=np.zeros((L, H * 3000, T, T), np.float32),
    )
    with pytest.raises(ModelFileError, match="record_too_large"):
        record_file.to_bytes(replace(saved(READING, "swap"), record=record))


def test_a_models_file_is_no_record() -> None:
    with refused("record_unreadable", reason="owi_record = –"):
        from_bytes(to_bytes(word_bundle()))


def spoilt(name: str, value: float) -> dict[str, Tensor]:
    changed = TENSORS[name].clone()
    changed[1, 0, 2, 1] = value
    return {name: changed}


def leaking() -> dict[str, Tensor]:
    pattern = TENSORS["pattern"].clone()
    pattern[0, 0, 0, :2] = torch.tensor([0.5, 0.5])
    return {"pattern": pattern}


@pytest.mark.parametrize(
    ("tensors", "code"),
    [
        (spoilt("pattern", float("nan")), "record_not_finite"),
        (spoilt("scores", float("inf")), "record_not_finite"),
        (spoilt("pattern", -0.25), "record_weight"),
        (spoilt("pattern", 3e38), "record_weight"),
        (spoilt("pattern", 0.999), "record_rows"),
        (leaking(), "record_leaks"),
        ({"mask": torch.zeros(T, T, dtype=torch.bool)}, "record_leaks"),
        ({"pattern": TENSORS["pattern"][:, :, :-1].clone()}, "record_unreadable"),
        ({"scores": TENSORS["scores"][:1].clone()}, "record_unreadable"),
        ({"pattern": TENSORS["pattern"].double()}, "record_unreadable"),
        ({"more": torch.zeros(1)}, "record_unreadable"),
    ],
)
def test_numbers_that_no_softmax_gives_are_refused(tensors: dict[str, Tensor], code: str) -> None:
    with pytest.raises(ModelFileError, match=code):
        from_bytes(file_of(tensors))


@pytest.mark.parametrize(
    ("part", "value", "code"),
    [
        ("version", 2, "record_version"),
        ("tokens", [], "record_too_long"),
        ("tokens", ["字"] * (MAX_TOKENS + 1), "record_too_long"),
        ("tokens", ["字"] * (T - 1), "record_unreadable"),
        ("tokens", "字" * T, "record_unreadable"),
        ("tokens", ["\ud83d"] * T, "record_unreadable"),
        ("spans", [[0, 1]], "record_unreadable"),
        ("spans", [[1, 0]] * T, "record_unreadable"),
        ("spans", [[0, len(TEXT) + 1]] * T, "record_unreadable"),
        ("training", 0, "record_unreadable"),
        ("more", 1, "record_unreadable"),
        ("query", T, "record_unreadable"),
        ("query", True, "record_unreadable"),
        ("label", "名" * (LONGEST_LABEL + 1), "record_unreadable"),
        ("answer", {"word": "苹果", "probability": 2, "known": True}, "record_unreadable"),
        ("model", None, "record_unreadable"),
    ],
)
def test_words_that_do_not_fit_are_refused(part: str, value: object, code: str) -> None:
    with pytest.raises(ModelFileError, match=code):
        from_bytes(file_of(**{part: value}))


def test_a_refusal_names_the_field_and_its_value() -> None:
    with refused("record_unreadable", reason=f"query = {T}"):
        from_bytes(file_of(query=T))
    with refused("record_unreadable", reason="answer.probability = 2"):
        from_bytes(file_of(answer={"word": "苹果", "probability": 2, "known": True}))


@given(st.binary(max_size=300))
def test_random_bytes_are_refused(data: bytes) -> None:
    assert record_or_refusal(data) is None


@given(st.integers(0, len(GOOD) - 1))
def test_a_truncated_file_is_refused(length: int) -> None:
    assert record_or_refusal(GOOD[:length]) is None


@given(st.lists(st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 7)), max_size=8))
def test_flipped_bits_give_a_record_that_is_whole_or_a_refusal(
    flips: list[tuple[int, int]],
) -> None:
    data = bytearray(GOOD)
    for place, bit in flips:
        data[place] ^= 1 << bit
    record_or_refusal(bytes(data))


@given(part=st.sampled_from(sorted(HEADER)), value=JSON)
def test_any_part_of_the_header_gives_a_record_or_a_refusal(part: str, value: object) -> None:
    record_or_refusal(file_of(**{part: value}))


@given(st.lists(st.floats(width=32), min_size=T, max_size=T))
def test_any_row_gives_a_record_or_a_refusal(row: list[float]) -> None:
    pattern = TENSORS["pattern"].clone()
    pattern[0, 0, T - 1] = torch.tensor(row)
    record_or_refusal(file_of({"pattern": pattern}))
