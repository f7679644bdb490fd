"""Heads switched off, one or many, on a copy: what the answer loses, and how heads share the work.

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
# Redundant: the dearest head alone costs less than this share of all of them together.
REDUNDANT, ALONE = 0.25, 0.75
OPPOSED = 1.5  # a head alone costs so much more than all together: the others work against it


@torch.no_grad()
def without_heads(model: Transformer, heads: Collection[Head]) -> Transformer:
    """Return a copy of the model in which these heads write nothing into the residual stream.

    Their values are 0, so it works with W_O and without, and their patterns stay to be looked at.
    """
    cut = copy.deepcopy(model)
    D = model.config.d_head
    for layer, head in heads:
        block: Any = cut.blocks[layer]
        own = slice(head * D, (head + 1) * D)
        block.attention.w_v.weight[own] = 0.0
        block.attention.w_v.bias[own] = 0.0
    return cut


def layer_heads(model: Transformer, layer: int) -> tuple[Head, ...]:
    """Return all heads of a layer."""
    return tuple((layer, head) for head in range(model.config.n_head))


def how_shared(singles: Sequence[float] | NDArray[np.float64], together: float) -> Sharing:
    """Say how the heads of a layer share the answer, by its change in nats without each and all.

    singles: (H,).  Redundant: each alone costs little, all together much.
    """
    cost, dearest = -together, -float(np.min(singles))
    if max(cost, dearest) < IDLE_NATS:
        return "worse_with" if cost <= -IDLE_NATS else "idle"
    if dearest < REDUNDANT * cost:
        return "redundant"
    if dearest > OPPOSED * cost:
        return "opposed"
    return "one_carries" if dearest >= ALONE * cost else "shared"
