"""Attention of limited range, computed without a T × T buffer; every kind is causal.

Shapes: B batch, H heads, T tokens, D = d_head, W window, G global positions, n blocks.
Each function equals dense attention under its mask in `masks` (linear attention has its own
definition), and gradients flow through it.

The idea they share: cut the sequence into blocks of W positions, move the blocks to the batch axis,
and let every block attend to the few keys it may see.  The scores are then n blocks of W × 2W
numbers instead of T × T.  What a block holds beyond its range is masked: a block computes more
scores than are allowed, but never more than twice its range per query.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from owi_core.attention import attention_pattern, attention_scores
from owi_core.masks import Range, Reach, causal

CHUNK = 64  # of linear attention: larger chunks cost more scores, smaller ones more sums


def attend(kind: Range, q: Tensor, k: Tensor, v: Tensor, reach: Reach, layer: int = 0) -> Tensor:
    """Return what layer number `layer` of a kind of range computes, (B, H, T, D)."""
    if kind == "window":
        return window_attention(q, k, v, reach.size)
    if kind == "window_global":
        return window_attention(q, k, v, reach.size, reach.n_global)
    if kind == "dilated":
        return dilated_attention(q, k, v, reach.size, reach.step**layer)
    if kind == "shifted":
        return block_attention(q, k, v, reach.size, reach.size // 2 * (layer % 2))
    if kind == "linear":
        return linear_attention(q, k, v)
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def explicit_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Return softmax(q kᵀ / √d_head) v under `mask`, with every T × T matrix in memory."""
    return attention_pattern(attention_scores(q, k), mask) @ v


def window_attention(q: Tensor, k: Tensor, v: Tensor, size: int, n_global: int = 0) -> Tensor:
    """Return causal attention over the last `size` positions and the first `n_global`.

    q, k, v: (B, H, T, D).  Blocks of W queries attend to the 2W keys of their own block and the one
    before, and to the G global keys: T · (2W + G) scores in place of T · T.
    Source: Beltagy et al. 2020, Longformer, section 3.1.
    """
    B, H, T, D = q.shape
    W, G = size, min(n_global, T)
    # Two blocks are always enough: a query at offset o of its block sees back to offset o + 1 of
    # the block before, because its window of W positions counts the query itself.
    q, k, v = (_pad_end(x, W) for x in (q, k, v))  # (B, H, n·W, D)
    n = q.shape[2] // W
    keys, values = (_with_block_before(x.reshape(B * H, n, W, D)) for x in (k, v))
    if G:
        # Every block gets its own view of the first G keys, in front of its local ones.
        keys, values = (
            torch.cat([x[:, :, :G].reshape(B * H, 1, G, D).expand(-1, n, -1, -1), local], dim=2)
            for x, local in ((k, keys), (v, values))
        )  # (B·H, n, G + 2W, D)
    mask = _block_mask(n, W, G)  # (n, W, G + 2W)
    z = F.scaled_dot_product_attention(q.reshape(B * H, n, W, D), keys, values, mask)
    return z.reshape(B, H, n * W, D)[:, :, :T]


def dilated_attention(q: Tensor, k: Tensor, v: Tensor, size: int, step: int) -> Tensor:
    """Return causal attention over `size` keys `step` positions apart.

    Positions t with the same t mod `step` see only each other.  They are `step` independent
    sequences, and in each of them the dilated window is an ordinary one.
    """
    B, H, T, D = q.shape
    step = min(step, T)  # from T on every sequence has a single token
    q, k, v = (_comb(x, step) for x in (q, k, v))  # (B, H·step, T/step, D)
    z = window_attention(q, k, v, size)
    # The inverse of _comb: position t is element t // step of sequence t mod step.
    z = z.reshape(B, H, step, -1, D).transpose(2, 3).reshape(B, H, -1, D)
    return z[:, :, :T]


def block_attention(q: Tensor, k: Tensor, v: Tensor, size: int, shift: int = 0) -> Tensor:
    """Return causal attention inside blocks of `size`, the first one `shift` positions shorter."""
    B, H, T, D = q.shape
    # `shift` zeros in front move the borders: the first block then has size − shift real tokens.
    q, k, v = (_pad_end(F.pad(x, (0, 0, shift, 0)), size) for x in (q, k, v))
    n = q.shape[2] // size
    mask = causal(size).repeat(n, 1, 1)  # (n, W, W)
    # The zeros in front come first, so the causal mask would let real tokens see them.  They still
    # see themselves: a row without any key would be NaN, and so would its gradient.
    mask[0, shift:, :shift] = False
    q, k, v = (x.reshape(B * H, n, size, D) for x in (q, k, v))
    z = F.scaled_dot_product_attention(q, k, v, mask)
    return z.reshape(B, H, n * size, D)[:, :, shift : shift + T]


def linear_attention(q: Tensor, k: Tensor, v: Tensor, chunk: int = CHUNK) -> Tensor:
    """Return Σ_s φ(q_t)·φ(k_s) v_s / Σ_s φ(q_t)·φ(k_s) over s ≤ t, with φ = elu + 1.

    Without a softmax the sum over keys can be taken first: φ(q)·Σ φ(k) vᵀ, a matrix of D × D
    whatever T is.  Inside a chunk the scores are computed; all earlier chunks are one such sum.
    Source: Katharopoulos et al. 2020, eqs. 7 and 9.
    """
    B, H, T, D = q.shape
    q, k = F.elu(q) + 1, F.elu(k) + 1
    q, k, v = (_pad_end(x, chunk) for x in (q, k, v))
    # The denominator is the same sum with v = 1: a column of ones next to the values gives both.
    # The padding came after φ: padded keys are 0, not φ(0) = 1, and add nothing to either.
    v = torch.cat([v, torch.ones_like(v[..., :1])], dim=-1)
    q, k, v = (x.reshape(B, H, -1, chunk, x.shape[-1]) for x in (q, k, v))
    sums = k.transpose(-2, -1) @ v  # (B, H, n, D, D + 1)
    before = sums.cumsum(dim=2) - sums  # of all earlier chunks, without the own
    scores = (q @ k.transpose(-2, -1)) * causal(chunk)  # (B, H, n, chunk, chunk)
    z = (scores @ v + q @ before).reshape(B, H, -1, D + 1)[:, :, :T]
    return z[..., :D] / z[..., D:]


def pairs_computed(kind: Range, T: int, reach: Reach) -> int:
    """Return how many scores one head of the first layer computes for T tokens, masked ones too."""
    # Later layers differ by their padding alone: at most one more block, or one per sequence.
    padded = -(-T // reach.size) * reach.size
    per_query = {
        "window": 2 * reach.size,
        "window_global": 2 * reach.size + min(reach.n_global, T),
        "dilated": 2 * reach.size,
        "shifted": reach.size,
    }
    if kind == "linear":
        return -(-T // CHUNK) * CHUNK * CHUNK
    return padded * per_query[kind] if kind in per_query else T * T


def _pad_end(x: Tensor, size: int) -> Tensor:
    """Append zeros until the tokens fill whole blocks; causal queries never see them.

    Their own rows are computed and cut off by the caller, so their gradient is exactly 0.
    """
    missing = -x.shape[2] % size
    return F.pad(x, (0, 0, 0, missing)) if missing else x


def _comb(x: Tensor, step: int) -> Tensor:
    """(B, H, T, D) -> (B, H·step, T/step, D): one sequence for each t mod `step`."""
    B, H, _, D = x.shape
    x = _pad_end(x, step).reshape(B, H, -1, step, D).transpose(2, 3)
    return x.reshape(B, H * step, -1, D)


def _with_block_before(x: Tensor) -> Tensor:
    """(N, n, W, D) -> (N, n, 2W, D): each block preceded by the one before it.

    The first block is preceded by zeros, which `_block_mask` hides: their positions are negative.
    """
    before = F.pad(x, (0, 0, 0, 0, 1, 0))[:, :-1]
    return torch.cat([before, x], dim=2)


def _block_mask(n: int, W: int, G: int) -> Tensor:
    """Return which of its G + 2W keys each query of each block may see, (n, W, G + 2W).

    A global key inside the window would appear twice, once global and once local, and get twice its
    weight in the softmax: the local copy is masked.
    """
    block, query = torch.arange(n)[:, None, None], torch.arange(W)[None, :, None]
    position = block * W + query  # (n, W, 1)
    local = (block - 1) * W + torch.arange(2 * W)[None, None, :]  # (n, 1, 2W)
    back = position - local  # (n, W, 2W), how far the key is behind the query
    # local >= G hides the local copies of global keys, and the zeros in front of the first block,
    # whose positions are negative.
    near = (back >= 0) & (back < W) & (local >= G)
    early = torch.arange(G)[None, None, :] <= position  # (n, W, G)
    return torch.cat([early, near], dim=2)
