"""Generation with kept keys and values against computing the whole text anew for each token."""

from typing import Any

import torch

from owi_core.config import ModelConfig, SamplingConfig
from owi_core.generation import generate
from owi_core.model import Transformer
from tests.bench.clock import in_turns, ratio

NAME = "generate"
SEEDS = (0, 1, 2)
ROUNDS = {256: 5, 1024: 1}


def run() -> dict[str, Any]:
    """Return CPU seconds of a text of so many tokens either way, and the ratio."""
    torch.set_num_threads(1)
    return {f"{n} tokens": [_measure(n, seed) for seed in SEEDS] for n in ROUNDS}


def _measure(n: int, seed: int) -> dict[str, Any]:
    config = ModelConfig(vocab_size=128, n_layer=3, block_size=n + 1)
    model = Transformer(config, torch.Generator().manual_seed(seed))
    sampling = SamplingConfig(temperature=1.0, max_new_tokens=n, seed=seed)

    def text(cache: bool) -> list[int]:
        return [drawn.id for drawn in generate(model, [1], sampling, cache=cache)]

    assert text(True) == text(False), "both must give the same text"
    works = {"kept": lambda: text(True), "anew": lambda: text(False)}
    seconds = in_turns(works, ROUNDS[n])
    return {"seconds": seconds, "kept_to_anew": ratio(seconds, "kept", "anew")}
