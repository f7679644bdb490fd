"""What each head, each perceptron and the embedding add to the stream, and to one logit.

Shapes: L layers, H heads, T tokens, D = d_head, V vocabulary, P parts.
Source: Elhage et al. 2021, A Mathematical Framework for Transformer Circuits (heads add up);
direct attribution with the final norm frozen, as in nostalgebraist 2020 and McDougall et al. 2023.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from owi_core.errors import SettingError
from owi_core.model import Transformer
from owi_core.probes.walk import LayerPass, entered, walk

Floats = NDArray[np.float64]
Kind = Literal["words", "places", "head", "bias", "mlp", "norm"]


class Part(NamedTuple):
    """One summand: what it is, and in which layer and head; `bias` is that of W_O."""

    kind: Kind
    layer: int | None = None
    head: int | None = None


class SumError(NamedTuple):
    """Largest |Σ heads + bias − output| of a layer, and the same over the largest |output|."""

    absolute: float
    relative: float


@dataclass(frozen=True)
class Shares:
    """One word's logit as a sum: a value for each part, and the true logit.

    The final norm is frozen: its mean and spread are those of the real pass.
    """

    parts: tuple[Part, ...]
    values: Floats
    logit: float

    @property
    def error(self) -> float:
        """|Σ values − logit|."""
        return abs(float(self.values.sum()) - self.logit)


@dataclass(frozen=True, eq=False)
class Contributions:
    """What was written to the stream at one position, part by part.

    written: (P, d_model); their sum is the input of the final norm.  to_logits: (P + 1, V), what
    each part adds to each logit with the norm frozen; the last row is what the norm's bias adds.
    logits: (V,) of the real pass.
    """

    parts: tuple[Part, ...]
    written: Floats
    to_logits: Floats
    logits: Floats

    @property
    def norms(self) -> Floats:
        """The length of each part, (P,)."""
        lengths: Floats = np.linalg.norm(self.written, axis=1)
        return lengths

    def shares(self, word: int) -> Shares:
        """Return the logit of a word (by its id) as a sum over all parts and the norm."""
        parts = (*self.parts, Part("norm"))
        return Shares(parts, self.to_logits[:, word], float(self.logits[word]))

    def promoted(self, part: Part, n: int) -> tuple[tuple[int, float], ...]:
        """Return the n words that a part raises most, and how far above the mean word."""
        # A constant added to all logits changes no probability, so the mean is subtracted.
        lifts = self.to_logits[self.parts.index(part)]
        lifts = lifts - lifts.mean()
        order = np.argsort(-lifts)[:n]
        return tuple((int(i), float(lifts[i])) for i in order)


@dataclass(frozen=True, eq=False)
class HeadWork:
    """What the heads of one layer look at, read and write at one query position.

    looks: (H, T), the rows of the pattern.  values: (H, T), the length of each value vector.
    reads: (H, T), the length of what comes from each token: α · v through the head's slice of W_O.
    writes: (H,), the length of the sum of these vectors.
    Source of reads: Kobayashi et al. 2020, Attention is Not Only a Weight.
    """

    looks: Floats
    values: Floats
    reads: Floats
    writes: Floats


@torch.no_grad()
def sum_errors(model: Transformer, ids: Sequence[int]) -> tuple[SumError, ...]:
    """Return for each layer how far the heads' slices and the bias are from the layer's output.

    The output is that of the fused path, which computes no slices.
    """
    errors = []
    block: Any
    for block, passed in zip(model.blocks, walk(model, ids), strict=True):
        x = block.attention_input(passed.before)[None]
        output = block.attention(x, x, model.default_mask(len(ids))).resid[0]
        summed = _heads(block, passed).sum(dim=0) + _bias(block)
        absolute = float((summed - output).abs().max())
        errors.append(SumError(absolute, absolute / max(float(output.abs().max()), 1e-30)))
    return tuple(errors)


@torch.no_grad()
def contributions(model: Transformer, ids: Sequence[int], position: int) -> Contributions:
    """Return what every part wrote at `position`, and what that does to the logits.

    Raises SettingError for a post-norm model: there each layer rescales everything before it, so
    the stream is not a sum that one frozen norm could split.
    """
    if model.config.norm != "pre":
        raise SettingError("attribution_needs_pre_norm", norm=model.config.norm)
    passes = walk(model, ids)
    words, places = entered(model, ids)
    parts: list[Part] = [Part("words"), Part("places")]
    written = [words[position], places[position]]
    for layer, (block, passed) in enumerate(zip(model.blocks, passes, strict=True)):
        for head, share in enumerate(_heads(block, passed)[:, position]):
            parts.append(Part("head", layer, head))
            written.append(share)
        parts += [Part("bias", layer), Part("mlp", layer)]
        written += [_bias(block), _mlp(block, passed)[position]]
    # In doubles: the proof is that the parts sum to the logit, and rounding would hide an error.
    stacked = torch.stack(written).double()  # (P, d_model)
    logits = model(torch.tensor([list(ids)])).logits[0, position].double()
    to_logits = _to_logits(model, stacked, passes[-1].after[position].double())
    return Contributions(tuple(parts), stacked.numpy(), to_logits.numpy(), logits.numpy())


@torch.no_grad()
def head_work(model: Transformer, ids: Sequence[int], layer: int, position: int) -> HeadWork:
    """Return what each head of a layer looks at, reads and writes at one position."""
    passed = walk(model, ids)[layer]
    block: Any = model.blocks[layer]
    assert passed.attended.pattern is not None
    H, D = model.config.n_head, model.config.d_head
    values = block.attention.w_v(block.attention_input(passed.before))  # (T, d_model)
    values = values.view(len(ids), H, D).transpose(0, 1)  # (H, T, D)
    # α v is linear, so what a head writes splits by the token it comes from.
    looks = passed.attended.pattern[0, :, position]  # (H, T)
    moved = looks[..., None] * values  # (H, T, D), by source token
    through = moved if block.attention.w_o is None else _project(block, moved)
    return HeadWork(
        looks.double().numpy(),
        values.norm(dim=-1).double().numpy(),
        through.norm(dim=-1).double().numpy(),
        through.sum(dim=1).norm(dim=-1).double().numpy(),
    )


def _project(block: Any, moved: Tensor) -> Tensor:
    """Multiply (H, T, D) by each head's slice of W_O: (H, T, d_model)."""
    H, _, D = moved.shape
    slices = block.attention.w_o.weight.view(H * D, H, D)
    return torch.einsum("htd,mhd->htm", moved, slices)


def _to_logits(model: Transformer, written: Tensor, resid: Tensor) -> Tensor:
    """Return (P + 1, V): each part through the frozen final norm and the output head."""
    # LayerNorm is (x − mean x) / spread · gain + bias.  Centring is linear, and with the spread
    # held at its real value so is the rest: each part can be sent through it alone, and the bias
    # counts as a part.
    norm, head = model.norm_final, model.lm_head
    # LayerNorm divides by the population spread: correction 0.
    spread = (resid.var(correction=0) + norm.eps).sqrt()
    centred = written - written.mean(dim=-1, keepdim=True)
    scaled = centred / spread * norm.weight.double()  # (P, d_model)
    read = torch.cat([scaled, norm.bias.double()[None]])
    logits: Tensor = read @ head.weight.double().T
    if head.bias is not None:
        logits[-1] += head.bias.double()
    return logits


def _heads(block: Any, passed: LayerPass) -> Tensor:
    """Return each head's share of the layer's output, (H, T, d_model)."""
    shares: Tensor = block.attention.head_shares(passed.attended.z)[0]
    return shares


def _bias(block: Any) -> Tensor:
    """Return the bias of W_O, or zeros where there is no W_O: (d_model,)."""
    w_o = block.attention.w_o
    bias: Tensor = torch.zeros(block.mlp_out.out_features) if w_o is None else w_o.bias
    return bias


def _mlp(block: Any, passed: LayerPass) -> Tensor:
    """Return what the perceptron of a pre-norm block wrote, (T, d_model)."""
    resid = passed.before + passed.attended.resid[0]
    written: Tensor = block.mlp_out(block.activation(block.mlp_in(block.norm_mlp(resid))))
    return written
