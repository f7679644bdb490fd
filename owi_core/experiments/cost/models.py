"""The models whose cost is measured: the peers, a recurrent cell in a loop, attention by kernel.

Shapes: B batch, T tokens, H heads, D = d_head, W = d_model.
"""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from owi_core import masks, peers, ranges
from owi_core.attention import AttentionOutput, MultiHeadAttention
from owi_core.config import ModelConfig
from owi_core.masks import Range, Reach
from owi_core.model import ModelOutput, Transformer
from owi_core.peers import AnyModel, Plan

Kernel = Callable[[Tensor, Tensor, Tensor, int], Tensor]  # q, k, v, number of the layer


class KernelAttention(MultiHeadAttention):
    """The multi-head module whose inner part is a kernel; masks come with the kernel."""

    def __init__(self, config: ModelConfig, kernel: Kernel, layer: int) -> None:
        super().__init__(config)
        self.kernel, self.layer = kernel, layer

    def forward(
        self,
        x_query: Tensor,
        x_key_value: Tensor,
        mask: Tensor,
        **_not_used: Any,
    ) -> AttentionOutput:
        """Return the layer's output; `mask`, `explicit` and `temperature` have no effect here."""
        q, k, v = self.project(x_query, x_key_value)  # (B, H, T, D)
        return AttentionOutput(self.write(self.kernel(q, k, v, self.layer)))


class KernelTransformer(nn.Module):
    """A copy of a Transformer that keeps its weights and attends by a kernel."""

    def __init__(self, model: Transformer, kernel: Kernel) -> None:
        super().__init__()
        # A copy: the given model keeps its own attention.
        self.inner = copy.deepcopy(model)
        for layer, block in enumerate(self.inner.blocks):
            # The new module draws weights that are overwritten; the global generator must not
            # notice.
            with torch.random.fork_rng(devices=[]):
                attention = KernelAttention(model.config, kernel, layer)
            attention.load_state_dict(block.attention.state_dict())  # type: ignore[union-attr]
            block.attention = attention

    @property
    def config(self) -> ModelConfig:
        return self.inner.config

    @property
    def n_params(self) -> int:
        """Trained numbers."""
        return self.inner.n_params

    def forward(
        self, ids: Tensor, *, lengths: Tensor | None = None, read_at: Tensor | None = None
    ) -> ModelOutput:
        """Return the logits; the T × T mask that the model asks for is never made.

        One row of a mask stands in for it: the kernels are causal by themselves.
        """
        stand_in = torch.ones(1, 1, dtype=torch.bool).expand(self.config.n_layer, 1, 1, 1, 1)
        return self.inner(ids, mask=stand_in, read_at=read_at)  # type: ignore[no-any-return]


class LoopedRnn(nn.Module):
    """A copy of the RNN that is computed word by word in Python, as its formula is written."""

    def __init__(self, model: peers.RecurrentPeer) -> None:
        super().__init__()
        self.embedding = copy.deepcopy(model.embedding)
        self.lm_head = copy.deepcopy(model.lm_head)
        self.cells = nn.ModuleList(_cell_of(layer) for layer in model.blocks)

    @property
    def n_params(self) -> int:
        """Trained numbers."""
        return sum(parameter.numel() for parameter in self.parameters())

    def forward(self, ids: Tensor) -> ModelOutput:
        """ids: (B, T)."""
        x = self.embedding(ids)  # (B, T, W)
        for cell in self.cells:
            h, states = None, []
            for x_t in x.unbind(dim=1):
                h = cell(x_t, h)  # (B, W)
                states.append(h)
            # One step after another: no word can be computed before the one in front of it.
            x = torch.stack(states, dim=1)  # (B, T, W)
        return ModelOutput(self.lm_head(x))


def ranged(model: Transformer, kind: Range, reach: Reach) -> KernelTransformer:
    """Return a copy of `model` whose attention has a kind of range, really computed so."""
    return KernelTransformer(
        model, lambda q, k, v, layer: ranges.attend(kind, q, k, v, reach, layer)
    )


def written_out(model: Transformer) -> KernelTransformer:
    """Return a copy of `model` in which every T × T matrix is really there."""
    return KernelTransformer(
        model,
        lambda q, k, v, _: ranges.explicit_attention(q, k, v, masks.causal(q.shape[2])),
    )


def timed_models(
    plan: Plan, width: int, reach: Reach, seed: int
) -> Iterator[tuple[str, nn.Module]]:
    """Yield the models to be timed by name, all about as large as a Transformer of this width."""
    equal: dict[str, AnyModel] = peers.equal_models(peers.CAUSAL, plan, width, seed)
    transformer, rnn = equal.pop("transformer"), equal["rnn"]
    assert isinstance(transformer, Transformer)
    assert isinstance(rnn, peers.RecurrentPeer)
    yield "transformer", ranged(transformer, "full", reach)
    yield "explicit", written_out(transformer)
    yield "window", ranged(transformer, "window", reach)
    yield from equal.items()
    yield "cell", LoopedRnn(rnn)


def _cell_of(layer: nn.Module) -> nn.RNNCell:
    assert isinstance(layer, nn.RNN)
    with torch.random.fork_rng(devices=[]):
        cell = nn.RNNCell(layer.input_size, layer.hidden_size)
    cell.load_state_dict({k.removesuffix("_l0"): v for k, v in layer.state_dict().items()})
    return cell
