"""An encoder–decoder on disk: one safetensors file with both vocabularies, never pickle."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from msgspec import Struct

from owi_core.checkpoints import read_header, read_tensors, refuse_misfits
from owi_core.config import PairConfig
from owi_core.encoder_decoder import EncoderDecoder
from owi_core.errors import ModelFileError
from owi_core.tokenizer import WordTokenizer, tokenizer_from_dict
from owi_core.translating import Languages

FILE_NAME = "translator.safetensors"
FILE_VERSION = 1
_KEY = "owi_translator"


@dataclass(frozen=True)
class TranslatorBundle:
    """A model, its two tokenizers, and a note of how it was made (see `checkpoints.Note`)."""

    model: EncoderDecoder
    languages: Languages
    note: dict[str, Any]


class _Header(Struct, frozen=True):
    version: int
    model: dict[str, Any]
    source: dict[str, Any]
    target: dict[str, Any]
    note: dict[str, Any]


def save(bundle: TranslatorBundle, folder: Path) -> Path:
    """Write the model into `folder`, made if need be, and return the file's path."""
    header = {
        "version": FILE_VERSION,
        "model": bundle.model.config.to_dict(),
        "source": bundle.languages.source.to_dict(),
        "target": bundle.languages.target.to_dict(),
        "note": bundle.note,
    }
    # named_parameters names a shared matrix once, so nothing is stored twice.
    tensors = {n: p.detach().clone() for n, p in bundle.model.named_parameters()}
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE_NAME
    half = path.with_suffix(".half")
    metadata = {_KEY: json.dumps(header, allow_nan=False)}
    half.write_bytes(safetensors.torch.save(tensors, metadata))
    half.replace(path)  # atomic: another process never sees half a file
    return path


def load(folder: Path) -> TranslatorBundle:
    """Return the model that `save` wrote into `folder`; ModelFileError when there is none."""
    try:
        data = (folder / FILE_NAME).read_bytes()
    except OSError as error:
        raise ModelFileError("model_not_found", name=folder.name) from error
    header = read_header(data, _KEY, _Header, FILE_VERSION, "model_version")
    tensors = read_tensors(data)
    model = EncoderDecoder(PairConfig.from_dict(header.model), torch.Generator().manual_seed(0))
    refuse_misfits(tensors, dict(model.named_parameters()))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(tensors[name])
    model.eval()
    sides = [tokenizer_from_dict(side) for side in (header.source, header.target)]
    languages = Languages(*(side for side in sides if isinstance(side, WordTokenizer)))
    return TranslatorBundle(model, languages, header.note)
