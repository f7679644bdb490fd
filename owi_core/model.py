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

KVCache = tuple[KeyValues, ...]  # one KeyValues for each layer


@dataclass(frozen=True, eq=False)
class ModelOutput:
    """Logits (B, T, V), and from the explicit path what each layer's attention computed.

    The layers are stacked on first access; None where the path was not explicit.  T_k is T, or
    with a KV cache the number of tokens in the cache and in the call together.
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
    # 10000^(−i/d) as an exponential: the numbers of the paper's formula without a large power.
    rate = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10_000.0) / d_model))
    table = torch.empty(T, d_model)
    table[:, 0::2] = torch.sin(position * rate)  # (T, d_model / 2)
    table[:, 1::2] = torch.cos(position * rate)
    return table


class Block(nn.Module):
    """Attention and a two-layer perceptron, each added to the residual stream.

    Pre-norm normalises the input of each half, post-norm the result of each addition.
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
        cache: KeyValues | None = None,
    ) -> tuple[Tensor, AttentionOutput]:
        """Return the residual stream after this block, (B, T, d_model), and its attention."""
        x = self.attention_input(resid)
        if cache is None:
            attended = self.attention(x, x, mask, explicit=explicit, temperature=temperature)
        else:
            attended = self.attention.append(
                cache, x, mask, explicit=explicit, temperature=temperature
            )
        return self.after_attention(resid, attended.resid), attended

    def attention_input(self, resid: Tensor) -> Tensor:
        """Return the input of the attention, made from the residual stream, (…, d_model)."""
        return self.norm_attention(resid) if self.pre_norm else resid

    def after_attention(self, resid: Tensor, written: Tensor) -> Tensor:
        """Return the stream after this block from its attention's output; all (…, d_model)."""
        return self.add_mlp(self.add_attention(resid, written))

    def add_attention(self, resid: Tensor, written: Tensor) -> Tensor:
        """Return the stream after the first half of the block; all (…, d_model)."""
        resid = self.join(resid, self.dropout(written))
        return resid if self.pre_norm else self.norm_attention(resid)

    def add_mlp(self, resid: Tensor) -> Tensor:
        """Return the stream after the second half of the block; both (…, d_model)."""
        x = self.norm_mlp(resid) if self.pre_norm else resid
        resid = resid + self.dropout(self.mlp_out(self.activation(self.mlp_in(x))))
        return resid if self.pre_norm else self.norm_mlp(resid)

    def join(self, resid: Tensor, written: Tensor) -> Tensor:
        """Return the residual stream plus the attention's output, (B, T, d_model)."""
        # A method of its own, so that an experiment can break the residual in a subclass or a copy.
        return resid + written


class Transformer(nn.Module):
    """Token ids in, logits of the next token out; mask and temperature belong to the call."""

    block_type: type[Block] = Block

    def __init__(self, config: ModelConfig, rng: torch.Generator) -> None:
        """Draw the initial weights from `rng`; the same generator state gives the same model."""
        super().__init__()
        self.config = config
        # torch fills every new module from the global generator.  These numbers are overwritten
        # below, so the fork lets the caller's generator stay where it was.
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
        cache: KVCache | None = None,
    ) -> ModelOutput:
        """Return the logits; with `explicit` also scores, pattern and what each head read.

        ids: (B, T).  lengths: (B,) real tokens of each row; padding is on the right.
        mask: bool, True = may attend; (T, T), or (L, B or 1, H or 1, T, T); default: the config's.
        read_at: (B,) position whose logits are wanted; the logits are then (B, 1, V).
        cache: from `new_cache`, filled by earlier calls; ids are then the tokens that follow.
        Raises TextError when the tokens of cache and call exceed block_size; ValueError when a
        cache meets a model without a causal mask, or a `mask` or `lengths` of the call.
        """
        resid, attended = self.hidden(
            ids, lengths=lengths, mask=mask, explicit=explicit, temperature=temperature, cache=cache
        )
        # Before the head: its product with V columns is the largest of a short model.
        if read_at is not None:
            resid = resid[torch.arange(ids.shape[0]), read_at][:, None]  # (B, 1, d_model)
        logits = self.lm_head(self.norm_final(resid))  # (B, T, V)
        return ModelOutput(logits, attended if explicit else ())

    def hidden(
        self,
        ids: Tensor,
        *,
        lengths: Tensor | None = None,
        mask: Tensor | None = None,
        explicit: bool = False,
        temperature: float = 1.0,
        cache: KVCache | None = None,
    ) -> tuple[Tensor, tuple[AttentionOutput, ...]]:
        """Return the residual stream after the last block, (B, T, d_model), before the last norm.

        With it comes what each layer's attention computed.  Arguments and errors as in `forward`.
        """
        T = ids.shape[1]
        before = 0 if cache is None else cache[0].length
        self._refuse_long(before + T)
        resid = self.dropout(self._embed(ids, before))  # (B, T, d_model)
        if cache is None:
            allowed: Sequence[Tensor | None] | Tensor = self._layer_masks(T, lengths, mask)
        else:
            allowed = self._masks_after(before, T, lengths, mask)
        attended = []
        layers = zip(self.blocks, allowed, cache or [None] * len(self.blocks), strict=True)
        for block, layer_mask, kept in layers:
            resid, attention = block(
                resid, layer_mask, explicit=explicit, temperature=temperature, cache=kept
            )
            attended.append(attention)
        return resid, tuple(attended)

    @property
    def n_params(self) -> int:
        """Trained numbers; a matrix that two modules share counts once."""
        return sum(parameter.numel() for parameter in self.parameters())

    def new_cache(self, B: int = 1) -> KVCache:
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
            # Computed again from the config when a model is loaded, so not part of its file.
            self.register_buffer("positions", table, persistent=False)
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(self.block_type(config) for _ in range(config.n_layer))
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
            mask = mask.expand(self.config.n_layer, 1, 1, T, T)  # a view: no memory per layer
        if lengths is not None:
            mask = mask & masks.padding(lengths, T)[None, :, None]  # (L, B, H or 1, T, T)
        return mask

    def _masks_after(
        self, before: int, T: int, lengths: Tensor | None, mask: Tensor | None
    ) -> list[Tensor | None]:
        """Return the rows of the mask for T tokens that follow `before` cached ones, by layer.

        Keys and values in the cache are final.  That is right only when no later token could have
        changed them, which the causal mask guarantees and no other mask does.
        """
        if self.config.mask != "causal" or lengths is not None or mask is not None:
            raise ValueError("a KV cache needs the model's own causal mask, and no lengths")
        # One new token may look at everything.  Of two or more, the earlier may not see the later.
        rows = None if T == 1 else self.default_mask(before + T)[before:]
        return [rows] * self.config.n_layer

    def _draw_weights(self, rng: torch.Generator) -> None:
        c = self.config
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=c.init_std, generator=rng)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        # After the loop: a tied head is the same matrix, and must end with the embedding's numbers.
        nn.init.normal_(self.embedding.weight, std=c.embedding_std, generator=rng)
        if c.positions == "learned":
            nn.init.normal_(self.positions, std=c.embedding_std, generator=rng)
