"""How texts were translated before the Transformer: a GRU that reads and a GRU that writes.

With additive attention the writer looks back at every state of the reader (Bahdanau et al. 2015);
without, all it knows of the source is one vector (Cho et al. 2014).
Shapes: B batch, S source tokens, T target tokens, W width, V vocabulary.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from owi_core.attention import AttentionOutput
from owi_core.encoder_decoder import PAD_ID, TranslationOutput

_WIDTHS = range(16, 513, 8)


@dataclass(frozen=True)
class RecurrentConfig:
    """The shape of such a model; d_model is its width."""

    source_size: int
    target_size: int
    d_model: int
    attention: bool = True

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


class AdditiveAttention(nn.Module):
    """Weights from a small network with one hidden layer: v · tanh(W_q query + W_k key)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.w_q = nn.Linear(width, width)
        self.w_k = nn.Linear(width, width, bias=False)
        self.v = nn.Linear(width, 1, bias=False)

    def forward(
        self, query: Tensor, keys: Tensor, states: Tensor, visible: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the weighted mean of the states, (B, W), and the weights, (B, S).

        query: (B, W).  keys: (B, S, W), the states times W_k.  visible: (B, S) bool.
        """
        scores = self.v(torch.tanh(self.w_q(query)[:, None] + keys))[..., 0]  # (B, S)
        weights = scores.masked_fill(~visible, -torch.inf).softmax(-1)
        return (weights[:, None] @ states)[:, 0], weights


class RecurrentTranslator(nn.Module):
    """Source and target ids in, logits of the next target token out; called like EncoderDecoder."""

    def __init__(self, config: RecurrentConfig, rng: torch.Generator) -> None:
        """Draw PyTorch's usual initial weights, from `rng` and not from the global generator."""
        super().__init__()
        self.config = config
        W = config.d_model
        # PyTorch's layers accept no generator: seed the global one inside a fork that restores it.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(torch.randint(2**31, (), generator=rng)))
            self.source_embedding = nn.Embedding(config.source_size, W)
            self.embedding = nn.Embedding(config.target_size, W)
            # Half the width in each direction: the two together are as wide as the writer.
            self.reader = nn.GRU(W, W // 2, batch_first=True, bidirectional=True)
            self.writer = nn.GRUCell(2 * W, W)
            self.begin = nn.Linear(W, W)
            self.attention = AdditiveAttention(W) if config.attention else None
            self.before_head = nn.Linear(3 * W, W)
            self.lm_head = nn.Linear(W, config.target_size)

    def forward(
        self,
        ids: Tensor,
        *,
        source: Tensor,
        lengths: Tensor | None = None,
        read_at: Tensor | None = None,
    ) -> TranslationOutput:
        """Return the logits (B, T, V), and with attention its weights as the cross pattern.

        ids: (B, T) the target up to each word.  lengths and read_at are there for the trainer;
        padding is on the right and the writer causal, so nothing depends on them.
        """
        states, summary = self.read(source)  # (B, S, W), (B, W)
        visible = source != PAD_ID
        keys = None if self.attention is None else self.attention.w_k(states)
        state, hidden, weights = torch.tanh(self.begin(summary)), [], []
        # One step after another: the state of a word is needed to look for the next one.
        for word in self.embedding(ids).unbind(1):  # (B, W)
            context = summary
            if self.attention is not None and keys is not None:
                context, looked = self.attention(state, keys, states, visible)
                weights.append(looked)
            state = self.writer(torch.cat([word, context], -1), state)
            hidden.append(torch.cat([state, context, word], -1))
        seen = torch.tanh(self.before_head(torch.stack(hidden, 1)))  # (B, T, W)
        logits = self.lm_head(seen)
        if not weights:
            return TranslationOutput(logits)
        pattern = torch.stack(weights, 1)[:, None]  # (B, 1, T, S): one head
        return TranslationOutput(logits, crossed=(AttentionOutput(seen, pattern=pattern),))

    def read(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Return the reader's state at each word, (B, S, W), and its last ones joined, (B, W)."""
        lengths = (source != PAD_ID).sum(1)
        # Packed, so that the direction from the right begins at the last word and not at padding.
        packed = pack_padded_sequence(
            self.source_embedding(source), lengths, batch_first=True, enforce_sorted=False
        )
        out, last = self.reader(packed)
        states, _ = pad_packed_sequence(out, batch_first=True, total_length=source.shape[1])
        return states, torch.cat([last[0], last[1]], -1)

    @property
    def n_params(self) -> int:
        """Trained numbers."""
        return sum(parameter.numel() for parameter in self.parameters())


def width_for(source_size: int, target_size: int, n_params: int, *, attention: bool) -> int:
    """Return the width whose number of trained numbers is nearest to `n_params`."""

    def distance(width: int) -> int:
        config = RecurrentConfig(source_size, target_size, width, attention)
        return abs(sum(_sizes(config)) - n_params)

    return min(_WIDTHS, key=distance)


def _sizes(config: RecurrentConfig) -> Iterator[int]:
    """Yield the number of trained numbers of each part, without building it."""
    W, half = config.d_model, config.d_model // 2
    yield (config.source_size + config.target_size) * W
    yield 2 * (3 * half * W + 3 * half * half + 6 * half)  # the reader: three gates, two directions
    yield 3 * W * 2 * W + 3 * W * W + 6 * W  # the writer
    yield W * W + W  # its first state
    yield 2 * W * W + 2 * W if config.attention else 0
    yield 3 * W * W + W  # before the head
    yield W * config.target_size + config.target_size
