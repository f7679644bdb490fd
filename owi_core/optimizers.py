"""The update rules of a training: Adam and AdamW of torch, our Muon; none loads a compiler.

Making or stepping an optimizer of torch 2.13 imports `torch._dynamo`. `process.skip_compiler_hooks`
prevents it for what all optimizers share; the two classes here do it for their step.
"""

from typing import Any

import torch

from owi_core.config import TrainConfig
from owi_core.muon import Muon
from owi_core.process import skip_compiler_hooks, unwrapped


class Adam(torch.optim.Adam):
    """The optimizer of torch, with the same numbers."""

    step = torch.no_grad()(unwrapped(torch.optim.Adam.step))


class AdamW(torch.optim.AdamW):
    """The optimizer of torch, with the same numbers."""

    step = torch.no_grad()(unwrapped(torch.optim.AdamW.step))


def optimizers_of(model: Any, config: TrainConfig) -> list[torch.optim.Optimizer]:
    """Return the optimizers that `config` names; each parameter belongs to exactly one of them."""
    skip_compiler_hooks()
    decay, lr = config.weight_decay, config.lr
    if config.optimizer == "adam":
        return [Adam(model.parameters(), lr=lr, weight_decay=decay, fused=True)]
    if config.optimizer == "adamw":
        return [AdamW(model.parameters(), lr=lr, weight_decay=decay, fused=True)]
    # Muon is for the matrices between the embedding and the head (Jordan 2024).
    # An encoder–decoder has two stacks of blocks: encoder.blocks and decoder.blocks.
    inner = (p for name, p in model.named_parameters() if "blocks." in name)
    matrices = [p for p in inner if p.ndim == 2]
    chosen = {id(p) for p in matrices}
    rest = [p for p in model.parameters() if id(p) not in chosen]
    return [
        Muon(matrices, lr=lr, weight_decay=decay),
        AdamW(rest, lr=lr, weight_decay=decay, fused=True),
    ]
