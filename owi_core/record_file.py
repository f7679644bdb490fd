"""Readings on disk, to be taken home and laid beside another's: safetensors and JSON.

One `.safetensors` file holds scores, pattern and mask exactly as they were; its metadata holds the
words, the word that looks, the answer, and which model read them.  What a head adds to the
residual stream is left out: no row needs it, and it would be most of the file.
Shapes: L layers, H heads, T tokens.
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import safetensors.torch
import torch

from owi_core.checkpoints import MAX_UPLOAD_BYTES, Bundle, read_header, read_tensors
from owi_core.errors import ModelFileError
from owi_core.readings import MAX_TOKENS, Reading
from owi_core.record import RECORD_VERSION, ROW_SUM_TOLERANCE, AttentionRecord

LONGEST_LABEL = 200
LONGEST_TEXT = 5_000
MOST_PLACES = 4_096  # layers times heads
_KEY = "owi_record"
_TENSORS = {"scores": torch.float32, "pattern": torch.float32, "mask": torch.bool}
_FALSE = {"rows_sum_to_one": "record_rows", "forbidden_is_zero": "record_leaks"}
_NAMES = ("name", "weights", "recipe")


@dataclass(frozen=True)
class ModelName:
    """Which model read a sentence.

    name: what the page called it.  weights: hash of its numbers.  recipe: hash of how it was
    made, empty where nobody else could make it.
    """

    name: str
    weights: str
    recipe: str = ""


@dataclass(frozen=True)
class Said:
    """What the model answered, and whether it may be believed."""

    word: str
    probability: float
    known: bool


@dataclass(frozen=True, eq=False)
class SavedRecord:
    """One sentence as one model read it, looked at from token `query`.

    label: whose it is, if anybody said so.  The record has no head outputs: (L, H, T, 0).
    """

    record: AttentionRecord
    query: int
    model: ModelName
    answer: Said | None = None
    label: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """The tokens as typed."""
        return self.record.query_tokens


def saved(reading: Reading, name: str, label: str = "") -> SavedRecord:
    """Return what is kept of a reading; `name` is what the page calls its model."""
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
    model = ModelName(_cut(name), weights_hash(reading.bundle), _cut(recipe))
    said = Said(answer.word, answer.probability, answer.known)
    return SavedRecord(kept, reading.query, model, said, _cut(label))


def weights_hash(bundle: Bundle) -> str:
    """Return a short hash of a model's numbers: the same for two of the same weights."""
    hashed = hashlib.sha256()
    for name, parameter in bundle.model.named_parameters():
        hashed.update(name.encode())
        hashed.update(parameter.detach().contiguous().numpy().tobytes())
    return hashed.hexdigest()[:16]


def to_bytes(kept: SavedRecord) -> bytes:
    """Return the file.

    Raises ModelFileError("record_too_large") for one that could not be uploaded again.
    """
    record = kept.record
    tensors = {name: torch.tensor(getattr(record, name)) for name in _TENSORS}
    values = {
        "version": RECORD_VERSION,
        "text": record.text,
        "tokens": list(record.query_tokens),
        "spans": [list(span) for span in record.query_spans],
        "training": record.training,
        "query": kept.query,
        "model": asdict(kept.model),
        "answer": None if kept.answer is None else asdict(kept.answer),
        "label": kept.label,
    }
    data = safetensors.torch.save(tensors, {_KEY: json.dumps(values, allow_nan=False)})
    _refuse_large(len(data))
    return data


def from_bytes(data: bytes) -> SavedRecord:
    """Return the reading in `data`, which came from outside and may be anything.

    Raises ModelFileError for what is none, or proves to be no record of attention.
    """
    _refuse_large(len(data))
    try:
        header = read_header(data, _KEY)
        if header["version"] != RECORD_VERSION:
            found = _cut(str(header["version"]))
            raise ModelFileError("record_version", found=found, known=RECORD_VERSION)
        kept = _read(header, _arrays(data))
    except ModelFileError as error:
        if error.code.startswith("record_"):
            raise
        raise ModelFileError("record_unreadable", reason=error.values.get("reason", "")) from error
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ModelFileError("record_unreadable", reason=type(error).__name__) from error
    _refuse_false(kept.record)
    return kept


def _read(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> SavedRecord:
    tokens = tuple(_text(token, LONGEST_TEXT) for token in _list(header["tokens"]))
    T = len(tokens)
    if not 1 <= T <= MAX_TOKENS:
        raise ModelFileError("record_too_long", tokens=T, limit=MAX_TOKENS)
    text = _text(header["text"], LONGEST_TEXT)
    spans = tuple(_span(span, len(text)) for span in _list(header["spans"]))
    training = header["training"]
    if len(spans) != T or not isinstance(training, bool):
        raise ValueError(training)
    L, H = _places(arrays, T)
    if L * H > MOST_PLACES:
        raise ValueError(L, H)
    query = _whole(header["query"], 0, T - 1)
    model = {name: _text(header["model"][name], LONGEST_LABEL) for name in _NAMES}
    said = None if header["answer"] is None else _said(header["answer"])
    record = _record(text, tokens, spans, arrays, training=training)
    label = _text(header["label"], LONGEST_LABEL)
    return SavedRecord(record, query, ModelName(**model), said, label)


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
    """Return layers and heads of arrays that fit each other and T tokens."""
    shape = arrays["pattern"].shape
    fits = len(shape) == 4 and min(shape) > 0 and shape[2:] == (T, T)
    if not fits or arrays["scores"].shape != shape or arrays["mask"].shape != (T, T):
        raise ModelFileError("record_unreadable", reason="shapes")
    return int(shape[0]), int(shape[1])


def _refuse_false(record: AttentionRecord) -> None:
    """Demand what every true record proves of itself."""
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


def _said(values: Any) -> Said:
    probability, known = values["probability"], values["known"]
    number = isinstance(probability, int | float) and not isinstance(probability, bool)
    if not number or not 0 <= probability <= 1 or not isinstance(known, bool):
        raise ValueError(probability)
    return Said(_text(values["word"], LONGEST_TEXT), float(probability), known)


def _text(value: Any, longest: int) -> str:
    """Return a text that a browser can be sent: half a character cannot."""
    if not isinstance(value, str) or len(value) > longest:
        raise ValueError(type(value))
    value.encode()
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(type(value))
    return value


def _whole(value: Any, low: int, high: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ValueError(value)
    return value


def _span(value: Any, length: int) -> tuple[int, int]:
    start, end = _list(value)
    start = _whole(start, 0, length)
    return start, _whole(end, start, length)


def _cut(text: str) -> str:
    return text[:LONGEST_LABEL]
