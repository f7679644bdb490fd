"""The models that connect tokens without attention: RNN, LSTM, GRU and causal convolution.

Their call signature is that of the Transformer, model(ids).logits, so that the same probe, trainer
and clock work for all.  The layers are PyTorch's own.
Shapes: B batch, T tokens, V vocabulary, W = d_model.
"""

import bisect
import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from owi_core.config import MaskName, ModelConfig, PeerConfig
from owi_core.model import ModelOutput, Transformer

RECURRENT: dict[str, type[nn.RNN | nn.LSTM | nn.GRU]] = {
    "rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU
}  # fmt: skip
CAUSAL = ("rnn", "lstm", "gru", "cnn", "transformer")
KINDS = (*CAUSAL, "bidirectional")
_LEAST_WIDTH, _LARGEST_WIDTH = 4, 1024


class Peer(nn.Module):
    """Embedding, layers that pass information from word to word, and a head of its own."""

    def __init__(self, config: PeerConfig, rng: torch.Generator) -> None:
        """Draw PyTorch's usual initial weights, from `rng` and not from the global generator."""
        super().__init__()
        self.config = config
        # PyTorch's layers accept no generator: seed the global one inside a fork that restores it.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(torch.randint(2**31, (), generator=rng)))
            self.embedding = nn.Embedding(config.vocab_size, config.d_model)
            self.blocks = nn.ModuleList(self._layer() for _ in range(config.n_layer))
            self.lm_head = nn.Linear(config.d_model, config.vocab_size, bias=False)

    def forward(
        self, ids: Tensor, *, lengths: Tensor | None = None, read_at: Tensor | None = None
    ) -> ModelOutput:
        """Return the logits (B, T, V), or (B, 1, V) at `read_at` (B,).

        ids: (B, T), of any length.  Padding is on the right and every layer is causal, so no real
        token sees it: `lengths` changes nothing.
        """
        hidden = self.hidden(ids)  # (B, T, W)
        if read_at is not None:
            hidden = hidden[torch.arange(ids.shape[0]), read_at][:, None]  # (B, 1, W)
        return ModelOutput(self.lm_head(hidden))

    @property
    def n_params(self) -> int:
        """Trained numbers."""
        return sum(parameter.numel() for parameter in self.parameters())

    @property
    def receptive_field(self) -> int | None:
        """How many of the last tokens can reach an output, itself counted; None = all."""
        return None

    def hidden(self, ids: Tensor) -> Tensor:
        """Return the input of the head, (B, T, W)."""
        raise NotImplementedError

    def mixing(self, ids: Tensor) -> Tensor:
        """Return the numbers that weight one position's state against another's, in any shape."""
        raise NotImplementedError

    def _layer(self) -> nn.Module:
        raise NotImplementedError


class RecurrentPeer(Peer):
    """A chain: all earlier words are summarised in one vector, passed on from word to word."""

    def hidden(self, ids: Tensor) -> Tensor:
        x = self.embedding(ids)  # (B, T, W)
        for layer in self.blocks:
            x, _ = layer(x)
        return x  # type: ignore[no-any-return]

    def mixing(self, ids: Tensor) -> Tensor:
        """Return the recurrent matrices of an RNN; of LSTM and GRU how much each step keeps.

        That is the forget gate, (n_layer, B, T, W), or the GRU's update gate.
        """
        if self.config.kind == "rnn":
            return torch.stack([layer.get_parameter("weight_hh_l0") for layer in self.blocks])
        x = self.embedding(ids)  # (B, T, W)
        # PyTorch does not return the gates, so they are computed again from what goes in and out.
        kept = []
        for layer in self.blocks:
            y, _ = layer(x)
            kept.append(_keep_gate(layer, x, y))
            x = y
        return torch.stack(kept)

    def _layer(self) -> nn.Module:
        W = self.config.d_model
        return RECURRENT[self.config.kind](W, W, batch_first=True)


class CausalConvolution(nn.Module):
    """x + activation(convolution(norm(x))), each output seeing `kernel` tokens up to its own.

    The norm is over a token's own features: one over time would let the future through.
    """

    def __init__(self, width: int, kernel: int, *, linear: bool) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(width, width, kernel)
        self.norm = nn.Identity() if linear else nn.LayerNorm(width)
        self.activation = nn.Identity() if linear else nn.GELU()

    def forward(self, x: Tensor) -> Tensor:
        """x and result: (B, T, W)."""
        reach = self.convolution.kernel_size[0] - 1
        # All padding on the left: output t is then the last of the `kernel` tokens it sees.
        padded = F.pad(self.norm(x).transpose(1, 2), (reach, 0))  # (B, W, reach + T)
        moved = self.convolution(padded).transpose(1, 2)  # (B, T, W)
        return x + self.activation(moved)  # type: ignore[no-any-return]


class ConvolutionPeer(Peer):
    """A window: each layer passes information on over at most `kernel` − 1 positions."""

    @property
    def receptive_field(self) -> int:
        return 1 + self.config.n_layer * (self.config.kernel - 1)

    def hidden(self, ids: Tensor) -> Tensor:
        x = self.embedding(ids)  # (B, T, W)
        for block in self.blocks:
            x = block(x)
        return x  # type: ignore[no-any-return]

    def mixing(self, ids: Tensor) -> Tensor:
        """Return the kernels, (n_layer, W, W, kernel): parameters, whatever the sentence."""
        kernels: list[Tensor] = [b.get_parameter("convolution.weight") for b in self.blocks]
        return torch.stack(kernels)

    def _layer(self) -> nn.Module:
        c = self.config
        return CausalConvolution(c.d_model, c.kernel, linear=c.linear)


AnyModel = Peer | Transformer


@dataclass(frozen=True)
class Plan:
    """Settings of all kinds of models but the width, which is chosen to make them equally large."""

    vocab_size: int
    block_size: int = 64
    recurrent_layers: int = 1
    conv_layers: int = 4
    kernel: int = 5
    linear: bool = False
    attention_layers: int = 2
    n_head: int = 4
    init_std: float | None = None  # of the Transformer's matrices; None = 1 / √width


def make(kind: str, plan: Plan, width: int, rng: torch.Generator) -> AnyModel:
    """Return a new model of a kind; ValueError for an unknown kind."""
    if kind in RECURRENT:
        layers = plan.recurrent_layers
        return RecurrentPeer(PeerConfig(kind, plan.vocab_size, layers, width), rng)  # type: ignore[arg-type]
    if kind == "cnn":
        config = PeerConfig(
            "cnn", plan.vocab_size, plan.conv_layers, width, plan.kernel, plan.linear
        )
        return ConvolutionPeer(config, rng)
    if kind in ("transformer", "bidirectional"):
        return Transformer(_transformer_config(kind, plan, width), rng)
    raise ValueError(f"kind is {kind!r}: choose one of {', '.join(KINDS)}")


def equal_models(kinds: Iterable[str], plan: Plan, width: int, seed: int) -> dict[str, AnyModel]:
    """Return a new model of each kind, all about as large as a Transformer of this width."""
    n_params = _count("transformer", plan, width)
    return {kind: make(kind, plan, width_for(kind, plan, n_params), rng_of(seed)) for kind in kinds}


def width_for(kind: str, plan: Plan, n_params: int) -> int:
    """Return the width whose number of parameters is nearest to `n_params`.

    A Transformer's width is a multiple of its number of heads, so its size changes in steps of up
    to several percent.
    """
    step = plan.n_head if kind in ("transformer", "bidirectional") else 1
    widths = range(_LEAST_WIDTH - _LEAST_WIDTH % -step, _LARGEST_WIDTH, step)
    # The number of parameters rises with the width, so the nearest one is next to the crossing.
    first = bisect.bisect_left(widths, n_params, key=lambda width: _count(kind, plan, width))
    near = {widths[max(first - 1, 0)], widths[min(first, len(widths) - 1)]}
    return min(near, key=lambda width: abs(_count(kind, plan, width) - n_params))


def rng_of(seed: int) -> torch.Generator:
    """Return a new generator, so that the weights of a model do not depend on other models."""
    return torch.Generator().manual_seed(seed)


def largest_difference(counts: Sequence[int]) -> float:
    """Return by what share the largest model exceeds the smallest."""
    return max(counts) / min(counts) - 1


def logits(model: AnyModel, ids: Tensor) -> Tensor:
    """Return the logits (B, T, V) of ids (B, T)."""
    return model(ids).logits  # type: ignore[no-any-return]


def logits_from_rows(model: AnyModel, rows: Tensor) -> Tensor:
    """Return the logits (B, T, V) of embedding rows (B, T, W), one for each position.

    The rows replace rows of the embedding table, before scale and positions, so that two equal
    words have separate gradients.
    """
    B, T, _ = rows.shape
    # The rows become the whole table and the ids count through it: word i is position i.
    places = torch.arange(B * T).view(B, T)
    table = {"embedding.weight": rows.flatten(0, 1)}
    out = torch.func.functional_call(model, table, (places,), tie_weights=False)
    return out.logits  # type: ignore[no-any-return]


def mixing_weights(model: AnyModel, ids: Tensor) -> Tensor:
    """Return what weights one position against another: kernel, gate, or attention pattern."""
    if isinstance(model, Transformer):
        pattern = model(ids, explicit=True).pattern
        assert pattern is not None
        return pattern  # type: ignore[no-any-return]  # (L, B, H, T, T)
    return model.mixing(ids)


def _transformer_config(kind: str, plan: Plan, width: int) -> ModelConfig:
    mask: MaskName = "bidirectional" if kind == "bidirectional" else "causal"
    return ModelConfig(
        plan.vocab_size,
        n_layer=plan.attention_layers,
        n_head=plan.n_head,
        d_model=width,
        d_mlp=2 * width,
        block_size=plan.block_size,
        # Std × scale is 1 at the input: with less, the links that are learned are detours.
        embedding_scale=width**0.5,
        embedding_std=width**-0.5,
        init_std=plan.init_std or width**-0.5,
        mask=mask,
        tie_weights=False,
    )


@lru_cache(maxsize=1024)
def _count(kind: str, plan: Plan, width: int) -> int:
    # Positions are computed, not trained, so a block of 1 has as many parameters and builds faster.
    short = dataclasses.replace(plan, block_size=1)
    return make(kind, short, width, torch.Generator()).n_params


def _keep_gate(layer: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """Return how much of its old state each step kept, (B, T, W), recomputed from x and y.

    Source: the formulas in the documentation of torch.nn.LSTM (f_t) and torch.nn.GRU (z_t), where
    they are the second quarter and the second third of the rows.
    """
    assert isinstance(layer, nn.LSTM | nn.GRU)
    W = layer.hidden_size
    rows = slice(W, 2 * W)
    # The first state is 0; each later one is the output of the step before.
    before = F.pad(y[:, :-1], (0, 0, 1, 0))  # (B, T, W), the state before each step
    weight_x, weight_y, bias_x, bias_y = (
        layer.get_parameter(name)[rows]
        for name in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    )
    return torch.sigmoid(x @ weight_x.T + before @ weight_y.T + bias_x + bias_y)
