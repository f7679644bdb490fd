"""Which pairs of positions are linked after several layers, by boolean powers of the masks.

Axes [query_pos, key_pos]; L layers, T tokens.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from owi_core import masks
from owi_core.masks import Range, Reach


def linked(layer_masks: Tensor) -> Tensor:
    """Return (L, T, T) bool: from which keys something may have come to a query after each layer.

    layer_masks: (L, T, T) bool.  What a position holds passes on through the residual stream, so
    it stays linked with itself even where the mask forbids that.
    """
    L, T, _ = layer_masks.shape
    reached = torch.eye(T, dtype=torch.bool)
    after = []
    for layer in range(L):
        # Query t reads s, and s holds what the layers below brought there: so the mask of this
        # layer is the left factor, and what was reached before is the right one.
        reached = reached | _boolean_product(layer_masks[layer], reached)
        after.append(reached)
    return torch.stack(after)


def fraction_linked(reached: Tensor, *, causal: bool = True) -> float:
    """Return the share of the pairs that may be linked; `causal`: those with key not after query.

    reached: (T, T) bool.
    """
    T = reached.shape[-1]
    allowed = masks.causal(T) if causal else masks.bidirectional(T)
    return float((reached & allowed).sum() / allowed.sum())


def layers_needed(kind: Range, reach: Reach, distance: int, *, most: int = 64) -> int | None:
    """Return how many layers it takes until the last position is linked with the one `distance`
    before it; None when `most` are not enough.

    Borders of blocks make it depend on the position: this is the least over one block's positions.
    """
    if distance == 0:
        return 1
    # One block more than needed at the start, where blocks are shorter and globals are near.
    T = distance + 2 * reach.size + 1
    # The last positions, one whole block of them, far enough from the start not to be cut short.
    rows = torch.arange(T - reach.size, T)
    reached = torch.eye(T, dtype=torch.bool)
    for layer in range(most):
        grown = reached | _boolean_product(masks.of_layer(kind, T, layer, reach), reached)
        if bool(grown[rows, rows - distance].any()):
            return layer + 1
        reached = grown
    return None


def linked_by_kind(
    kinds: Sequence[Range], T: int, n_layer: int, reach: Reach, *, causal: bool = True
) -> Tensor:
    """Return `linked` of every kind, (K, L, T, T); without `causal` links go both ways."""
    found = []
    for kind in kinds:
        layer_masks = masks.by_layer(kind, T, n_layer, reach)
        found.append(linked(layer_masks if causal else masks.both_ways(layer_masks)))
    return torch.stack(found)


def farthest(reached: Tensor) -> int:
    """Return the largest distance back over which the last position is linked."""
    return int(reached.shape[-1] - 1 - reached[-1].nonzero()[0, 0])


def _boolean_product(a: Tensor, b: Tensor) -> Tensor:
    # torch has no boolean product.  The sums count paths, at most T, so they are exact in floats.
    return (a.float() @ b.float()) > 0
