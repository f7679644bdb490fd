"""What a model knows when only the prefix is visible, the least loss a model without a leak can
have, and how far each token's output depends on every other token.

Shapes: N windows, T tokens, V vocabulary.
"""

from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from owi_core.errors import TextError
from owi_core.model import Transformer
from owi_core.training import Dataset, loss_nats

MAX_FLOOR_CELLS = 4_000_000
N_REPLACEMENTS = 3  # a token is exchanged for this many others; the largest change counts


class PrefixOnly(NamedTuple):
    """Mean loss in nats and share of right next tokens when only the prefix is visible."""

    loss_nats: float
    accuracy: float


def prefix_only_loss_nats(model: Transformer, data: Dataset, n_windows: int = 64) -> float:
    """Return the mean over windows and t of −log p(x_{t+1} | the model run on x_{≤t} alone).

    Dropout is off.  At most `n_windows` windows are used, evenly spread.  For a causal model this
    is its ordinary loss on the same windows.
    """
    return prefix_only(model, data, n_windows).loss_nats


@torch.no_grad()
def prefix_only(model: Transformer, data: Dataset, n_windows: int = 64) -> PrefixOnly:
    """Return loss and accuracy over windows and t, the model run on x_{≤t} alone, dropout off."""
    model.eval()
    batch = data.take(_spread(data, n_windows))
    ids, targets = batch.ids, batch.targets  # (N, T)
    loss, right = 0.0, 0.0
    for t in range(1, ids.shape[1] + 1):
        logits = model(ids[:, :t]).logits[:, -1]  # (N, V)
        loss += float(F.cross_entropy(logits, targets[:, t - 1]))
        right += float((logits.argmax(-1) == targets[:, t - 1]).double().mean())
    return PrefixOnly(loss / ids.shape[1], right / ids.shape[1])


@torch.no_grad()
def evaluation_loss_nats(model: Transformer, data: Dataset, n_windows: int = 64) -> float:
    """Return the ordinary loss, each window seen at once, on the windows of `prefix_only`."""
    model.eval()
    return float(loss_nats(model, data.take(_spread(data, n_windows))))


@torch.no_grad()
def change_matrix(model: Transformer, ids: Tensor) -> Tensor:
    """Return how far the logits at t move when token s alone is exchanged: (T, T) as [t, s].

    A cell is the largest |change| of any logit over N_REPLACEMENTS other tokens.  Where the output
    cannot depend on the token it is exactly 0.
    ids: (T,).  Raises TextError for fewer than two tokens, or a vocabulary of one.
    """
    T = ids.shape[0]
    _refuse_without_two(model, T)
    model.eval()
    V = model.config.vocab_size
    rows = ids.repeat(T, 1)  # (T, T): in row s token s is exchanged
    # The same batch without a change.  One sentence alone would not do: kernels may sum in another
    # order for another batch size, and 1e-7 would look like a leak.
    before = model(rows).logits  # (T, T, V)
    changes = torch.zeros(T, T)
    # Shifts of the id from 1 to V − 1, evenly spread: never the token itself.
    for k in {1 + i * (V - 2) // (N_REPLACEMENTS - 1) for i in range(N_REPLACEMENTS)}:
        changed = rows.clone()
        changed.diagonal().copy_((ids + k) % V)
        moved = (model(changed).logits - before).abs().amax(-1)  # (T, T) as [s, t]
        changes = torch.maximum(changes, moved.T)
    return changes


def gradient_matrix(model: Transformer, ids: Tensor) -> Tensor:
    """Return ‖∂ logits at t / ∂ embedding of token s‖, the Frobenius norm, (T, T) as [t, s].

    The embedding is taken as a row of the table, before its scale.  ids: (T,).
    """
    T = ids.shape[0]
    _refuse_without_two(model, T)
    model.eval()
    # One row for each position, so that two equal tokens have separate gradients.
    rows = model.embedding.weight.detach()[ids].requires_grad_()  # (T, d_model)
    places = torch.arange(T)[None]
    out = torch.func.functional_call(
        model, {"embedding.weight": rows}, (places,), {"explicit": True}, tie_weights=False
    )
    norms = []
    # All V gradients of one position in one batch; of all positions at once they would need T times
    # the memory.
    each = torch.eye(out.logits.shape[-1])  # (V, V)
    for t in range(T):
        (gradients,) = torch.autograd.grad(
            out.logits[0, t], rows, each, retain_graph=True, is_grads_batched=True
        )  # (V, T, d_model)
        norms.append(gradients.square().sum((0, 2)).sqrt())
    return torch.stack(norms)


def leak_max(matrix: Tensor) -> float:
    """Return how far an earlier token depends on a later one, at most; matrix: (T, T) as [t, s]."""
    return float(matrix.triu(1).max())


def future_change_max(matrix: Tensor) -> float:
    """Return how far a later token depends on an earlier one, at most."""
    return float(matrix.tril(-1).max())


def loss_floor_nats(ids: Tensor, block: int) -> float | None:
    """Return the least mean loss on all windows of a text for a model that sees prefixes alone.

    It is the empirical uncertainty of x_{t+1} given x_1 … x_t of the same window, in nats; a model
    with a lower loss must have seen the future.  ids: (n,).  None when the text is too long.

    Proof: such a model gives the same distribution after equal prefixes.  Over the windows that
    share a prefix its mean −log p is a cross-entropy, and that is least when the distribution is
    the frequency of what follows (Gibbs' inequality); the least value is the entropy of it.
    """
    n = ids.shape[0] - block
    if n * block > MAX_FLOOR_CELLS:
        return None
    text = ids.numpy()
    base = int(text.max()) + 1
    # Windows that begin alike form a group.  Splitting each group by the next token gives the
    # groups of the next step; a pair (group, token) becomes the single number group · base + token.
    group, size = np.zeros(n, dtype=np.int64), np.array([n])
    surprise = 0.0
    for t in range(block + 1):
        longer = group * base + text[t : t + n]
        _, first, after, count = np.unique(
            longer, return_index=True, return_inverse=True, return_counts=True
        )
        # count / size is the frequency of the token after its prefix, and it occurs count times.
        if t > 0:  # the first token has no prefix: no model predicts it
            surprise -= float((count * np.log(count / size[group[first]])).sum())
        group, size = after, count
    return max(0.0, surprise / (n * block))


def _spread(data: Dataset, n_windows: int) -> Tensor:
    return torch.linspace(0, len(data) - 1, min(n_windows, len(data))).long()


def _refuse_without_two(model: Transformer, T: int) -> None:
    if T < 2:
        raise TextError("sentence_of_one_token", tokens=T, least=2)
    if model.config.vocab_size < 2:
        raise TextError("vocabulary_of_one")
