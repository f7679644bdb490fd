"""One sentence through a model, layer by layer: the residual stream before and after each.

Shapes: T tokens, H heads.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from owi_core.attention import AttentionOutput
from owi_core.errors import TextError
from owi_core.model import Transformer


class Entered(NamedTuple):
    """The two summands of the first layer's input: words and positions, (T, d_model) each."""

    words: Tensor
    places: Tensor


class LayerPass(NamedTuple):
    """The residual stream before and after a layer, (T, d_model), and its attention with B = 1."""

    before: Tensor
    attended: AttentionOutput
    after: Tensor


@torch.no_grad()
def entered(model: Transformer, ids: Sequence[int]) -> Entered:
    """Return what enters the first layer, in its two parts; TextError for too many ids."""
    T, limit = len(ids), model.config.block_size
    if limit < T:
        raise TextError("text_over_block", tokens=T, block_size=limit, over=T - limit)
    words = model.embedding(torch.tensor(ids)) * model.config.embedding_scale
    ordered = model.config.positions != "none"
    places = model.positions[:T].expand(T, -1) if ordered else torch.zeros_like(words)
    return Entered(words, places)


@torch.no_grad()
def walk(model: Transformer, ids: Sequence[int]) -> tuple[LayerPass, ...]:
    """Return the pass of each layer, with dropout off."""
    model.eval()
    mask = model.default_mask(len(ids))
    words, places = entered(model, ids)
    resid = (words + places)[None]  # (1, T, d_model)
    # The model's own blocks, on the explicit path: nothing is computed in a second way here.
    passes = []
    for block in model.blocks:
        after, attended = block(resid, mask, explicit=True, temperature=1.0)
        passes.append(LayerPass(resid[0], attended, after[0]))
        resid = after
    return tuple(passes)
