"""Masks made wrong on purpose, each wrapped round the right model, and the checks that catch them.

Shapes: L layers, B batch, H heads, T tokens.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from owi_core import masks
from owi_core.attention import (
    AttentionOutput,
    MultiHeadAttention,
    attention_scores,
    refuse_blind_query,
)
from owi_core.checkpoints import Bundle
from owi_core.config import ModelConfig
from owi_core.errors import TextError
from owi_core.model import ModelOutput, Transformer
from owi_core.probes.leakage import change_matrix, future_change_max, leak_max
from owi_core.record import Check
from owi_core.tokenizer import Encoding

MAX_PROBED = 24  # tokens; a leak matrix has a row for each
ROW_TOLERANCE = 1e-5
PAD_TOLERANCE = 1e-4  # another length is another order of additions

CAUGHT_BY: Mapping[str, str] = {
    "transposed": "past_is_visible",
    "zeroed_after_softmax": "rows_sum_to_one",
    "one_ahead": "forbidden_is_zero",
    "self_hidden": "every_row_can_look",
    "wrong_axis": "past_is_visible",
    "padding_attended": "pads_change_nothing",
}
"""Each wrong mask and the check made to catch it."""
FAULTS = tuple(CAUGHT_BY)


class WrongMask(Transformer):
    """The right model with a wrong mask; its weights have the same names and the same draws."""

    def __init__(self, config: ModelConfig, rng: torch.Generator, fault: str) -> None:
        # Before super().__init__, which calls _make_modules.
        self.fault = fault
        super().__init__(config, rng)

    def forward(
        self,
        ids: Tensor,
        *,
        lengths: Tensor | None = None,
        mask: Tensor | None = None,
        **rest: Any,
    ) -> ModelOutput:
        """Return what the model computes under the wrong mask; see Transformer.forward."""
        B, T = ids.shape
        if self.fault == "padding_attended":
            # Without lengths the model does not know that the last tokens are padding.
            lengths = None
        if mask is None:
            mask = wrong_mask(self.fault, self.config, B, T)
        return super().forward(ids, lengths=lengths, mask=mask, **rest)

    def _make_modules(self, config: ModelConfig) -> None:
        super()._make_modules(config)
        if self.fault == "zeroed_after_softmax":
            for block in self.blocks:
                block.attention = ZeroedAfterSoftmax(config)


class ZeroedAfterSoftmax(MultiHeadAttention):
    """Attention that takes the softmax over all keys and strikes the forbidden ones afterwards."""

    def forward(
        self,
        x_query: Tensor,
        x_key_value: Tensor,
        mask: Tensor,
        *,
        explicit: bool = False,
        temperature: float = 1.0,
    ) -> AttentionOutput:
        """Return the layer's output; the rows of its pattern sum to less than 1."""
        refuse_blind_query(mask)
        q, k, v = self.project(x_query, x_key_value)
        scores = attention_scores(q, k, scale=self.scale_scores, temperature=temperature)
        # The forbidden keys took part in the denominator, so an answer depends on them all the
        # same.
        pattern = scores.softmax(dim=-1) * mask  # (B, H, T_q, T_k)
        z = pattern @ v
        if not explicit:
            return AttentionOutput(self.write(z))
        return AttentionOutput(self.write(z), scores, pattern, z)


def wrong_mask(fault: str, config: ModelConfig, B: int, T: int) -> Tensor:
    """Return the boolean mask that a fault puts in place of the causal one.

    (T, T), or (L, B, 1, T, T) where the batch matters.
    """
    if fault == "transposed":
        return masks.causal(T).T
    if fault == "one_ahead":
        # The diagonal above: each token sees the one it is asked to predict.
        return torch.ones(T, T, dtype=torch.bool).tril(1)
    if fault == "self_hidden":
        # The first token then sees nothing at all, and the model refuses to run.
        return torch.ones(T, T, dtype=torch.bool).tril(-1)
    if fault == "wrong_axis":
        # The axis of queries was laid along the batch: sample b sees keys 0 … b, at every place.
        rows = masks.causal(T)[torch.arange(B) % T]  # (B, T)
        return rows[None, :, None, None].expand(config.n_layer, B, 1, T, T)
    return masks.named(config.mask, T)


def make(config: ModelConfig, rng: torch.Generator, fault: str = "") -> Transformer:
    """Return a freshly drawn model, right, or with a wrong mask."""
    return WrongMask(config, rng, fault) if fault in CAUGHT_BY else Transformer(config, rng)


def wrapped(model: Transformer, fault: str) -> Transformer:
    """Return a model with the weights of `model` and a wrong mask, or the model itself."""
    if fault not in CAUGHT_BY:
        return model
    wrong = WrongMask(model.config, torch.Generator().manual_seed(0), fault)
    # The seed above does not matter: every number is overwritten here.
    wrong.load_state_dict(model.state_dict())
    return wrong.eval()


def mask_used(model: Transformer, B: int, T: int) -> Tensor:
    """Return the (T, T) mask that a model uses on the last of B sequences."""
    fault = model.fault if isinstance(model, WrongMask) else ""
    mask = wrong_mask(fault, model.config, B, T)
    return mask if mask.ndim == 2 else mask[0, -1, 0]


def blind_row(model: Transformer, ids: Tensor) -> int | None:
    """Return the first query that the model's mask lets look nowhere; ids: (B, T)."""
    blind = ~mask_used(model, *ids.shape).any(-1)
    return int(blind.nonzero()[0, 0]) if bool(blind.any()) else None


def mask_checks(model: Transformer, ids: Tensor) -> tuple[Check, ...]:
    """Return what a causal model has to prove on a sentence; only the first where it cannot run.

    ids: (T,), two tokens at least.  The sentence fills a batch, so that a mask laid along the
    batch shows itself.  every_row_can_look has the blind row's place as value, from 1.
    """
    T = ids.shape[0]
    blind = blind_row(model, ids[None])
    if blind is not None:  # the model itself refuses to run
        return (Check("every_row_can_look", False, float(blind + 1)),)
    pattern = _pattern(model, ids)  # (L, B, H, T, T)
    allowed = masks.causal(T)
    off = float((pattern.sum(-1) - 1).abs().max())
    forbidden = float(pattern.masked_fill(allowed, 0.0).max())
    # A weight may round to 0 in one head; a key that is seen is seen in some head.
    unseen = allowed & (pattern.amax((0, 2)) == 0)  # (B, T, T)
    changes = change_matrix(model, ids)
    leak, moved = leak_max(changes), future_change_max(changes)
    return (
        Check("every_row_can_look", True, 0.0),
        Check("rows_sum_to_one", off <= ROW_TOLERANCE, off),
        Check("forbidden_is_zero", forbidden == 0.0, forbidden),
        Check("past_is_visible", not bool(unseen.any()), float(unseen.sum())),
        Check("past_does_not_move", leak == 0.0, leak),
        Check("future_moves", moved > 0.0, moved),
    )


@torch.no_grad()
def pads_check(model: Transformer, ids: Tensor, n_pads: int, pad_id: int = 0) -> Check:
    """Return whether `n_pads` pads behind a sentence leave its logits as they were.

    ids: (T,).
    """
    T = ids.shape[0]
    # Behind the sentence: in front they would change its positions too.
    padded = torch.cat([ids, ids.new_full((n_pads,), pad_id)])
    alone = model(ids[None]).logits[0]  # (T, V)
    beside = model(padded[None], lengths=torch.tensor([T])).logits[0, :T]
    moved = float((alone - beside).abs().max())
    return Check("pads_change_nothing", moved <= PAD_TOLERANCE, moved)


@torch.no_grad()
def _pattern(model: Transformer, ids: Tensor) -> Tensor:
    output: ModelOutput = model.eval()(ids.repeat(ids.shape[0], 1), explicit=True)
    assert output.pattern is not None
    return output.pattern


@dataclass(frozen=True)
class Padded:
    """What a token reads when pads stand behind its sentence; the row is the last layer's mean.

    row: weights of the sentence's tokens and then of the pads.
    """

    n_pads: int
    masked: bool
    word: str
    probability: float
    row: tuple[float, ...]
    pad_mass: float


@torch.no_grad()
def padded(bundle: Bundle, encoding: Encoding, query: int, n_pads: int, *, masked: bool) -> Padded:
    """Return what `query` reads with `n_pads` pads behind the sentence, hidden or attended to.

    Raises TextError when sentence and pads exceed the model's block_size.
    """
    T = len(encoding.ids)
    ids = torch.tensor([[*encoding.ids, *[bundle.tokenizer.pad_id or 0] * n_pads]])
    model = bundle.model if masked else wrapped(bundle.model, "padding_attended")
    out = model(ids, lengths=torch.tensor([T]), explicit=True)
    p = out.logits[0, query].softmax(-1)  # (V,)
    # The last layer, mean over heads: the row that decides the answer.
    row = out.pattern[-1, 0, :, query].mean(0)  # (T + n_pads,)
    best = int(p.argmax())
    # A row for unknown words has no name of its own; the sentence has the word.
    known = best not in encoding.ids
    word = bundle.tokenizer.label(best) if known else encoding.labels[encoding.ids.index(best)]
    mass = float(row[T:].sum())
    return Padded(n_pads, masked, word, float(p[best]), tuple(row.tolist()), mass)


@dataclass(frozen=True, eq=False)
class Changed:
    """Who moves whom in a sentence: values (T, T) as [t, s], see `change_matrix`."""

    labels: tuple[str, ...]
    values: NDArray[np.float32]


def changes_in(model: Transformer, encoding: Encoding) -> Changed:
    """Return who moves whom; TextError for a sentence too short or over block_size."""
    _refuse_long(model, encoding)
    values = change_matrix(model, torch.tensor(encoding.ids))
    return Changed(encoding.labels, values.numpy())


@dataclass(frozen=True, eq=False)
class Seen:
    """The first layer's head 1 in a sentence, every step of it.

    mask: (T, T) bool, as used.  scores, pattern: (T, T), before the mask and after the softmax.
    struck: the mask came after the softmax.
    """

    labels: tuple[str, ...]
    mask: NDArray[np.bool_]
    scores: NDArray[np.float32]
    pattern: NDArray[np.float32]
    struck: bool


@torch.no_grad()
def see(model: Transformer, encoding: Encoding) -> Seen:
    """Return what the first head of the first layer does; TextError for a long sentence.

    The sentence fills a batch and the middle of it is shown, where a mask laid along the batch is
    neither all nor nothing.
    """
    _refuse_long(model, encoding)
    T = len(encoding.ids)
    # In the batch of T copies, sample b sees keys 0 … b when the axis is wrong.
    at = T // 2
    out = model.eval()(torch.tensor(encoding.ids).repeat(T, 1), explicit=True)
    fault = model.fault if isinstance(model, WrongMask) else ""
    mask = wrong_mask(fault, model.config, T, T)
    return Seen(
        encoding.labels,
        (mask if mask.ndim == 2 else mask[0, at, 0]).numpy(),
        out.scores[0, at, 0].numpy(),
        out.pattern[0, at, 0].numpy(),
        fault == "zeroed_after_softmax",
    )


@torch.no_grad()
def see_padded(bundle: Bundle, encoding: Encoding, n_pads: int) -> Seen:
    """Return what the first head of the first layer does with hidden pads behind a sentence."""
    T, pad = len(encoding.ids), bundle.tokenizer.pad_id or 0
    ids = torch.tensor([[*encoding.ids, *[pad] * n_pads]])
    lengths = torch.tensor([T])
    out = bundle.model(ids, lengths=lengths, explicit=True)
    # Both masks: what is in the future, and what is padding.
    mask = bundle.model.default_mask(T + n_pads) & masks.padding(lengths, T + n_pads)[0]
    labels = (*encoding.labels, *[bundle.tokenizer.label(pad)] * n_pads)
    scores, pattern = out.scores[0, 0, 0].numpy(), out.pattern[0, 0, 0].numpy()
    return Seen(labels, mask.numpy(), scores, pattern, struck=False)


def _refuse_long(model: Transformer, encoding: Encoding) -> None:
    n, limit = len(encoding.ids), min(MAX_PROBED, model.config.block_size)
    if n > limit:
        raise TextError("text_over_block", tokens=n, block_size=limit, over=n - limit)
