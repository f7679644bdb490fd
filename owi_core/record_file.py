"""Readings as files, to be kept and compared with another person's: safetensors and JSON.

One `.safetensors` file holds scores, pattern and mask exactly as they were; its metadata holds the
words, the query word, the answer, and which model read them.  What a head adds to the residual
stream is left out: no row needs it, and it would be most of the file.
Shapes: L layers, H heads, T tokens.
"""

import hashlib
import json
from dataclasses import dataclass

import msgspec
import numpy as np
import safetensors.torch
import torch
from msgspec import Struct

from owi_core.checkpoints import MAX_UPLOAD_BYTES, Bundle, read_header, read_tensors
from owi_core.errors import ModelFileError
from owi_core.readings import MAX_TOKENS, Reading
from owi_core.record import RECORD_VERSION, ROW_SUM_TOLERANCE, AttentionRecord
from owi_core.untrusted import LONGEST_LABEL, Count, Label, Share, Text

MOST_PLACES = 4_096  # layers times heads
_KEY = "owi_record"
_TENSORS = {"scores": torch.float32, "pattern": torch.float32, "mask": torch.bool}
_FALSE = {"rows_sum_to_one": "record_rows", "forbidden_is_zero": "record_leaks"}


class ModelName(Struct, frozen=True, forbid_unknown_fields=True):
    """Which model read a sentence.

    name: what the page called it.  weights: hash of its numbers.  recipe: hash of how it was
    made, empty where no other user could make it.
    """

    name: Label
    weights: Label
    recipe: Label


class SavedAnswer(Struct, frozen=True, forbid_unknown_fields=True):
    """What the model answered; known: whether the page showed it as reliable."""

    word: Text
    probability: Share
    known: bool


class _Header(Struct, frozen=True, forbid_unknown_fields=True):
    """Everything in the file but the tensors; lengths are compared with each other after it."""

    version: int
    text: Text
    tokens: tuple[Text, ...]
    spans: tuple[tuple[Count, Count], ...]
    training: bool
    query: Count
    model: ModelName
    answer: SavedAnswer | None
    label: Label


@dataclass(frozen=True, eq=False)
class SavedRecord:
    """One sentence as one model read it, seen from token `query`.

    label: whose it is, empty if not given.  The record has no head outputs: (L, H, T, 0).
    """

    record: AttentionRecord
    query: int
    model: ModelName
    answer: SavedAnswer | None = None
    label: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """The tokens as typed."""
        return self.record.query_tokens


def saved(reading: Reading, name: str, label: str = "") -> SavedRecord:
    """Return what a file keeps of a reading; `name` is what the page calls its model."""
    record, answer = reading.record, reading.answer
    kept = _record(
        record.text,
        record.query_tokens,
        record.query_spans,
        {part: getattr(record, part) for part in _TENSORS},
        training=record.training,
    )
    note = reading.bundle.note
    recipe = "" if note.get("private") else str(note.get("recipe", ""))
    model = ModelName(_cut(name), weights_hash(reading.bundle.source), _cut(recipe))
    saved_answer = SavedAnswer(answer.word, answer.probability, answer.known)
    return SavedRecord(kept, reading.query, model, saved_answer, _cut(label))


def weights_hash(bundle: Bundle) -> str:
    """Return a short hash of a model's numbers: equal for two models with equal weights."""
    hashed = hashlib.sha256()
    for name, parameter in bundle.model.named_parameters():
        hashed.update(name.encode())
        hashed.update(parameter.detach().contiguous().numpy().tobytes())
    return hashed.hexdigest()[:16]


def to_bytes(kept: SavedRecord) -> bytes:
    """Return the file.

    Raises ModelFileError("record_too_large") for a record that could not be uploaded again.
    """
    record = kept.record
    tensors = {name: torch.tensor(getattr(record, name)) for name in _TENSORS}
    header = _Header(
        version=RECORD_VERSION,
        text=record.text,
        tokens=record.query_tokens,
        spans=record.query_spans,
        training=record.training,
        query=kept.query,
        model=kept.model,
        answer=kept.answer,
        label=kept.label,
    )
    # ASCII escapes keep the header's length in bytes independent of the script it is in.
    text = json.dumps(msgspec.to_builtins(header), allow_nan=False)
    data = safetensors.torch.save(tensors, {_KEY: text})
    _refuse_large(len(data))
    return data


def from_bytes(data: bytes) -> SavedRecord:
    """Return the reading in `data`, which came from outside and may be anything.

    Raises ModelFileError for anything that is not a record, or whose numbers no attention gives.
    """
    _refuse_large(len(data))
    try:
        header = read_header(data, _KEY, _Header, RECORD_VERSION, "record_version")
        arrays = _arrays(data)
    except ModelFileError as error:
        if error.code.startswith("record_"):
            raise
        # The layers below speak of a model file; the user has chosen a record.  Where they name
        # no field, either another program wrote the file, or it is not a safetensors file.
        foreign = error.code.startswith("model_foreign")
        usual = f"{_KEY} = –" if foreign else "safetensors"
        reason = error.values.get("reason", usual)
        raise ModelFileError("record_unreadable", reason=reason) from error
    _refuse_misfits(header, arrays)
    record = _record(header.text, header.tokens, header.spans, arrays, training=header.training)
    _refuse_false(record)
    return SavedRecord(record, header.query, header.model, header.answer, header.label)


def _refuse_misfits(header: _Header, arrays: dict[str, np.ndarray]) -> None:
    """Demand that tokens, spans, query and arrays fit each other."""
    T = len(header.tokens)
    if not 1 <= T <= MAX_TOKENS:
        raise ModelFileError("record_too_long", tokens=T, limit=MAX_TOKENS)
    length, query = len(header.text), header.query
    if len(header.spans) != T:
        raise ModelFileError("record_unreadable", reason=f"spans: {len(header.spans)} ≠ {T}")
    for place, (start, end) in enumerate(header.spans):
        if not start <= end <= length:
            raise ModelFileError("record_unreadable", reason=f"spans[{place}] = {start}, {end}")
    if query >= T:
        raise ModelFileError("record_unreadable", reason=f"query = {query}")
    L, H = _places(arrays, T)
    # A page draws a thumbnail for each head of each layer.
    if L * H > MOST_PLACES:
        raise ModelFileError("record_unreadable", reason=f"{L} × {H} > {MOST_PLACES}")


def _record(
    text: str,
    tokens: tuple[str, ...],
    spans: tuple[tuple[int, int], ...],
    arrays: dict[str, np.ndarray],
    *,
    training: bool,
) -> AttentionRecord:
    return AttentionRecord(
        text=text,
        query_tokens=tokens,
        key_tokens=tokens,
        query_spans=spans,
        key_spans=spans,
        head_outputs=np.zeros((*arrays["pattern"].shape[:3], 0), dtype=np.float32),
        scores=arrays["scores"],
        pattern=arrays["pattern"],
        mask=arrays["mask"],
        training=training,
    )


def _arrays(data: bytes) -> dict[str, np.ndarray]:
    tensors = read_tensors(data)
    if {name: tensor.dtype for name, tensor in tensors.items()} != _TENSORS:
        raise ModelFileError("record_unreadable", reason="tensors")
    return {name: tensor.numpy() for name, tensor in tensors.items()}


def _places(arrays: dict[str, np.ndarray], T: int) -> tuple[int, int]:
    """Return (L, H) of arrays that fit each other and T tokens; raise ModelFileError otherwise."""
    shape = arrays["pattern"].shape
    # min > 0: a record of no heads would pass every check on its numbers.
    fits = len(shape) == 4 and min(shape) > 0 and shape[2:] == (T, T)
    if not fits or arrays["scores"].shape != shape or arrays["mask"].shape != (T, T):
        raise ModelFileError("record_unreadable", reason="shapes")
    return int(shape[0]), int(shape[1])


def _refuse_false(record: AttentionRecord) -> None:
    """Refuse numbers that no softmax and no mask can give: they would be drawn as a finding."""
    pattern = record.pattern
    if not np.isfinite(pattern).all() or not np.isfinite(record.scores).all():
        raise ModelFileError("record_not_finite")
    for weight in (float(pattern.min()), float(pattern.max())):
        if not 0 <= weight <= 1 + ROW_SUM_TOLERANCE:
            raise ModelFileError("record_weight", value=weight)
    for check in record.checks():
        if not check.passed and check.code in _FALSE:
            raise ModelFileError(_FALSE[check.code], value=check.value)


def _refuse_large(size: int) -> None:
    if size > MAX_UPLOAD_BYTES:
        raise ModelFileError("record_too_large", bytes=size, limit=MAX_UPLOAD_BYTES)


def _cut(text: str) -> str:
    return text[:LONGEST_LABEL]
