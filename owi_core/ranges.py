"""Attention of limited range, computed without a T × T buffer; all of it is causal.

Shapes: B batch, H heads, T tokens, D = d_head, W window, G global positions, n blocks.
Each function equals dense attention under its mask in `masks` (linear attention has its own
definition), and gradients flow through it.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from owi_core.attention import attention_pattern, attention_scores
from owi_core.masks import Range, Reach, causal

CHUNK = 64


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
    """Return softmax(q kᵀ / √d_head) v under `mask`, with every T × T matrix really there."""
    return attention_pattern(attention_scores(q, k), mask) @ v


def window_attention(q: Tensor, k: Tensor, v: Tensor, size: int, n_global: int = 0) -> Tensor:
    """Return causal attention over the last `size` positions and the first `n_global`.

    q, k, v: (B, H, T, D).  Blocks of W queries meet the 2W keys of their own block and the one
    before, and the G global keys: T · (2W + G) scores in place of T · T.
    Source: Beltagy et al. 2020, Longformer, section 3.1.
    """
    B, H, T, D = q.shape
    W, G = size, min(n_global, T)
    q, k, v = (_pad_end(x, W) for x in (q, k, v))
    n = q.shape[2] // W
    keys, values = (_with_block_before(x.reshape(B * H, n, W, D)) for x in (k, v))
    if G:
        keys, values = (
            torch.cat([x[:, :, :G].reshape(B * H, 1, G, D).expand(-1, n, -1, -1), local], dim=2)
            for x, local in ((k, keys), (v, values))
        )  # (B·H, n, G + 2W, D)
    mask = _block_mask(n, W, G)  # (n, W, G + 2W)
    z = F.scaled_dot_product_attention(q.reshape(B * H, n, W, D), keys, values, mask)
    return z.reshape(B, H, n * W, D)[:, :, :T]


def dilated_attention(q: Tensor, k: Tensor, v: Tensor, size: int, step: int) -> Tensor:
    """Return causal attention over `size` keys that stand `step` apart.

    Positions with the same remainder by `step` see only each other: `step` sequences of their own.
    """
    B, H, T, D = q.shape
    step = min(step, T)
    q, k, v = (_comb(x, step) for x in (q, k, v))  # (B, H·step, T/step, D)
    z = window_attention(q, k, v, size)
    z = z.reshape(B, H, step, -1, D).transpose(2, 3).reshape(B, H, -1, D)
    return z[:, :, :T]


def block_attention(q: Tensor, k: Tensor, v: Tensor, size: int, shift: int = 0) -> Tensor:
    """Return causal attention inside blocks of `size`, the first one `shift` positions shorter."""
    B, H, T, D = q.shape
    q, k, v = (_pad_end(F.pad(x, (0, 0, shift, 0)), size) for x in (q, k, v))
    n = q.shape[2] // size
    mask = causal(size).repeat(n, 1, 1)  # (n, W, W)
    # What was put before the first token is seen by nobody but itself.
    mask[0, shift:, :shift] = False
    q, k, v = (x.reshape(B * H, n, size, D) for x in (q, k, v))
    z = F.scaled_dot_product_attention(q, k, v, mask)
    return z.reshape(B, H, n * size, D)[:, :, shift : shift + T]


def linear_attention(q: Tensor, k: Tensor, v: Tensor, chunk: int = CHUNK) -> Tensor:
    """Return Σ_s φ(q_t)·φ(k_s) v_s / Σ_s φ(q_t)·φ(k_s) over s ≤ t, with φ = elu + 1.

    Inside a chunk the scores are written out; what stands before it is one D × D sum.
    Source: Katharopoulos et al. 2020, eqs. 7 and 9.
    """
    B, H, T, D = q.shape
    q, k = F.elu(q) + 1, F.elu(k) + 1
    q, k, v = (_pad_end(x, chunk) for x in (q, k, v))
    # A column of ones beside the values sums up the denominator on the way.
    v = torch.cat([v, torch.ones_like(v[..., :1])], dim=-1)
    q, k, v = (x.reshape(B, H, -1, chunk, x.shape[-1]) for x in (q, k, v))
    sums = k.transpose(-2, -1) @ v  # (B, H, n, D, D + 1)
    before = sums.cumsum(dim=2) - sums
    scores = (q @ k.transpose(-2, -1)) * causal(chunk)  # (B, H, n, chunk, chunk)
    z = (scores @ v + q @ before).reshape(B, H, -1, D + 1)[:, :, :T]
    return z[..., :D] / z[..., D:]


def pairs_computed(kind: Range, T: int, reach: Reach) -> int:
    """Return how many scores one head of one layer works out for T tokens, hidden ones included."""
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
    """Append zeros until the tokens fill whole blocks; causal queries never see them."""
    missing = -x.shape[2] % size
    return F.pad(x, (0, 0, 0, missing)) if missing else x


def _comb(x: Tensor, step: int) -> Tensor:
    """(B, H, T, D) -> (B, H·step, T/step, D): a sequence for each remainder by `step`."""
    B, H, _, D = x.shape
    x = _pad_end(x, step).reshape(B, H, -1, step, D).transpose(2, 3)
    return x.reshape(B, H * step, -1, D)


def _with_block_before(x: Tensor) -> Tensor:
    """(N, n, W, D) -> (N, n, 2W, D): each block behind the one before it (zeros for the first)."""
    before = F.pad(x, (0, 0, 0, 0, 1, 0))[:, :-1]
    return torch.cat([before, x], dim=2)


def _block_mask(n: int, W: int, G: int) -> Tensor:
    """Which of the G + 2W keys each query of each block may see; a global key counts once."""
    block, query = torch.arange(n)[:, None, None], torch.arange(W)[None, :, None]
    position = block * W + query  # (n, W, 1)
    local = (block - 1) * W + torch.arange(2 * W)[None, None, :]  # (n, 1, 2W)
    back = position - local
    near = (back >= 0) & (back < W) & (local >= G)
    early = torch.arange(G)[None, None, :] <= position  # (n, W, G)
    return torch.cat([early, near], dim=2)
