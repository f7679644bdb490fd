"""The whole Transformer; it returns what it computed by name, and has no hooks.

Shapes: B batch, T tokens, H heads, L layers, V vocabulary.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from owi_core import masks
from owi_core.attention import AttentionOutput, KeyValues, MultiHeadAttention
from owi_core.config import ModelConfig
from owi_core.errors import TextError

Past = tuple[KeyValues, ...]  # one for each layer


@dataclass(frozen=True, eq=False)
class ModelOutput:
    """Logits (B, T, V), and from the explicit path what each layer's attention computed.

    The layers are put side by side when they are asked for; None where the path was not explicit.
    T_k is T, and with a past the tokens of both.
    """

    logits: Tensor
    attended: tuple[AttentionOutput, ...] = ()

    @cached_property
    def scores(self) -> Tensor | None:
        """(L, B, H, T, T_k), before the softmax."""
        return self._stacked("scores")

    @cached_property
    def pattern(self) -> Tensor | None:
        """(L, B, H, T, T_k), after it."""
        return self._stacked("pattern")

    @cached_property
    def z(self) -> Tensor | None:
        """(L, B, H, T, d_head), what each head read, before W_O."""
        return self._stacked("z")

    def _stacked(self, name: str) -> Tensor | None:
        layers = [getattr(layer, name) for layer in self.attended]
        return torch.stack(layers) if layers else None


def sinusoidal_positions(T: int, d_model: int) -> Tensor:
    """Return the (T, d_model) table sin, cos, sin, cos …; row 0 is 0, 1, 0, 1 …

    Source: Vaswani et al. 2017, section 3.5.
    """
    position = torch.arange(T)[:, None]  # (T, 1)
    rate = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10_000.0) / d_model))
    table = torch.empty(T, d_model)
    table[:, 0::2] = torch.sin(position * rate)
    table[:, 1::2] = torch.cos(position * rate)
    return table


class Block(nn.Module):
    """Attention and a two-layer perceptron, each added to the residual stream.

    Pre-norm normalises what goes into a sublayer, post-norm what comes out of the addition.
    Source: Vaswani et al. 2017, section 3.1 (post); Xiong et al. 2020 (pre).
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.pre_norm = config.norm == "pre"
        self.attention = MultiHeadAttention(config)
        self.norm_attention = nn.LayerNorm(config.d_model)
        self.norm_mlp = nn.LayerNorm(config.d_model)
        self.mlp_in = nn.Linear(config.d_model, config.d_mlp)
        self.mlp_out = nn.Linear(config.d_mlp, config.d_model)
        self.activation = F.gelu if config.activation == "gelu" else F.relu
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        resid: Tensor,
        mask: Tensor | None,
        *,
        explicit: bool,
        temperature: float,
        past: KeyValues | None = None,
    ) -> tuple[Tensor, AttentionOutput]:
        """Return the residual stream after this block, (B, T, d_model), and its attention."""
        x = self.attention_input(resid)
        if past is None:
            attended = self.attention(x, x, mask, explicit=explicit, temperature=temperature)
        else:
            attended = self.attention.after(
                past, x, mask, explicit=explicit, temperature=temperature
            )
        return self.after_attention(resid, attended.resid), attended

    def attention_input(self, resid: Tensor) -> Tensor:
        """Return what the attention reads of the residual stream, (…, d_model)."""
        return self.norm_attention(resid) if self.pre_norm else resid

    def after_attention(self, resid: Tensor, written: Tensor) -> Tensor:
        """Return the stream after this block, given what its attention wrote; all (…, d_model)."""
        resid = self.join(resid, self.dropout(written))
        if not self.pre_norm:
            resid = self.norm_attention(resid)
        x = self.norm_mlp(resid) if self.pre_norm else resid
        resid = resid + self.dropout(self.mlp_out(self.activation(self.mlp_in(x))))
        return resid if self.pre_norm else self.norm_mlp(resid)

    def join(self, resid: Tensor, written: Tensor) -> Tensor:
        """Return the residual stream with what attention wrote into it, (B, T, d_model)."""
        return resid + written


class Transformer(nn.Module):
    """Token ids in, logits of the next token out; mask and temperature belong to the call."""

    def __init__(self, config: ModelConfig, rng: torch.Generator) -> None:
        """Draw the initial weights from `rng`; the same generator state gives the same model."""
        super().__init__()
        self.config = config
        # torch fills every new module from the global generator, in vain: give it a passing one.
        with torch.random.fork_rng(devices=[]):
            self._make_modules(config)
        self._draw_weights(rng)

    def forward(
        self,
        ids: Tensor,
        *,
        lengths: Tensor | None = None,
        mask: Tensor | None = None,
        read_at: Tensor | None = None,
        explicit: bool = False,
        temperature: float = 1.0,
        past: Past | None = None,
    ) -> ModelOutput:
        """Return the logits; with `explicit` also scores, pattern and what each head read.

        ids: (B, T).  lengths: (B,) real tokens of each row; padding stands on the right.
        mask: bool, True = may attend; (T, T), or (L, B or 1, H or 1, T, T); default: the config's.
        read_at: (B,) position whose logits are wanted; the logits are then (B, 1, V).
        past: what `new_past` gave, and earlier calls filled: ids are then the tokens after those.
        Raises TextError when T, with the past, exceeds block_size; ValueError for a past without a
        causal mask, or beside a mask or lengths of the call's own.
        """
        B, T = ids.shape
        before = 0 if past is None else past[0].length
        self._refuse_long(before + T)
        resid = self.dropout(self._embed(ids, before))  # (B, T, d_model)
        if past is None:
            allowed: Sequence[Tensor | None] | Tensor = self._layer_masks(T, lengths, mask)
        else:
            allowed = self._masks_after(before, T, lengths, mask)
        attended = []
        layers = zip(self.blocks, allowed, past or [None] * len(self.blocks), strict=True)
        for block, layer_mask, kept in layers:
            resid, attention = block(
                resid, layer_mask, explicit=explicit, temperature=temperature, past=kept
            )
            attended.append(attention)
        if read_at is not None:
            resid = resid[torch.arange(B), read_at][:, None]  # (B, 1, d_model)
        logits = self.lm_head(self.norm_final(resid))  # (B, T, V)
        return ModelOutput(logits, tuple(attended) if explicit else ())

    @property
    def n_params(self) -> int:
        """Trained numbers; a matrix that two modules share counts once."""
        return sum(parameter.numel() for parameter in self.parameters())

    def new_past(self, B: int = 1) -> Past:
        """Return an empty cache, one for each layer, with room for block_size tokens."""
        c = self.config
        return tuple(KeyValues(B, c.n_head, c.block_size, c.d_head) for _ in self.blocks)

    def default_mask(self, T: int) -> Tensor:
        """Return the (T, T) mask that the config names."""
        return masks.named(self.config.mask, T)

    def _make_modules(self, config: ModelConfig) -> None:
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        if config.positions == "learned":
            self.positions = nn.Parameter(torch.empty(config.block_size, config.d_model))
        elif config.positions == "sinusoidal":
            table = sinusoidal_positions(config.block_size, config.d_model)
            self.register_buffer("positions", table, persistent=False)
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layer))
        self.norm_final = nn.LayerNorm(config.d_model)
        self.lm_head = nn.Linear(config.d_model, config.vocab_size, bias=config.head_bias)
        if config.tie_weights:
            self.lm_head.weight = self.embedding.weight

    def _refuse_long(self, T: int) -> None:
        limit = self.config.block_size
        if limit < T:
            raise TextError("text_over_block", tokens=T, block_size=limit, over=T - limit)

    def _embed(self, ids: Tensor, start: int) -> Tensor:
        x = self.embedding(ids) * self.config.embedding_scale  # (B, T, d_model)
        if self.config.positions == "none":
            return x  # type: ignore[no-any-return]
        return x + self.positions[start : start + ids.shape[1]]  # type: ignore[no-any-return]

    def _layer_masks(
        self, T: int, lengths: Tensor | None, mask: Tensor | None
    ) -> list[Tensor] | Tensor:
        if mask is None:
            mask = self.default_mask(T)
        if mask.ndim == 2:
            mask = mask.expand(self.config.n_layer, 1, 1, T, T)
        if lengths is not None:
            mask = mask & masks.padding(lengths, T)[None, :, None]  # (L, B, H or 1, T, T)
        return mask

    def _masks_after(
        self, before: int, T: int, lengths: Tensor | None, mask: Tensor | None
    ) -> list[Tensor | None]:
        """Return what the tokens after a past of `before` tokens may look at, layer by layer.

        What a kept token once read must never change: so it may not have looked ahead.
        """
        if self.config.mask != "causal" or lengths is not None or mask is not None:
            raise ValueError("a past needs the model's own causal mask, and no lengths")
        # The newest token may look at all of them.
        rows = None if T == 1 else self.default_mask(before + T)[before:]
        return [rows] * self.config.n_layer

    def _draw_weights(self, rng: torch.Generator) -> None:
        c = self.config
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=c.init_std, generator=rng)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        nn.init.normal_(self.embedding.weight, std=c.embedding_std, generator=rng)
        if c.positions == "learned":
            nn.init.normal_(self.positions, std=c.embedding_std, generator=rng)
