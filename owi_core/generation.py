"""Generation one token at a time; it yields what was drawn and knows nothing of text.

Shapes: T tokens so far, V vocabulary, L layers, H heads.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from owi_core.attention import KeyValues
from owi_core.config import SamplingConfig
from owi_core.errors import TextError
from owi_core.model import ModelOutput, Transformer

ROUNDING = 1e-9  # far above the error of a sum of 100,000 doubles, far below any top_p


@dataclass(frozen=True, eq=False)
class Forecast:
    """The model's prediction of the next token, and where the last position looked for it.

    before: (V,) the softmax of the logits.  after: (V,) reshaped by the sampling settings; the
    token is drawn from it.  rows: (L, H, T) weights of the last position over the T tokens in the
    window.  dropped: how many of the oldest tokens are no longer in the window.
    """

    before: NDArray[np.float64]
    after: NDArray[np.float64]
    rows: NDArray[np.float32]
    dropped: int


@dataclass(frozen=True)
class Drawn:
    """One new token, its probability under the reshaped distribution, and the tokens dropped.

    `dropped` counts the oldest tokens that no longer fitted into block_size at this step.
    u: the uniform random number of this step, drawn also where the token was forced.
    """

    id: int
    probability: float
    dropped: int
    u: float
    forced: bool = False
    forecast: Forecast | None = None


class Shares(NamedTuple):
    """The line from 0 to 1 cut into one piece per token, the most likely first.

    ids: (V,).  ends: (V,) where each piece ends and the next begins; the last is 1.
    """

    ids: NDArray[np.intp]
    ends: NDArray[np.float64]


def next_distribution(logits: Tensor, config: SamplingConfig) -> Tensor:
    """Return the probabilities (V,) from which the next token is drawn.

    logits: (V,).  Temperature divides them first, then top_k keeps the k likeliest, then top_p
    keeps, of those, the smallest set of likeliest tokens that holds that share of their
    probability; temperature 0 is one-hot.  Among equal logits the smaller id ranks first, so a tie
    at the k-th place keeps the smaller ids and leaves out their equals.
    Source: Holtzman et al. 2020, section 3.1.
    """
    if config.temperature == 0:
        return F.one_hot(logits.argmax(), logits.shape[-1]).to(logits.dtype)
    # A temperature near 0 makes logits huge: with the largest at 0 the others only underflow, to a
    # probability of 0, and doubles leave room before they do.
    shifted = (logits - logits.max()).double() / config.temperature
    p = shifted.softmax(dim=-1)  # (V,)
    if not config.top_k and config.top_p == 1:
        return p.to(logits.dtype)
    # A stable sort keeps equal tokens in the order of their ids, so ties are cut the same way on
    # every machine.
    ranked, order = p.sort(descending=True, stable=True)  # (V,) each
    if config.top_k:
        ranked[config.top_k :] = 0
    ranked = ranked / ranked.sum()
    if config.top_p < 1:
        # A token stays while the more likely ones do not yet hold top_p; so the first always stays.
        before = ranked.cumsum(dim=-1) - ranked  # (V,) held by the more likely tokens
        # Sums of equal shares round: ten twentieths come to a little less than 0.5, and without
        # the tolerance an eleventh token would be kept.
        ranked = ranked * (before < config.top_p - ROUNDING)
    return torch.zeros_like(ranked).scatter(0, order, ranked / ranked.sum()).to(logits.dtype)


def shares(p: NDArray[np.floating[Any]]) -> Shares:
    """Return the pieces into which a distribution (V,) cuts the line from 0 to 1."""
    ids = np.argsort(-p, kind="stable")
    ends = np.cumsum(p[ids], dtype=np.float64)  # in floats small pieces would vanish
    return Shares(ids, ends / ends[-1])


def draw(p: NDArray[np.floating[Any]], u: float) -> int:
    """Return the token whose piece of the line contains u, 0 ≤ u < 1; never one with p = 0.

    Source: Devroye 1986, section III.2, inversion.
    """
    ids, ends = shares(p)
    # "right": a piece contains its start and not its end, so a piece of length 0 contains nothing.
    return int(ids[np.searchsorted(ends, u, side="right")])


def uniforms(seed: int, count: int) -> list[float]:
    """Return the random numbers of the first `count` steps, which do not depend on the tokens.

    So a step that is undone and repeated draws the same token, and two branches of a text differ
    by their tokens alone.
    """
    rng = torch.Generator().manual_seed(seed)
    return [_uniform(rng) for _ in range(count)]


@torch.inference_mode()
def generate(
    model: Transformer,
    prompt: Sequence[int],
    config: SamplingConfig,
    stop_id: int | None = None,
    *,
    cache: bool = False,
    forced: Mapping[int, int] | None = None,
    explain: bool = False,
) -> Iterator[Drawn]:
    """Yield max_new_tokens tokens that continue `prompt`, or fewer when `stop_id` is drawn.

    Past block_size the oldest tokens are dropped.  The same seed gives the same tokens.
    cache: keep keys and values instead of computing them again; ignored for a model that is not
    causal.  Past the block the window slides and every token changes its position, so cached keys
    and values are wrong: from there on the whole window is computed at each step.
    forced: step number, from 0 → the token to take instead of the one drawn.
    explain: each token comes with its forecast.
    Raises TextError for an empty prompt.
    """
    if not prompt:
        raise TextError("text_empty")
    model.eval()
    rng = torch.Generator().manual_seed(config.seed)
    stepper = Stepper(model) if cache and model.config.mask == "causal" else None
    ids = list(prompt)
    for step in range(config.max_new_tokens):
        output = _read_on(model, ids, stepper, explain)
        p = next_distribution(output.logits[0, -1], config).numpy()
        u = _uniform(rng)  # drawn for forced tokens too, so that later steps keep their numbers
        own = None if forced is None else forced.get(step)
        chosen = draw(p, u) if own is None else own
        dropped = max(0, len(ids) - model.config.block_size)
        forecast = _forecast(output, config, dropped) if explain else None
        ids.append(chosen)
        yield Drawn(chosen, float(p[chosen]), dropped, u, own is not None, forecast)
        if chosen == stop_id:
            return


@torch.inference_mode()
def foresee(model: Transformer, ids: Sequence[int], config: SamplingConfig) -> Forecast:
    """Return the model's prediction of the token after `ids`; TextError when `ids` is empty."""
    if not ids:
        raise TextError("text_empty")
    output = _read_on(model.eval(), ids, None, True)
    return _forecast(output, config, max(0, len(ids) - model.config.block_size))


class Stepper:
    """A causal model that reads one text in parts, with a KV cache of what it has read.

    For a single token the arithmetic of Transformer.forward is written out without modules: with so
    few numbers, calling modules takes longer than computing.  The model must not change meanwhile.
    """

    def __init__(self, model: Transformer) -> None:
        self.model, self.cache = model, model.new_cache()
        self._embedding, self._scale = model.embedding.weight, model.config.embedding_scale
        self._positions = None if model.config.positions == "none" else model.positions
        self._norm, self._head = _norm(model.norm_final), _affine(model.lm_head)
        self._steps = [
            _BlockStep(block, kept) for block, kept in zip(model.blocks, self.cache, strict=True)
        ]

    @property
    def length(self) -> int:
        """How many tokens it has read."""
        return self.cache[0].length

    def read(self, ids: Sequence[int], *, explicit: bool = False) -> ModelOutput:
        """Read these tokens after those read before; return the output for them."""
        if len(ids) == 1 and not explicit:
            return ModelOutput(self._one(ids[0])[None, None])  # (1, 1, V)
        return self.model(  # type: ignore[no-any-return]
            torch.tensor([ids]), explicit=explicit, cache=self.cache
        )

    def drop_oldest(self) -> None:
        """Remove the first token; the values that later tokens computed from it stay."""
        for layer in self.cache:
            layer.drop_oldest(1)

    def _one(self, token: int) -> Tensor:
        x = self._embedding[token] * self._scale  # (d_model,)
        if self._positions is not None:
            x = x + self._positions[self.length]
        for step in self._steps:
            x = step(x)
        return F.linear(F.layer_norm(x, *self._norm), *self._head)  # (V,)


class _BlockStep:
    """A block for one token, (d_model,) → (d_model,); the same function as model.Block.forward."""

    def __init__(self, block: Any, cache: KeyValues) -> None:
        attention, self.cache = block.attention, cache
        self.pre_norm, self.activation = block.pre_norm, block.activation
        self.heads = (1, attention.n_head, attention.d_head)
        self.scale = attention.d_head**-0.5 if attention.scale_scores else 1.0
        # Concatenated once here: each token then needs one product instead of three.
        qkv = (attention.w_q, attention.w_k, attention.w_v)
        self.qkv = (torch.cat([w.weight for w in qkv]), torch.cat([w.bias for w in qkv]))
        self.w_o = None if attention.w_o is None else _affine(attention.w_o)
        self.mlp_in, self.mlp_out = _affine(block.mlp_in), _affine(block.mlp_out)
        self.norms = _norm(block.norm_attention), _norm(block.norm_mlp)

    def __call__(self, x: Tensor) -> Tensor:
        first, second = self.norms
        if self.pre_norm:
            x = x + self._attend(F.layer_norm(x, *first))
            return x + self._mlp(F.layer_norm(x, *second))
        x = F.layer_norm(x + self._attend(x), *first)
        return F.layer_norm(x + self._mlp(x), *second)

    def _attend(self, x: Tensor) -> Tensor:
        qkv = F.linear(x, *self.qkv).view(3, *self.heads)  # (3, 1, H, D)
        k, v = self.cache.append_one(qkv[1:])  # (1, H, T, D)
        z = F.scaled_dot_product_attention(qkv[0][:, :, None], k, v, scale=self.scale).view(-1)
        return z if self.w_o is None else F.linear(z, *self.w_o)

    def _mlp(self, x: Tensor) -> Tensor:
        return F.linear(self.activation(F.linear(x, *self.mlp_in)), *self.mlp_out)


def _affine(linear: nn.Linear) -> tuple[Tensor, Tensor]:
    return linear.weight, linear.bias


def _norm(norm: nn.LayerNorm) -> tuple[Any, ...]:
    return norm.normalized_shape, norm.weight, norm.bias, norm.eps


def _read_on(
    model: Transformer, ids: Sequence[int], stepper: Stepper | None, explicit: bool
) -> ModelOutput:
    """Run the model on the tokens it has not read yet, or on the whole window."""
    block = model.config.block_size
    if stepper is not None and len(ids) <= block:
        return stepper.read(ids[stepper.length :], explicit=explicit)
    return model(torch.tensor([ids[-block:]]), explicit=explicit)  # type: ignore[no-any-return]


def _forecast(output: ModelOutput, config: SamplingConfig, dropped: int) -> Forecast:
    assert output.pattern is not None
    logits = output.logits[0, -1]  # (V,)
    before = logits.double().softmax(dim=-1).numpy()
    after = next_distribution(logits, config).double().numpy()
    return Forecast(before, after, output.pattern[:, 0, :, -1].numpy().copy(), dropped)


def _uniform(rng: torch.Generator) -> float:
    return float(torch.rand((), generator=rng, dtype=torch.float64))
