"""Three mistakes around the output projection, each wrapped round a copy of the right model.

`identity`: W_O does nothing. `no_residual`: what attention writes replaces the stream instead of
being added to it. `doubled_residual`: attention adds its input itself, and the block once more.
"""

import copy
from typing import Any

import torch
from torch import Tensor, nn

from owi_core.config import ModelConfig
from owi_core.model import Block, Transformer


class WithoutResidual(Block):
    """Mistake: resid = Attention(x)."""

    def join(self, resid: Tensor, written: Tensor) -> Tensor:
        """Return what attention wrote; what the stream held is lost."""
        return written


class DoubledResidual(Block):
    """Mistake: attention returns x + Attention(x), and the block adds x again."""

    def join(self, resid: Tensor, written: Tensor) -> Tensor:
        """Return 2 x + Attention(x)."""
        return resid + (resid + written)


BLOCKS: dict[str, type[Block]] = {
    "no_residual": WithoutResidual,
    "doubled_residual": DoubledResidual,
}
FAULTS = ("identity", *BLOCKS)


def broken(model: Transformer, fault: str) -> Transformer:
    """Return a copy of the model with its weights and one mistake; `model` stays as it is."""
    # A cached model is shared by all visitors and is never changed.
    wrong = copy.deepcopy(model)
    each: Any
    for each in wrong.blocks:
        if fault == "identity":
            _do_nothing(each.attention.w_o)
        else:
            # The layers in it are the same; only how attention joins the stream is another.
            each.__class__ = BLOCKS[fault]
    return wrong


def make(config: ModelConfig, rng: torch.Generator, fault: str = "") -> Transformer:
    """Return a freshly drawn model, right, or with a mistake in it from the start."""
    model = Transformer(config, rng)
    return broken(model, fault) if fault else model


@torch.no_grad()
def _do_nothing(w_o: Any) -> None:
    """Make the projection an identity; a model without one has it already."""
    if isinstance(w_o, nn.Linear):
        nn.init.eye_(w_o.weight)
        # The bias too: an identity with a shift would still write something of its own.
        nn.init.zeros_(w_o.bias)
