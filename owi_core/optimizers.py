"""What moves the weights in a training: torch's Adam and AdamW, our Muon; none loads a compiler.

To make or to step an optimizer of torch 2.13 loads `torch._dynamo`: 800 modules, 70 MB and most of
a second of a run that compiles nothing.
"""

from collections.abc import Callable
from typing import Any

import torch

from owi_core.config import TrainConfig
from owi_core.muon import Muon


def _plain(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of torch's without what it does around it for the compiler's sake."""
    plain: Callable[..., Any] = method.__wrapped__  # type: ignore[attr-defined]
    return plain


for _method in ("add_param_group", "load_state_dict", "state_dict", "zero_grad"):
    # Where torch/_compile.py keeps the method as the compiler is to leave it, once it has asked.
    _inner = _plain(getattr(torch.optim.Optimizer, _method))
    setattr(_inner, "__dynamo_disable", _inner)


class Adam(torch.optim.Adam):
    """torch's own, the same numbers."""

    step = torch.no_grad()(_plain(torch.optim.Adam.step))


class AdamW(torch.optim.AdamW):
    """torch's own, the same numbers."""

    step = torch.no_grad()(_plain(torch.optim.AdamW.step))


def optimizers_of(model: Any, config: TrainConfig) -> list[torch.optim.Optimizer]:
    """Return the optimizers that `config` names, between them one for each parameter."""
    decay, lr = config.weight_decay, config.lr
    if config.optimizer == "adam":
        return [Adam(model.parameters(), lr=lr, weight_decay=decay, fused=True)]
    if config.optimizer == "adamw":
        return [AdamW(model.parameters(), lr=lr, weight_decay=decay, fused=True)]
    # Muon is for the matrices between the embedding and the head (Jordan 2024).
    inner = (p for name, p in model.named_parameters() if name.startswith("blocks."))
    matrices = [p for p in inner if p.ndim == 2]
    chosen = {id(p) for p in matrices}
    rest = [p for p in model.parameters() if id(p) not in chosen]
    return [
        Muon(matrices, lr=lr, weight_decay=decay),
        AdamW(rest, lr=lr, weight_decay=decay, fused=True),
    ]
