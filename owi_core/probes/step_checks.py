"""The step computed in other ways: by loops, by torch's kernel, by torch's module, shuffled."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import nn

from owi_core.probes.step import (
    Floats,
    StepInputs,
    StepRecord,
    run_step,
    split_heads,
    with_positions,
)


@dataclass(frozen=True)
class Agreement:
    """Largest absolute difference of the step from each other way of computing it."""

    row_sum_error: float
    z_by_hand_error: float
    sdpa_error: float
    mha_error: float


@dataclass(frozen=True)
class Shuffled:
    """What shuffling the tokens does: largest |f(Px) − P f(x)| without and with positions."""

    without_positions: float
    with_positions: float


def agreement(record: StepRecord) -> Agreement:
    """Compare a step with loops, `scaled_dot_product_attention` and `nn.MultiheadAttention`."""
    by_hand = np.array(z_by_hand(record.inputs))
    pattern, out = multihead(record.inputs)
    return Agreement(
        row_sum_error=float(np.abs(record.pattern.sum(-1) - 1).max()),
        z_by_hand_error=_gap(record.concat, by_hand),
        sdpa_error=_gap(record.z, fused(record.inputs)),
        mha_error=max(_gap(record.pattern, pattern), _gap(record.out, out)),
    )


def z_by_hand(inputs: StepInputs) -> list[list[float]]:
    """Return the concatenated outputs of the heads, (T, d), by Python loops over numbers."""
    x, D = inputs.x.tolist(), inputs.d_head
    bias = [[0.0] * len(x[0])] * 3 if inputs.bias is None else inputs.bias[:3].tolist()
    q, k, v = (
        _times(x, getattr(inputs, name).tolist(), b)
        for name, b in zip(("w_q", "w_k", "w_v"), bias, strict=True)
    )
    z = [[0.0] * len(x[0]) for _ in x]
    for first in range(0, len(x[0]), D):
        for i in range(len(x)):
            row = _row_by_hand(inputs, i, q, k, first)
            for c in range(first, first + D):
                z[i][c] = sum(weight * v[j][c] for j, weight in enumerate(row))
    return z


def fused(inputs: StepInputs) -> Floats:
    """Return z (H, T, D) as torch's own kernel computes it."""
    record = run_step(inputs)
    q, k, v = (
        split_heads(torch.from_numpy(t), inputs.n_head) for t in (record.q, record.k, record.v)
    )
    scale = 1 / (math.sqrt(inputs.d_head) * inputs.temperature)
    z = F.scaled_dot_product_attention(q, k, v, torch.from_numpy(inputs.mask), scale=scale)
    return z.numpy()


@torch.no_grad()
def multihead(inputs: StepInputs) -> tuple[Floats, Floats]:
    """Return pattern (H, T, T) and output (T, d) of `nn.MultiheadAttention` with these weights.

    The module has no temperature: W_Q and the bias of q are divided by it instead.
    """
    x = torch.from_numpy(inputs.x)
    d, cool = x.shape[1], inputs.temperature
    with torch.random.fork_rng(devices=[]):  # the module draws weights, which are replaced below
        module = nn.MultiheadAttention(d, inputs.n_head, batch_first=True, dtype=x.dtype)
    joined = np.concatenate([inputs.w_q.T / cool, inputs.w_k.T, inputs.w_v.T])
    module.in_proj_weight.copy_(torch.from_numpy(joined))
    module.out_proj.weight.copy_(torch.from_numpy(inputs.w_o.T))
    if inputs.bias is not None:
        b_q, b_k, b_v, b_o = inputs.bias
        module.in_proj_bias.copy_(torch.from_numpy(np.concatenate([b_q / cool, b_k, b_v])))
        module.out_proj.bias.copy_(torch.from_numpy(b_o))
    forbidden = ~torch.from_numpy(inputs.mask)  # this module means the opposite by True
    out, pattern = module(
        x[None], x[None], x[None], attn_mask=forbidden, average_attn_weights=False
    )
    return pattern[0].numpy(), out[0].numpy()


def shuffled(inputs: StepInputs, order: Sequence[int]) -> Shuffled:
    """Compare shuffling the tokens before the step with shuffling its outputs, without a mask.

    Without positions attention sees an unordered set, so both give the same outputs.
    """
    # A causal mask is itself information about order: with it the outputs would differ.
    open_mask = np.ones_like(inputs.mask)
    plain = replace(inputs, mask=open_mask)
    index = list(order)

    def gap(before: Floats, after: Floats) -> float:
        out, out_shuffled = (run_step(replace(plain, x=x)).out for x in (before, after))
        return _gap(out[index], out_shuffled)

    x = inputs.x
    return Shuffled(
        without_positions=gap(x, x[index]),
        with_positions=gap(with_positions(x), with_positions(x[index])),
    )


def convolution_weights(x: Floats, kernel: Sequence[float]) -> Floats:
    """Return the (T, T) weights with which a convolution over the tokens mixes them.

    Measured, not assumed: add 1 to token j and take the change of each output i.
    """
    T = x.shape[0]

    def convolved(values: Floats) -> torch.Tensor:
        columns = torch.from_numpy(values.T.copy())[:, None]  # (d, 1, T)
        weights = torch.tensor([[list(kernel)]], dtype=columns.dtype)
        return F.conv1d(columns, weights, padding=len(kernel) // 2)[:, 0].T  # (T, d)

    measured = np.zeros((T, T))
    # A convolution is linear, so the change does not depend on what x is.
    for j in range(T):
        raised = x.copy()
        raised[j] += 1.0
        measured[:, j] = (convolved(raised) - convolved(x)).mean(dim=1).numpy()
    return measured


def moved(first: Floats, second: Floats) -> float:
    """Return the mean absolute difference of two tables of weights."""
    return float(np.abs(first - second).mean())


def _gap(one: NDArray[Any], other: NDArray[Any]) -> float:
    return float(np.abs(one - other).max())


def _times(x: list[list[float]], w: list[list[float]], bias: list[float]) -> list[list[float]]:
    return [
        [sum(a * w[k][c] for k, a in enumerate(row)) + bias[c] for c in range(len(w[0]))]
        for row in x
    ]


def _row_by_hand(
    inputs: StepInputs, i: int, q: list[list[float]], k: list[list[float]], first: int
) -> list[float]:
    """Return one softmax row of the head whose columns begin at `first`."""
    columns = range(first, first + inputs.d_head)
    root = math.sqrt(inputs.d_head) * inputs.temperature
    raised = [
        math.exp(sum(q[i][c] * k[j][c] for c in columns) / root) if inputs.mask[i, j] else 0.0
        for j in range(len(k))
    ]
    total = sum(raised)
    return [each / total for each in raised]
