"""An encoder that reads a text and a decoder that writes another, from the blocks of `model`.

Shapes: B batch, S source tokens, T target tokens, L layers, H heads, D = d_head, V vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor, nn

from owi_core.attention import AttentionOutput, KeyValues, MultiHeadAttention
from owi_core.config import ModelConfig, PairConfig
from owi_core.model import Block, KVCache, ModelOutput, Transformer

PAD_ID = 0  # of `WordTokenizer`


class SourceKeys(NamedTuple):
    """What one decoder layer looks at of the source: it is computed once and never grows.

    keys, values: (B, H, S, D).  visible: (B, 1, 1, S) bool, False = padding or cut out.
    """

    keys: Tensor
    values: Tensor
    visible: Tensor


@dataclass(frozen=True, eq=False)
class TranslationOutput(ModelOutput):
    """Logits (B, T, V), and from the explicit path three kinds of attention, one entry a layer.

    attended: the decoder on its own words.  encoded: the encoder on the source.  crossed: the
    decoder on the source.
    """

    encoded: tuple[AttentionOutput, ...] = ()
    crossed: tuple[AttentionOutput, ...] = ()

    @cached_property
    def encoder_pattern(self) -> Tensor:
        """(L, B, H, S, S); the layers are the encoder's."""
        return _patterns(self.encoded)

    @cached_property
    def cross_pattern(self) -> Tensor:
        """(L, B, H, T, S); the layers are the decoder's."""
        return _patterns(self.crossed)


class CrossBlock(Block):
    """A block whose residual stream also takes up what its queries find in the source.

    Source: Vaswani et al. 2017, section 3.2.3; the order of the three parts is theirs.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.cross = MultiHeadAttention(config)
        self.norm_cross = nn.LayerNorm(config.d_model)

    def forward_from(
        self,
        resid: Tensor,
        source: SourceKeys,
        mask: Tensor | None,
        *,
        explicit: bool,
        cache: KeyValues | None,
    ) -> tuple[Tensor, AttentionOutput, AttentionOutput]:
        """Return the stream after this block, (B, T, d_model), its self- and its cross-attention.

        resid: (B, T, d_model).  mask: of the self-attention; None = everywhere.
        """
        x = self.attention_input(resid)
        if cache is None:
            assert mask is not None
            attended = self.attention(x, x, mask, explicit=explicit)
        else:
            attended = self.attention.append(cache, x, mask, explicit=explicit)
        resid = self.add_attention(resid, attended.resid)
        x = self.norm_cross(resid) if self.pre_norm else resid
        # T queries from the target, S keys from the source: the pattern need not be square.
        q = self.cross.queries(x)  # (B, H, T, D)
        crossed = self.cross.attend(q, source.keys, source.values, source.visible, explicit)
        resid = self.join(resid, self.dropout(crossed.resid))
        if not self.pre_norm:
            resid = self.norm_cross(resid)
        return self.add_mlp(resid), attended, crossed


class Decoder(Transformer):
    """A causal Transformer each of whose blocks also looks at a source."""

    block_type = CrossBlock

    def source_keys(self, memory: Tensor, visible: Tensor) -> tuple[SourceKeys, ...]:
        """Return each layer's keys and values of the encoder's output.

        memory: (B, S, d_model).  visible: (B, S) bool.
        """
        allowed = visible[:, None, None]  # (B, 1, 1, S): the same for all heads and queries
        crossing = [block.cross for block in self._cross_blocks()]
        return tuple(SourceKeys(*cross.keys_values(memory), allowed) for cross in crossing)

    def write(
        self,
        ids: Tensor,
        source: Sequence[SourceKeys],
        *,
        read_at: Tensor | None = None,
        explicit: bool = False,
        cache: KVCache | None = None,
    ) -> TranslationOutput:
        """Return the logits of the words that follow `ids` (B, T), as `Transformer.forward` does.

        No padding mask: padding is on the right, and a causal query never sees it.
        """
        B, T = ids.shape
        before = 0 if cache is None else cache[0].length
        self._refuse_long(before + T)
        resid = self.dropout(self._embed(ids, before))  # (B, T, d_model)
        # One new token may look at everything before it; see `Transformer._masks_after`.
        mask = None if cache is not None and T == 1 else self.default_mask(before + T)[before:]
        attended, crossed = [], []
        blocks = self._cross_blocks()
        for block, keys, kept in zip(blocks, source, cache or [None] * len(blocks), strict=True):
            resid, own, cross = block.forward_from(resid, keys, mask, explicit=explicit, cache=kept)
            attended.append(own)
            crossed.append(cross)
        if read_at is not None:
            resid = resid[torch.arange(B), read_at][:, None]  # (B, 1, d_model)
        logits = self.lm_head(self.norm_final(resid))  # (B, T, V)
        if not explicit:
            return TranslationOutput(logits)
        return TranslationOutput(logits, tuple(attended), crossed=tuple(crossed))

    def _cross_blocks(self) -> list[CrossBlock]:
        # A ModuleList does not know the type of its modules.
        return [block for block in self.blocks if isinstance(block, CrossBlock)]


class EncoderDecoder(nn.Module):
    """Source and target ids in, logits of the next target token out.

    Source: Vaswani et al. 2017, figure 1.  The paper shares one matrix between source embedding,
    target embedding and head, which one joint vocabulary allows; here source and target have a
    vocabulary each, so only the target's embedding and the head can be one matrix.
    """

    def __init__(self, config: PairConfig, rng: torch.Generator) -> None:
        """Draw the initial weights from `rng`; the same generator state gives the same model."""
        super().__init__()
        self.config = config
        # The head of this Transformer is its embedding (tied), and is not used.
        self.encoder = Transformer(config.encoder, rng)
        self.decoder = Decoder(config.decoder, rng)

    def forward(
        self,
        ids: Tensor,
        *,
        source: Tensor,
        visible: Tensor | None = None,
        lengths: Tensor | None = None,
        read_at: Tensor | None = None,
        explicit: bool = False,
    ) -> TranslationOutput:
        """Return the logits; with `explicit` also the three kinds of attention.

        ids: (B, T) the target up to each word; source: (B, S).  visible: (B, S) bool, the source
        words that may be looked at; default: all but padding.  lengths changes nothing (padding is
        on the right of a causal model); it is there for the trainer.
        """
        memory, allowed, encoded = self.encode(source, visible, explicit=explicit)
        keys = self.decoder.source_keys(memory, allowed)
        out = self.decoder.write(ids, keys, read_at=read_at, explicit=explicit)
        return TranslationOutput(out.logits, out.attended, encoded, out.crossed)

    def encode(
        self, source: Tensor, visible: Tensor | None = None, *, explicit: bool = False
    ) -> tuple[Tensor, Tensor, tuple[AttentionOutput, ...]]:
        """Return what the decoder looks at, (B, S, d_model), which of it may be seen, (B, S).

        Last comes what each layer's attention computed.  A word that is not visible is read by
        no other word of the encoder and by no word of the decoder: its position stays, empty.
        """
        allowed = source != PAD_ID if visible is None else visible  # (B, S)
        S = source.shape[1]
        mask = allowed[None, :, None, None].expand(len(self.encoder.blocks), -1, 1, S, S)
        resid, encoded = self.encoder.hidden(source, mask=mask, explicit=explicit)
        return self.encoder.norm_final(resid), allowed, encoded if explicit else ()

    @property
    def n_params(self) -> int:
        """Trained numbers; a matrix that two modules share counts once."""
        return sum(parameter.numel() for parameter in self.parameters())


def _patterns(layers: Sequence[AttentionOutput]) -> Tensor:
    patterns = [layer.pattern for layer in layers if layer.pattern is not None]
    return torch.stack(patterns)  # (L, B, H, queries, keys)
