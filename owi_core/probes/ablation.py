"""Heads switched off on a copy of the model: what the answer loses, how heads share the work.

Shapes: L layers, H heads.
"""

import copy
from collections.abc import Collection, Sequence
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from owi_core.model import Transformer

Head = tuple[int, int]  # layer and head, both from 0
Sharing = Literal["redundant", "one_carries", "shared", "idle", "opposed", "worse_with"]

IDLE_NATS = 0.3
# Redundant: the most important head alone costs less than this share of all of them together.
REDUNDANT, ALONE = 0.25, 0.75
OPPOSED = 1.5  # one head alone costs this much more than all: the others work against it


@torch.no_grad()
def without_heads(model: Transformer, heads: Collection[Head]) -> Transformer:
    """Return a copy of the model in which these heads write nothing into the residual stream.

    Their values are 0, which works with W_O and without, and their patterns can still be read.
    """
    cut = copy.deepcopy(model)
    D = model.config.d_head
    for layer, head in heads:
        block: Any = cut.blocks[layer]
        own = slice(head * D, (head + 1) * D)  # the rows of W_V that make this head's values
        block.attention.w_v.weight[own] = 0.0
        block.attention.w_v.bias[own] = 0.0
    return cut


def layer_heads(model: Transformer, layer: int) -> tuple[Head, ...]:
    """Return all heads of a layer."""
    return tuple((layer, head) for head in range(model.config.n_head))


def how_shared(singles: Sequence[float] | NDArray[np.float64], together: float) -> Sharing:
    """Return how the heads of a layer share the answer, by its change in nats without each and all.

    singles: (H,).  Redundant: each alone costs little, all together much.
    """
    # Changes are negative where the answer needs the head, so costs are their negatives.
    cost, largest = -together, -float(np.min(singles))
    if max(cost, largest) < IDLE_NATS:
        return "worse_with" if cost <= -IDLE_NATS else "idle"
    if largest < REDUNDANT * cost:
        return "redundant"
    if largest > OPPOSED * cost:
        return "opposed"
    return "one_carries" if largest >= ALONE * cost else "shared"
