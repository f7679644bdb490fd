"""What an edge is worth: forbid it, and measure how far the answer's log-probability moves.

Attention weights show where a head looks, not whether the answer depends on it: this is the test.

Two ways give the same numbers.  The general one runs the model once per edge with a mask that
forbids it, B masks in a batch.  The short one, `_read_without`, applies where the answer is read at
the query itself: then only that one position changes, and it is enough to carry B variants of it
through the layers while all other positions keep what the undisturbed pass computed.

Shapes: L layers, H heads, T tokens, B variants.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from owi_core.attention import attention_pattern, attention_scores
from owi_core.errors import SettingError
from owi_core.model import Transformer
from owi_core.probes.walk import LayerPass, walk

MAX_SCORES = 4_000_000  # of one layer at a time, so that many heads and tokens fit in memory


@dataclass(frozen=True)
class Edge:
    """Query looks at key in one layer, in one head or (None) in all heads of the layer."""

    layer: int
    query: int
    key: int
    head: int | None = None


@torch.no_grad()
def answer_log_probability(
    model: Transformer, ids: Sequence[int], read_at: int, target: int, cut: Sequence[Edge] = ()
) -> float:
    """Return log p(target) in nats, read at position `read_at`, with the edges `cut` forbidden.

    Raises SettingError when a query would have no key left.
    """
    mask = _mask_without(model, len(ids), cut)
    return float(_log_probabilities(model, ids, read_at, target, mask)[0])


def knock_out_nats(
    model: Transformer, ids: Sequence[int], read_at: int, target: int, edge: Edge
) -> float:
    """Return the change of the answer's log-probability, in nats, when one edge is cut.

    Negative: the edge carried the answer.
    """
    before = answer_log_probability(model, ids, read_at, target)
    return answer_log_probability(model, ids, read_at, target, [edge]) - before


@torch.no_grad()
def knock_out_row(
    model: Transformer, ids: Sequence[int], query: int, read_at: int, target: int
) -> NDArray[np.float32]:
    """Return that change for every edge of one query, each cut in all heads of its layer: (L, T).

    NaN where the mask forbids the edge anyway or it is the query's only one.
    """
    L, T = model.config.n_layer, len(ids)
    allowed = model.default_mask(T)[query]  # (T,)
    changes = np.full((L, T), np.nan, dtype=np.float32)
    if int(allowed.sum()) < 2:
        return changes
    passes, places = walk(model, ids), allowed.nonzero()[:, 0]
    before = _log_p(model, passes[-1].after[read_at], target)
    for layer in range(L):
        # Does any other position change before the answer is read?  With a causal mask no: earlier
        # positions do not see the query.  Without one they see it a layer later, and the query
        # reads them a layer after that, so the cut must lie in one of the last two layers.
        alone = read_at == query and (model.config.mask == "causal" or layer >= L - 2)
        numbers = model.config.d_model if alone else model.config.n_head * T
        size = max(1, MAX_SCORES // (numbers * T))
        for start in range(0, len(places), size):
            keys = places[start : start + size]
            if alone:
                after = _read_without(model, passes, layer, query, keys, target)
            else:
                masks = [_mask_without(model, T, [Edge(layer, query, int(key))]) for key in keys]
                after = _log_probabilities(model, ids, read_at, target, torch.cat(masks, dim=1))
            changes[layer, keys.numpy()] = (after - before).numpy()
    return changes


def _read_without(
    model: Transformer,
    passes: Sequence[LayerPass],
    layer: int,
    query: int,
    keys: Tensor,
    target: int,
) -> Tensor:
    """Return log p(target) read at `query`, for each key removed from its row in `layer`: (B,).

    keys: (B,).  Only the token at `query` is computed; all others are as in `passes`.
    """
    allowed = model.default_mask(len(passes[0].before))[query]  # (T,)
    rows = allowed.repeat(len(keys), 1).scatter(1, keys[:, None], False)  # (B, T)
    blocks: Any = model.blocks[layer:]
    resid = passes[layer].before[query].expand(len(keys), -1)  # (B, d_model)
    for block, passed in zip(blocks, passes[layer:], strict=True):
        written = _written(block, passed.before, resid, query, rows)
        # The edge is cut in one layer: above it the query sees everything it may see.
        resid, rows = block.after_attention(resid, written), allowed
    return _log_p(model, resid, target)


def _written(block: Any, before: Tensor, resid: Tensor, query: int, rows: Tensor) -> Tensor:
    """Return what the block's attention writes for B variants of one token: (B, d_model).

    before: (T, d_model), the stream of all tokens.  resid: (B, d_model), the variants of the token
    at `query`; each sees itself in place of the original.  rows: (B, T) or (T,), where it may look.
    """
    attention = block.attention
    others, own = block.attention_input(before)[None], block.attention_input(resid)[None]
    _, k, v = attention.project(others, others)  # (1, H, T, D)
    q, own_k, own_v = attention.project(own, own)  # (1, H, B, D)
    # The B variants are treated as B queries of one sequence, whose keys are the original tokens.
    scores = attention_scores(q, k, scale=attention.scale_scores)  # (1, H, B, T)
    # Column `query` is still the original's key: put each variant's own key there, q_b · k_b.
    itself = attention_scores(q[..., None, :], own_k[..., None, :], scale=attention.scale_scores)
    scores[..., query] = itself[..., 0, 0]
    pattern = attention_pattern(scores, rows)  # (1, H, B, T)
    # The same for the values, without B copies of v: replace the original's value by the variant's.
    z = pattern @ v + pattern[..., query, None] * (own_v - v[:, :, query, None])  # (1, H, B, D)
    written: Tensor = attention.write(z)[0]
    return written


def _log_p(model: Transformer, resid: Tensor, target: int) -> Tensor:
    """Return log p(target), (…), read from the stream after the last layer, (…, d_model)."""
    logits: Tensor = model.lm_head(model.norm_final(resid))  # (…, V)
    return logits.log_softmax(dim=-1)[..., target]


def _mask_without(model: Transformer, T: int, cut: Sequence[Edge]) -> Tensor:
    L, H = model.config.n_layer, model.config.n_head
    mask = model.default_mask(T).expand(L, 1, H, T, T).clone()
    for edge in cut:
        heads = slice(None) if edge.head is None else edge.head
        mask[edge.layer, 0, heads, edge.query, edge.key] = False
    if not bool(mask.any(dim=-1).all()):
        raise SettingError("edge_is_the_only_one", query=cut[-1].query)
    return mask


def _log_probabilities(
    model: Transformer, ids: Sequence[int], read_at: int, target: int, mask: Tensor
) -> Tensor:
    """Return log p(target) for each of the B masks in (L, B, H, T, T): (B,)."""
    model.eval()
    B = mask.shape[1]
    batch = torch.tensor([list(ids)]).expand(B, -1)
    logits: Tensor = model(batch, mask=mask, read_at=torch.full((B,), read_at)).logits[:, 0]
    return logits.log_softmax(dim=-1)[:, target]
