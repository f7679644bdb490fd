"""Models on disk: safetensors and JSON, never pickle.

A checkpoint is one `.safetensors` file whose metadata holds the model's settings, its vocabulary
and a note of how it was made, so that it can be downloaded, mailed and uploaded as one thing.
A shared matrix is stored once, under its embedding name.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from owi_core.assets import ASSETS
from owi_core.config import ModelConfig
from owi_core.errors import ModelFileError, OwiError
from owi_core.model import Transformer
from owi_core.tokenizer import CharTokenizer, WordTokenizer, tokenizer_from_dict

CHECKPOINT_VERSION = 1
MAX_UPLOAD_BYTES = 5_000_000
MAX_HEADER_BYTES = 500_000  # nested JSON takes some forty times its size in memory
FILE_NAME = "model.safetensors"
SHIPPED = ASSETS / "models"
_HEAD, _EMBEDDING = "lm_head.weight", "embedding.weight"
_KEY = "owi"
# What torch raises for a header that contradicts itself: odd kinds, sizes past 64 bits.
_NOT_TENSORS = (ValueError, KeyError, TypeError, RuntimeError, OverflowError)


@dataclass(frozen=True)
class Bundle:
    """A model, the tokenizer it was trained with, and a note of how it was made."""

    model: Transformer
    tokenizer: CharTokenizer | WordTokenizer
    note: dict[str, Any]


def to_bytes(bundle: Bundle) -> bytes:
    """Return the checkpoint as the bytes of one safetensors file."""
    return safetensors.torch.save(_tensors(bundle.model), {_KEY: _metadata(bundle)})


def save(bundle: Bundle, folder: Path) -> Path:
    """Write the checkpoint into `folder`, made if need be, and return the file's path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE_NAME
    half = path.with_suffix(".half")
    half.write_bytes(to_bytes(bundle))
    half.replace(path)  # a reader never meets half a file
    return path


def load(folder: Path) -> Bundle:
    """Return the checkpoint in `folder`; raise ModelFileError when there is none that fits."""
    path = folder / FILE_NAME
    try:
        return _decode(path.read_bytes())
    except OSError as error:
        raise ModelFileError("model_not_found", name=folder.name) from error


def shipped_names() -> tuple[str, ...]:
    """Return the names of the models that come with the app."""
    return tuple(sorted(path.parent.name for path in SHIPPED.glob(f"*/{FILE_NAME}")))


def shipped(name: str) -> Bundle:
    """Return the shipped model called `name`; raise ModelFileError for another name."""
    if name not in shipped_names():
        raise ModelFileError("model_unknown", name=name, known=", ".join(shipped_names()))
    return load(SHIPPED / name)


def from_bytes(data: bytes) -> Bundle:
    """Return the checkpoint in `data`, which came from outside and may be anything.

    Sizes are checked against the settings before a model is built, tied weights are one object
    afterwards, and two conflicting values for the shared matrix are refused.
    Raises ModelFileError for bytes that are no checkpoint of this app.
    """
    if len(data) > MAX_UPLOAD_BYTES:
        raise ModelFileError("model_too_large", bytes=len(data), limit=MAX_UPLOAD_BYTES)
    return _decode(data)


def read_header(data: bytes, key: str) -> dict[str, Any]:
    """Return the JSON that a safetensors file of ours keeps under `key` in its metadata.

    Raises ModelFileError("model_unreadable") for bytes from outside that hold none.
    """
    try:
        length = int.from_bytes(data[:8], "little")
        if length > MAX_HEADER_BYTES:
            raise ModelFileError("model_unreadable", reason="header")
        header = json.loads(json.loads(data[8 : 8 + length])["__metadata__"][key])
        json.dumps(header, allow_nan=False)  # what cannot be written again is not taken in
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError) as error:
        raise ModelFileError("model_unreadable", reason=type(error).__name__) from error
    if not isinstance(header, dict) or "version" not in header:
        raise ModelFileError("model_unreadable", reason="KeyError")
    return header


def read_tensors(data: bytes) -> dict[str, Tensor]:
    """Return the tensors of a safetensors file from outside, or raise ModelFileError."""
    try:
        return safetensors.torch.load(data)
    except (safetensors.SafetensorError, *_NOT_TENSORS) as error:
        raise ModelFileError("model_unreadable", reason=type(error).__name__) from error


def _decode(data: bytes) -> Bundle:
    header = _header(data)
    tensors = read_tensors(data)
    config = _config(header)
    tokenizer = tokenizer_from_dict(_dictionary(header, "tokenizer"))
    if tokenizer.vocab_size != config.vocab_size:
        raise ModelFileError("model_misfit", name="vocab_size")
    _merge_tied(tensors, config)
    # Settings that ask for far more numbers than the file holds get no memory. (To build the model
    # on torch's `meta` device would tell its shapes too, and load 70 MB of modules for it.)
    if config.n_params > 2 * sum(tensor.numel() for tensor in tensors.values()) + 1_000:
        raise ModelFileError("model_misfit", name="model")
    model = Transformer(config, torch.Generator().manual_seed(0))
    _refuse_misfits(tensors, dict(model.named_parameters()))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(tensors[name])
    model.eval()
    return Bundle(model, tokenizer, _dictionary(header, "note"))


def _tensors(model: Transformer) -> dict[str, Tensor]:
    # named_parameters names a shared matrix once, so nothing is stored twice.
    return {n: p.detach().clone().contiguous() for n, p in model.named_parameters()}


def _metadata(bundle: Bundle) -> str:
    values = {
        "version": CHECKPOINT_VERSION,
        "model": bundle.model.config.to_dict(),
        "tokenizer": bundle.tokenizer.to_dict(),
        "note": bundle.note,
    }
    return json.dumps(values, allow_nan=False)


def _header(data: bytes) -> dict[str, Any]:
    header = read_header(data, _KEY)
    version = header["version"]
    if version != CHECKPOINT_VERSION:
        raise ModelFileError("model_version", found=_short(version), known=CHECKPOINT_VERSION)
    return header


def _config(header: dict[str, Any]) -> ModelConfig:
    settings = _dictionary(header, "model")
    try:
        return ModelConfig.from_dict(settings)
    except OwiError as error:
        name = _short(error.values.get("name", "d_model"))  # all else is about d_model
        raise ModelFileError("model_misfit", name=name) from error
    except TypeError as error:
        raise ModelFileError("model_unreadable", reason="TypeError") from error


def _dictionary(header: dict[str, Any], name: str) -> dict[str, Any]:
    value = header.get(name)
    if not isinstance(value, dict):
        raise ModelFileError("model_unreadable", reason=name)
    return value


def _merge_tied(tensors: dict[str, Tensor], config: ModelConfig) -> None:
    """Drop a second copy of the shared matrix; refuse one that disagrees with the first."""
    if not config.tie_weights or _HEAD not in tensors:
        return
    head = tensors.pop(_HEAD)
    embedding = tensors.get(_EMBEDDING)
    if embedding is None or head.shape != embedding.shape or not torch.equal(head, embedding):
        raise ModelFileError("tied_weights_conflict")


def _refuse_misfits(tensors: dict[str, Tensor], wanted: dict[str, torch.nn.Parameter]) -> None:
    if set(wanted) != set(tensors):
        name = min(set(wanted) ^ set(tensors))
        raise ModelFileError("model_misfit", name=_short(name))
    for name, parameter in wanted.items():
        tensor = tensors[name]
        fits = tensor.shape == parameter.shape and tensor.dtype == torch.float32
        if not fits or not bool(torch.isfinite(tensor).all()):
            raise ModelFileError("model_misfit", name=name)


def _short(value: object) -> str:
    """Return a value from a file that may hold anything, fit for a sentence."""
    text = str(value)
    return text if len(text) <= 40 else text[:39] + "…"
