"""How weights are tied wrongly, each wrapped here and trained for a few steps beside the right way.

Each is drawn from the same seed and takes the same batches. Shapes: V vocabulary, d = d_model.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from owi_core.config import ModelConfig, TrainConfig
from owi_core.events import Number
from owi_core.model import ModelOutput, Transformer
from owi_core.probes.storage import tied_storage
from owi_core.training import Dataset, Trainer, loss_nats

RIGHT = "tied"


@dataclass(frozen=True)
class Way:
    """What a few steps make of one way of tying.

    drift: after each step, max |head − embedding| / rms of the embedding.  missing: the part of the
    tied matrix's first gradient that the embedding does not get, ‖got − whole‖ / ‖whole‖.
    bias_max, bias_unseen: largest |bias|, and mean bias of the words never seen, or None.
    """

    way: str
    same_object: bool
    missing: Number
    drift: list[Number]
    loss_nats: float | None
    bias_max: float | None
    bias_unseen: float | None
    n_params: int


class CopyInForward(Transformer):
    """The head's numbers are copied from the embedding at every call.

    The head's gradient updates the copy, which is overwritten at the next call.
    """

    def forward(self, ids: Tensor, **settings: Any) -> ModelOutput:
        with torch.no_grad():
            # .data: the copy is outside autograd, which is exactly the mistake.
            self.lm_head.weight.data.copy_(self.embedding.weight.data)
        return super().forward(ids, **settings)


def tried(config: ModelConfig, data: Dataset, training: TrainConfig, n_unseen: int) -> list[Way]:
    """Return the right way first, then each wrong one; n_unseen: words at the end, never seen."""
    # What the shared matrix would get: the sum of both parts.
    whole = _gradient(_MAKERS[RIGHT](config, training.seed), data)
    return [_one(name, config, data, training, n_unseen, whole) for name in WAYS]


def _one(
    name: str,
    config: ModelConfig,
    data: Dataset,
    training: TrainConfig,
    n_unseen: int,
    whole: Tensor,
) -> Way:
    model = _MAKERS[name](config, training.seed)
    # Taken before training, so that all ways are asked at the same weights.
    missing = (_gradient(model, data) - whole).norm() / whole.norm()
    # Before the first step: one of the wrong ways starts out apart.
    drift = [_drift(model)]
    # A trainer for each way, of the same seed: they see the same batches.
    trainer = Trainer(model, data, training)
    for _ in trainer.steps():
        drift.append(_drift(model))
    bias = model.lm_head.bias
    return Way(
        way=name,
        same_object=tied_storage(model).same_object,
        missing=float(missing),
        drift=drift,
        loss_nats=trainer.recent_loss_nats(1),
        bias_max=None if bias is None else float(bias.detach().abs().max()),
        bias_unseen=None if bias is None else float(bias.detach()[-n_unseen:].mean()),
        n_params=model.n_params,
    )


def _tied(config: ModelConfig, seed: int) -> Transformer:
    return Transformer(config, _rng(seed))


def _copied_in_forward(config: ModelConfig, seed: int) -> Transformer:
    return CopyInForward(dataclasses.replace(config, tie_weights=False), _rng(seed))


def _data_copied_once(config: ModelConfig, seed: int) -> Transformer:
    model = Transformer(dataclasses.replace(config, tie_weights=False), _rng(seed))
    model.lm_head.weight.data.copy_(model.embedding.weight.data)
    return model


def _with_bias(config: ModelConfig, seed: int) -> Transformer:
    return Transformer(dataclasses.replace(config, head_bias=True), _rng(seed))


_MAKERS: dict[str, Callable[[ModelConfig, int], Transformer]] = {
    RIGHT: _tied,
    "copied_in_forward": _copied_in_forward,
    "data_copied_once": _data_copied_once,
    "head_bias": _with_bias,
}
WAYS = tuple(_MAKERS)


def _rng(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _gradient(model: Transformer, data: Dataset) -> Tensor:
    """Return ∂L/∂E (V, d) on the first samples, as the embedding itself gets it."""
    batch = data.take(torch.arange(min(64, len(data))))
    (gradient,) = torch.autograd.grad(loss_nats(model, batch), model.embedding.weight)
    return gradient


@torch.no_grad()
def _drift(model: Transformer) -> float:
    embedding, head = model.embedding.weight, model.lm_head.weight
    return float((head - embedding).abs().max() / embedding.square().mean().sqrt())
