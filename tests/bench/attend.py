"""The attention record of a sentence against Hugging Face's `output_attentions`."""

from typing import Any

import torch

from owi_core.config import ModelConfig
from owi_core.model import Transformer
from tests.bench.clock import in_turns, ratio
from tests.bench.peers import HuggingFace, Size

NAME = "attend"
SEEDS = (0, 1, 2)
LENGTHS = (16, 64, 256)
ROUNDS, REPEATS = 15, 10


def run() -> dict[str, Any]:
    """Return CPU seconds of one forward pass that gives every pattern, and ours over theirs."""
    torch.set_num_threads(1)
    return {f"{T} tokens": [_measure(T, seed) for seed in SEEDS] for T in LENGTHS}


def _measure(T: int, seed: int) -> dict[str, Any]:
    torch.manual_seed(seed)
    size = Size(T=T, B=1)
    config = ModelConfig(
        vocab_size=size.vocab_size, n_layer=size.n_layer, n_head=size.n_head,
        d_model=size.d_model, d_mlp=size.d_mlp, block_size=T,
    )  # fmt: skip
    ours = Transformer(config, torch.Generator().manual_seed(seed)).eval()
    theirs = HuggingFace(size, "eager").model.eval()
    ids = torch.randint(size.vocab_size, (1, T))

    def eager() -> list[Any]:
        return [a.numpy() for a in theirs(ids, output_attentions=True, use_cache=False).attentions]

    def record() -> Any:
        pattern = ours(ids, explicit=True).pattern
        assert pattern is not None
        return pattern.numpy()

    with torch.inference_mode():
        seconds = in_turns({"ours": record, "Hugging Face": eager}, ROUNDS, REPEATS)
    return {"seconds": seconds, "ours_to_theirs": ratio(seconds, "ours", "Hugging Face")}
