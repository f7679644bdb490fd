"""Models on disk: safetensors and JSON, never pickle.

A checkpoint is one `.safetensors` file whose metadata holds the model's settings, its vocabulary
and a note of how it was made, so that it can be downloaded, mailed and uploaded as one thing.
A shared matrix is stored once, under its embedding name.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypedDict, TypeVar

import safetensors
import safetensors.torch
import torch
from msgspec import Meta, Struct, field
from torch import Tensor

from owi_core.assets import ASSETS
from owi_core.config import ModelConfig
from owi_core.errors import ModelFileError, OwiError
from owi_core.model import Transformer
from owi_core.tokenizer import CharTokenizer, WordTokenizer, tokenizer_from_dict
from owi_core.untrusted import WRITABLE, MisfitError, checked, decoded, refuse_repeats, short

CHECKPOINT_VERSION = 1
MAX_UPLOAD_BYTES = 5_000_000
MAX_HEADER_BYTES = 500_000  # nested JSON takes about forty times its size in memory
FILE_NAME = "model.safetensors"
SHIPPED = ASSETS / "models"
_HEAD, _EMBEDDING = "lm_head.weight", "embedding.weight"
_POSITIONS = "positions"
_COMPILED = "_orig_mod."  # torch.compile puts it before each name
# What GPT-2, nanoGPT and their copies call their embedding, blocks and positions.
_GPT = re.compile(r"(^|\.)(wte|wpe|h\.\d+\.(attn|mlp)\.c_|attn\.c_attn)")
_KEY = "owi"
# What torch raises for a header that contradicts itself: unknown dtypes, sizes past 64 bits.
_NOT_TENSORS = (ValueError, KeyError, TypeError, RuntimeError, OverflowError)

T = TypeVar("T")


_Line = Annotated[str, Meta(pattern=WRITABLE)]  # shown to users, so it must reach a browser


class Note(TypedDict, total=False):
    """What a checkpoint says of its origin; other keys are allowed and ignored.

    recipe: hash of experiment, parameters and code version.  command: the command line that makes
    the model again, empty for a private one.  private: it was trained on text that a user typed.
    """

    experiment: _Line
    params: dict[str, Any]
    recipe: _Line
    command: _Line
    private: bool
    result: dict[str, Any]


class _FileHeader(Struct, frozen=True):
    """The JSON at the beginning of any safetensors file; its tensors are read by torch."""

    metadata: dict[str, str] = field(name="__metadata__")


class _Header(Struct, frozen=True):
    version: int
    model: dict[str, Any]
    tokenizer: dict[str, Any]
    note: dict[str, Any]


@dataclass(frozen=True)
class Bundle:
    """A model, the tokenizer it was trained with, and a note of how it was made.

    widened_from: the bundle that this one copies with more rows for unknown words, if it does.
    """

    model: Transformer
    tokenizer: CharTokenizer | WordTokenizer
    note: dict[str, Any]
    widened_from: "Bundle | None" = None

    @property
    def source(self) -> "Bundle":
        """The bundle as it was trained: readings of one source come from one model."""
        return self.widened_from or self


def to_bytes(bundle: Bundle) -> bytes:
    """Return the checkpoint as the bytes of one safetensors file."""
    return safetensors.torch.save(_tensors(bundle.model), {_KEY: _metadata(bundle)})


def save(bundle: Bundle, folder: Path) -> Path:
    """Write the checkpoint into `folder`, made if need be, and return the file's path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE_NAME
    half = path.with_suffix(".half")
    half.write_bytes(to_bytes(bundle))
    half.replace(path)  # atomic: another process never sees half a file
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


def read_header(data: bytes, key: str, kind: type[T], version: int, code: str) -> T:
    """Return what a safetensors file of ours keeps under `key` in its metadata, as a `kind`.

    The data comes from outside.  Raises ModelFileError(code) for another version, and
    ModelFileError("model_unreadable", reason), with the field and its value, for anything else.
    """
    # A safetensors file is the length of its header (8 bytes), the header as JSON, the numbers.
    length = int.from_bytes(data[:8], "little")
    if length > MAX_HEADER_BYTES:
        # Only bytes are compared: a pickle, which .pt files are, is never opened.
        pickled = data.startswith((b"PK\x03\x04", b"\x80"))
        raise ModelFileError("model_pickled" if pickled else "model_no_safetensors")
    try:
        file = decoded(data[8 : 8 + length], _FileHeader)
        text = file.metadata.get(key)
        if text is None:
            raise MisfitError("Object missing required field", (key,))
        header: dict[str, Any] = decoded(text, dict[str, Any])
        refuse_repeats(text)
        # The version goes first: another version may have any other fields.
        if header.get("version", version) != version:
            raise ModelFileError(code, found=short(header["version"]), known=version)
        return checked(header, kind)
    except MisfitError as error:
        _refuse_foreign(data[8 : 8 + length], key)
        raise ModelFileError("model_unreadable", reason=error.where) from error


def _refuse_foreign(header: bytes, key: str) -> None:
    """Raise ModelFileError for a safetensors file of another program, by its tensors' names."""
    try:
        values = decoded(header, dict[str, Any])
    except MisfitError:
        return
    metadata = values.pop("__metadata__", None)
    if not values or (isinstance(metadata, dict) and key in metadata):
        return
    name = min(values)
    gpt = any(_GPT.search(each) for each in values)
    raise ModelFileError("model_foreign_gpt" if gpt else "model_foreign", name=short(name))


def read_tensors(data: bytes) -> dict[str, Tensor]:
    """Return the tensors of a safetensors file from outside, or raise ModelFileError."""
    try:
        return safetensors.torch.load(data)
    except (safetensors.SafetensorError, *_NOT_TENSORS) as error:
        raise ModelFileError("model_tensors_unreadable") from error


def _decode(data: bytes) -> Bundle:
    header = read_header(data, _KEY, _Header, CHECKPOINT_VERSION, "model_version")
    _refuse_false_note(header.note)
    tensors = read_tensors(data)
    config = _config(header.model)
    tokenizer = tokenizer_from_dict(header.tokenizer)
    if tokenizer.vocab_size != config.vocab_size:
        raise _misfit("vocab_size", tokenizer.vocab_size, config.vocab_size)
    _refuse_altered(tensors)
    _merge_tied(tensors, config)
    # Settings that ask for far more numbers than the file holds must not allocate memory, so the
    # count comes before the model.  (Building it on torch's `meta` device would give the shapes
    # too, but that loads 70 MB of modules.)  The shapes are compared exactly below.
    n_numbers = sum(tensor.numel() for tensor in tensors.values())
    if config.n_params > 2 * n_numbers + 1_000:
        _refuse_shapes(tensors, config)
        raise _misfit("model", n_numbers, config.n_params)
    model = Transformer(config, torch.Generator().manual_seed(0))
    refuse_misfits(tensors, dict(model.named_parameters()))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(tensors[name])
    model.eval()
    return Bundle(model, tokenizer, header.note)


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


def _refuse_false_note(note: dict[str, Any]) -> None:
    """Refuse a note whose known keys have values of another type; the note itself is kept whole."""
    try:
        checked(note, Note)
    except MisfitError as error:
        raise ModelFileError("model_unreadable", reason=f"note.{error.where}") from error


def _misfit(name: object, found: object, wanted: object) -> ModelFileError:
    """Return the error for a part of the file that is not what the file's own settings ask for."""
    values = {"name": name, "found": found, "wanted": wanted}
    return ModelFileError("model_misfit", **{key: short(value) for key, value in values.items()})


def _config(settings: dict[str, Any]) -> ModelConfig:
    try:
        return ModelConfig.from_dict(settings)
    except OwiError as error:
        values = error.values
        # Two errors name no setting: d_model is not divisible by n_head, or odd.
        if error.code == "d_model_not_divisible":
            wanted = f"d_model / n_head, d_model = {short(values['d_model'])}"
            raise _misfit("n_head", values["n_head"], wanted) from error
        name = values.get("name", "d_model")
        bounds = f"{values['low']} … {values['high']}" if "low" in values else "–"
        raise _misfit(name, settings.get(name, "–"), values.get("choices", bounds)) from error
    except TypeError as error:  # a setting without a default is missing
        raise ModelFileError("model_unreadable", reason="model.vocab_size = –") from error


def _refuse_altered(tensors: dict[str, Tensor]) -> None:
    """Refuse what other tools make of a model of ours: half precision, names of a compiled one."""
    for name, tensor in tensors.items():
        if name.startswith(_COMPILED):
            raise ModelFileError("model_compiled", name=short(name), prefix=_COMPILED)
        if tensor.dtype in (torch.bfloat16, torch.float16):
            dtype = str(tensor.dtype).removeprefix("torch.")
            raise ModelFileError("model_half", name=short(name), dtype=dtype)


def _merge_tied(tensors: dict[str, Tensor], config: ModelConfig) -> None:
    """Drop a second copy of the shared matrix; refuse one that disagrees with the first.

    A file that holds it under the head's name alone is complete.
    """
    if not config.tie_weights or _HEAD not in tensors:
        return
    head = tensors.pop(_HEAD)
    embedding = tensors.setdefault(_EMBEDDING, head)
    if head.shape != embedding.shape or not torch.equal(head, embedding):
        raise ModelFileError("tied_weights_conflict")


def _refuse_shapes(tensors: dict[str, Tensor], config: ModelConfig) -> None:
    """Refuse a matrix whose rows contradict the settings, before a model is built."""
    rows = {_EMBEDDING: config.vocab_size, _HEAD: config.vocab_size, _POSITIONS: config.block_size}
    for name, n_rows in rows.items():
        if name in tensors and tuple(tensors[name].shape) != (n_rows, config.d_model):
            raise _misfit(name, _size(tensors[name]), f"{n_rows}×{config.d_model}")


def refuse_misfits(tensors: dict[str, Tensor], wanted: dict[str, torch.nn.Parameter]) -> None:
    """Raise ModelFileError unless the tensors are those of a model, by name, shape and kind."""
    if set(wanted) != set(tensors):
        name = min(set(wanted) ^ set(tensors))
        found, asked = tensors.get(name), wanted.get(name)
        raise _misfit(name, _size(found), _size(asked))
    for name, parameter in wanted.items():
        tensor = tensors[name]
        if tensor.shape != parameter.shape:
            raise _misfit(name, _size(tensor), _size(parameter))
        if tensor.dtype != torch.float32:
            raise _misfit(name, str(tensor.dtype).removeprefix("torch."), "float32")
        odd = tensor[~torch.isfinite(tensor)]
        if len(odd):
            raise _misfit(name, float(odd[0]), "-3.4e38 … 3.4e38")


def _size(tensor: Tensor | None) -> str:
    """Return a shape as a sentence shows it: 64×128."""
    return "–" if tensor is None else "×".join(map(str, tensor.shape)) or "1"
