"""By which route an answer arrives: by a direct look at the word meant, or by other words.

A weight cannot decide it: a row may put half its weight on a word and lose nothing without it.
So both routes are closed in turn, in all layers and heads, and the answer is read again:

- without the direct look, the query may not look at the word meant;
- by the direct look alone, the query may, but no other word may look at the word meant.  What
  reaches the answer then comes from the query's own look (or from no look at all).

Shapes: L layers, B sentences, T tokens.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from owi_core.model import Transformer

Route = Literal["direct", "detour", "both", "neither"]


@dataclass(frozen=True)
class Routes:
    """The answer as the model gives it, and with one of the two routes closed.

    Each number is a probability of one sentence's answer, or a share of sentences answered right.
    holds_*: whether the answer is still given with that route alone.
    """

    intact: float
    without_direct: float
    direct_alone: float
    holds_without_direct: bool
    holds_direct_alone: bool

    @property
    def route(self) -> Route:
        """Which route suffices: one of them, "both" (either), or "neither" (it takes the two)."""
        if self.holds_direct_alone:
            return "both" if self.holds_without_direct else "direct"
        return "detour" if self.holds_without_direct else "neither"

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers with the route that they decide, as the command line prints them."""
        return {"route": self.route, **asdict(self)}


def route_masks(allowed: Tensor, read_at: Tensor, meant: Tensor) -> tuple[Tensor, Tensor]:
    """Return the masks without the direct look, and with the direct look alone: (B, 1, T, T) each.

    allowed: (T, T) or (B, T, T).  read_at: (B,), the query.  meant: (B, T), True at every token
    that is the word meant; the query itself is never one of them.
    """
    B, T = meant.shape
    queries = torch.arange(T) == read_at[:, None]  # (B, T)
    direct = queries[:, :, None] & meant[:, None]  # (B, T, T)
    # The word meant may go on looking at itself: that carries nothing to another position.
    others = ~queries[:, :, None] & ~meant[:, :, None] & meant[:, None]
    allowed = allowed.expand(B, T, T)
    return (allowed & ~direct)[:, None], (allowed & ~others)[:, None]


@torch.no_grad()
def routed_logits(
    model: Transformer,
    ids: Tensor,
    read_at: Tensor,
    meant: Tensor,
    lengths: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the logits at each query, (B, V), without the direct look and by it alone.

    ids: (B, T); the rest as in `route_masks`.
    """
    model.eval()
    L, T = model.config.n_layer, ids.shape[1]
    without, alone = (
        model(ids, lengths=lengths, mask=mask.expand(L, *mask.shape), read_at=read_at).logits[:, 0]
        for mask in route_masks(model.default_mask(T), read_at, meant)
    )
    return without, alone


def answer_routes(
    model: Transformer, ids: Sequence[int], read_at: int, target: int, meant: Sequence[int]
) -> Routes:
    """Return the answer's probability on each route; it holds while it is the likeliest word."""
    queries, places = torch.tensor([read_at]), torch.zeros(1, len(ids), dtype=torch.bool)
    places[0, list(meant)] = True
    batch = torch.tensor([list(ids)])
    with torch.no_grad():
        intact = model.eval()(batch, read_at=queries).logits[:, 0]
    found = torch.cat([intact, *routed_logits(model, batch, queries, places)])  # (3, V)
    p = found.softmax(dim=-1)[:, target].tolist()
    holds = (found.argmax(dim=-1) == target).tolist()
    return Routes(p[0], p[1], p[2], holds[1], holds[2])
