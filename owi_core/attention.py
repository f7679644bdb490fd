"""Scores, pattern and the multi-head module.

Shapes: B batch, H heads, T tokens (T_q queries, T_k keys), D = d_head.
"""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from owi_core.config import ModelConfig


def attention_scores(
    q: Tensor, k: Tensor, *, scale: bool = True, temperature: float = 1.0
) -> Tensor:
    """Return q kᵀ / √d_head, or q kᵀ when `scale` is off, either divided by the temperature.

    q: (B, H, T_q, D), k: (B, H, T_k, D).  Returns (B, H, T_q, T_k).
    Source: Vaswani et al. 2017, eq. 1.
    """
    # Dividing q costs D divisions a query; dividing the product would cost T_k of them.
    q = q / (temperature * (math.sqrt(q.shape[-1]) if scale else 1.0))
    return q @ k.transpose(-2, -1)  # (B, H, T_q, T_k)


def attention_pattern(scores: Tensor, mask: Tensor) -> Tensor:
    """Return the softmax of the scores over the key positions that the mask allows.

    scores: (B, H, T_q, T_k).  mask: bool, True = may attend, broadcast against (B, H, T_q, T_k).
    Returns (B, H, T_q, T_k); every row sums to 1 and a forbidden key gets exactly 0.
    Raises ValueError when a query may attend nowhere.
    Source: Vaswani et al. 2017, eq. 1 and section 3.2.3.
    """
    refuse_blind_query(mask)
    # exp(−inf) is exactly 0, however low the other scores of the row are.
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)


def refuse_blind_query(mask: Tensor) -> None:
    """Raise ValueError when a query may attend nowhere.

    The explicit softmax would answer NaN and the fused kernel 0, both in silence.
    """
    if not bool(mask.any(dim=-1).all()):
        raise ValueError("a query may attend nowhere: its row of the mask is all False")


class AttentionOutput(NamedTuple):
    """What one attention layer computed; all fields but `resid` are None on the fused path.

    resid: (B, T_q, d_model), what is added to the residual stream.
    scores, pattern: (B, H, T_q, T_k).  z: (B, H, T_q, D), what each head read, before W_O.
    """

    resid: Tensor
    scores: Tensor | None = None
    pattern: Tensor | None = None
    z: Tensor | None = None


class KeyValues:
    """One layer's keys and values of the tokens read so far, so that none is computed twice.

    The caller that continues a text owns it; a model that receives it appends to it.  The buffer,
    (2, B, H, capacity, D), is allocated once and never moves: a step writes one column.
    """

    def __init__(self, B: int, n_head: int, capacity: int, d_head: int) -> None:
        self._buffer = torch.empty(2, B, n_head, capacity, d_head)
        self.length = 0

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Append k and v, (B, H, T, D); return all keys and all values, (B, H, length, D)."""
        start, self.length = self.length, self.length + k.shape[2]
        self._buffer[0, :, :, start : self.length] = k
        self._buffer[1, :, :, start : self.length] = v
        return self._buffer[0, :, :, : self.length], self._buffer[1, :, :, : self.length]

    def append_one(self, kv: Tensor) -> tuple[Tensor, Tensor]:
        """Append the key and value of one token, (2, B, H, D), as `append` does."""
        # One assignment for both: at this size a call costs more than what it copies.
        self._buffer[:, :, :, self.length] = kv
        self.length += 1
        keys, values = self._buffer[:, :, :, : self.length]
        return keys, values

    def drop_oldest(self, count: int) -> None:
        """Remove the first `count` tokens; the others keep what they have read from them."""
        self.length -= count
        # The two ranges overlap, and a copy between overlapping ranges is undefined: clone first.
        kept = self._buffer[:, :, :, count : count + self.length].clone()
        self._buffer[:, :, :, : self.length] = kept


class MultiHeadAttention(nn.Module):
    """Queries from one sequence look at the keys of another (or the same) and sum its values."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.n_head, self.d_head = config.n_head, config.d_head
        self.scale_scores, self.dropout = config.scale_scores, config.dropout
        self.w_q = nn.Linear(config.d_model, config.d_model)
        self.w_k = nn.Linear(config.d_model, config.d_model)
        self.w_v = nn.Linear(config.d_model, config.d_model)
        self.w_o = nn.Linear(config.d_model, config.d_model) if config.output_projection else None

    def forward(
        self,
        x_query: Tensor,
        x_key_value: Tensor,
        mask: Tensor,
        *,
        explicit: bool = False,
        temperature: float = 1.0,
    ) -> AttentionOutput:
        """Return the layer's output; with `explicit` also scores, pattern and what each head read.

        x_query: (B, T_q, d_model), x_key_value: (B, T_k, d_model).
        mask: bool, True = may attend, broadcast against (B, H, T_q, T_k).
        temperature divides the scores before the softmax.
        """
        if not explicit:  # the explicit softmax checks it itself
            refuse_blind_query(mask)
        q, k, v = self.project(x_query, x_key_value)
        return self.attend(q, k, v, mask, explicit, temperature)

    def project(self, x_query: Tensor, x_key_value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries (B, H, T_q, D), keys and values (B, H, T_k, D).

        In training, self-attention multiplies by the three matrices concatenated: one product
        forward and two backward instead of three and six.  Without gradients the concatenation
        costs more than it saves.
        """
        if x_query is x_key_value and torch.is_grad_enabled():
            three = (self.w_q, self.w_k, self.w_v)
            weight = torch.cat([w.weight for w in three])  # (3 d_model, d_model)
            bias = torch.cat([w.bias for w in three])
            q, k, v = F.linear(x_query, weight, bias).chunk(3, dim=-1)
            return self._split(q), self._split(k), self._split(v)
        return self.queries(x_query), *self.keys_values(x_key_value)

    def queries(self, x: Tensor) -> Tensor:
        """Return the queries of x, (B, H, T, D)."""
        return self._split(self.w_q(x))

    def keys_values(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the keys and the values of x, each (B, H, T, D)."""
        return self._split(self.w_k(x)), self._split(self.w_v(x))

    def append(
        self,
        cache: KeyValues,
        x: Tensor,
        mask: Tensor | None,
        *,
        explicit: bool = False,
        temperature: float = 1.0,
    ) -> AttentionOutput:
        """Return the output for tokens that follow those in the cache, and add them to it.

        x: (B, T, d_model).  mask: (T, T_k), T_k counting the cache and x; None = everywhere.
        """
        q, own_k, own_v = self.project(x, x)
        k, v = cache.append(own_k, own_v)  # (B, H, T_k, D)
        return self.attend(q, k, v, mask, explicit, temperature)

    def attend(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor | None,
        explicit: bool = False,
        temperature: float = 1.0,
    ) -> AttentionOutput:
        """Return the output for projected queries, as `forward` does; mask None = everywhere."""
        if explicit:
            return self._explicit(q, k, v, mask, temperature)
        scale = 1 / math.sqrt(self.d_head) if self.scale_scores else 1.0
        z = F.scaled_dot_product_attention(
            q, k, v, mask, self._drop_rate, scale=scale / temperature
        )
        return AttentionOutput(self.write(z))

    def write(self, z: Tensor) -> Tensor:
        """Return what all heads together write to the residual stream, (B, T, d_model), from z."""
        B, H, T, D = z.shape
        joined = z.transpose(1, 2).reshape(B, T, H * D)  # (B, T, d_model)
        return joined if self.w_o is None else self.w_o(joined)

    def head_shares(self, z: Tensor) -> Tensor:
        """Return what each head adds to the residual stream, (B, H, T, d_model).

        z: (B, H, T, D).  Each head is multiplied by its slice of W_O; the sum over heads plus the
        bias of W_O is the layer's output.
        Source: Elhage et al. 2021, A Mathematical Framework for Transformer Circuits.
        """
        B, H, T, D = z.shape
        if self.w_o is None:
            # Without W_O the heads are concatenated: each fills its own D columns alone.
            shares = z.new_zeros(B, H, T, H, D)
            for h in range(H):
                shares[:, h, :, h] = z[:, h]
            return shares.view(B, H, T, H * D)
        slices = self.w_o.weight.view(H * D, H, D)  # (d_model, H, D)
        return torch.einsum("bhtd,mhd->bhtm", z, slices)  # (B, H, T, d_model)

    def _explicit(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, temperature: float
    ) -> AttentionOutput:
        scores = attention_scores(q, k, scale=self.scale_scores, temperature=temperature)
        everywhere = scores.new_ones((), dtype=torch.bool) if mask is None else mask
        pattern = attention_pattern(scores, everywhere)  # (B, H, T_q, T_k)
        # The pattern that is returned is the one before dropout: its rows sum to 1 in training too.
        dropped = F.dropout(pattern, self._drop_rate, training=self.training)
        z = dropped @ v  # (B, H, T_q, D)
        return AttentionOutput(self.write(z), scores, pattern, z)

    @property
    def _drop_rate(self) -> float:
        # The fused kernel applies the rate it is given, whatever the module's mode.
        return self.dropout if self.training else 0.0

    def _split(self, x: Tensor) -> Tensor:
        B, T, _ = x.shape
        return x.view(B, T, self.n_head, self.d_head).transpose(1, 2)  # (B, H, T, D)
