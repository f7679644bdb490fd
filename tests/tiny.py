"""Tiny models for the tests of the core, and the check that every error has its sentences."""

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor

from owi_core.assets import ASSETS
from owi_core.checkpoints import Bundle
from owi_core.config import ModelConfig
from owi_core.corpora import pronoun_corpus
from owi_core.errors import OwiError
from owi_core.model import Transformer
from owi_core.tokenizer import CharTokenizer, WordTokenizer

# Primes, all different: an axis that was swapped cannot fit.
LAYERS, BATCH, HEADS, D_HEAD, QUERIES, VOCABULARY, D_MLP = 2, 3, 5, 7, 11, 13, 17
KEYS = 19
D_MODEL = HEADS * D_HEAD


def tiny_config(**changes: Any) -> ModelConfig:
    settings: dict[str, Any] = {
        "vocab_size": VOCABULARY,
        "n_layer": LAYERS,
        "n_head": HEADS,
        "d_model": D_MODEL,
        "d_mlp": D_MLP,
        "block_size": 23,
        "positions": "learned",
        "embedding_std": 0.5,
        "init_std": 0.3,
    }
    return ModelConfig(**(settings | changes))


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def tiny_model(seed: int = 0, **changes: Any) -> Transformer:
    return Transformer(tiny_config(**changes), rng(seed)).eval()


def some_ids(*shape: int, seed: int = 1, vocab_size: int = VOCABULARY) -> Tensor:
    return torch.randint(vocab_size, shape, generator=rng(seed))


def word_bundle(seed: int = 0, family: str = "swap", **changes: Any) -> Bundle:
    """An untrained model over the words of the pronoun sentences."""
    corpus = pronoun_corpus(family, 0, 1, 1)
    tokenizer = WordTokenizer(corpus.words, 16, corpus.classes)
    settings = {"d_model": 8, "n_head": 2, "d_mlp": 8, "block_size": 64, "positions": "sinusoidal"}
    config = tiny_config(vocab_size=tokenizer.vocab_size, **(settings | changes))
    return Bundle(Transformer(config, rng(seed)).eval(), tokenizer, {"params": {"family": family}})


def character_bundle(text: str = "attentions 注意力！\n", **changes: Any) -> Bundle:
    tokenizer = CharTokenizer.from_text(text)
    config = tiny_config(vocab_size=tokenizer.vocab_size, **changes)
    return Bundle(Transformer(config, rng()).eval(), tokenizer, {"experiment": "language"})


def sentences_of(error: OwiError) -> list[str]:
    """The error's sentence in each language; a missing code or value fails here."""
    written = []
    for lang in ("zh", "en"):
        catalog = tomllib.loads((ASSETS / "i18n" / lang / "errors.toml").read_text("utf-8"))
        written.append(catalog["errors"][error.code].format_map(error.values))
    return written


@contextmanager
def refused(code: str, kind: type[OwiError] = OwiError, **values: Any) -> Iterator[None]:
    """Demand an error of this code, with these values, whose sentences can be written."""
    with pytest.raises(kind) as caught:
        yield
    assert caught.value.code == code
    assert values.items() <= caught.value.values.items()
    assert all(sentences_of(caught.value))


@contextmanager
def global_generator_untouched() -> Iterator[None]:
    before = torch.get_rng_state()
    yield
    assert torch.equal(torch.get_rng_state(), before)
