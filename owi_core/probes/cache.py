"""How far logits from cached keys and values are from recomputed ones, and why a mask is needed.

Shapes: T tokens, V vocabulary.
"""

from collections.abc import Hashable, Sequence

import torch
from torch import Tensor

from owi_core.generation import Stepper
from owi_core.model import Transformer


@torch.inference_mode()
def recomputed_logits(model: Transformer, ids: Sequence[int]) -> Tensor:
    """Return the logits after each token, (T, V), each computed from its whole window."""
    block, text = model.config.block_size, torch.tensor(ids)
    model.eval()
    # Within the block a causal model gives the logits of all prefixes in one pass.
    logits = model(text[None, :block]).logits[0]  # (T or block, V)
    if len(ids) <= block:
        return logits  # type: ignore[no-any-return]
    windows = text[1:].unfold(0, block, 1)  # (T - block, block)
    return torch.cat([logits, model(windows).logits[:, -1]])


@torch.inference_mode()
def cached_logits(model: Transformer, ids: Sequence[int]) -> Tensor:
    """Return the logits after each token, (T, V), each from one new token and the KV cache.

    Past the block the oldest token is dropped and the others stay unchanged: a rolling cache.  They
    keep the positions they had, and what they have read from tokens that were dropped.
    """
    stepper, rows = Stepper(model.eval()), []
    for token in ids:
        if stepper.length == model.config.block_size:
            stepper.drop_oldest()
        rows.append(stepper.read([token]).logits[0, 0])
    return torch.stack(rows)


def relative_difference(logits: Tensor, reference: Tensor) -> Tensor:
    """Return for each row the largest |difference|, (T,), as a share of the largest |logit|."""
    return (logits - reference).abs().amax(-1) / reference.abs().max()


@torch.inference_mode()
def past_moves(model: Transformer, ids: Sequence[int], *, masked: bool) -> float:
    """Return how far the logits of earlier tokens move when the last one is appended.

    As a share of the largest |logit|.  If they move at all, none of their keys may be cached.
    """
    T = len(ids)
    everywhere = torch.ones(T, T, dtype=torch.bool)
    # One and the same model with both masks: only the mask can make the difference.
    mask = everywhere.tril() if masked else everywhere
    text = torch.tensor([ids])
    model.eval()
    before = model(text[:, :-1], mask=mask[:-1, :-1]).logits[0]
    # The last row is cut off: it is new, and has nothing to be compared with.
    after = model(text, mask=mask).logits[0, :-1]
    return float(relative_difference(after, before).max())


def repeated_share(tokens: Sequence[Hashable], n: int = 4) -> float:
    """Return the share of the runs of `n` tokens that occurred earlier in the text.

    Source: Welleck et al. 2020, Neural Text Generation With Unlikelihood Training, seq-rep-n.
    """
    runs = [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]
    return 1 - len(set(runs)) / len(runs) if runs else 0.0
