"""One attention step by hand: every intermediate table of it.

Shapes: T tokens, d = d_model, H heads, D = d_head = d / H; tables per head are (H, T, …).
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from owi_core import masks
from owi_core.attention import attention_pattern, attention_scores
from owi_core.checkpoints import Bundle
from owi_core.errors import SettingError
from owi_core.model import sinusoidal_positions
from owi_core.probes.walk import walk
from owi_core.spare_rows import encoded

Floats = NDArray[np.floating[Any]]
Bools = NDArray[np.bool_]

MASKS = ("none", "causal", "padding")
DTYPES = {"float32": torch.float32, "float64": torch.float64}
NORM_EPSILON = 1e-5
WEIGHTS = ("w_q", "w_k", "w_v", "w_o")
_DECIMALS = 2  # so that the numbers on the page can be copied by hand


@dataclass(frozen=True, eq=False)
class StepInputs:
    """The inputs: x (T, d), four matrices (d, d), a mask (T, T) with True = may attend.

    bias: None, or the biases of q, k, v and o, (4, d).  temperature divides the scores.
    stream: None, or the residual stream (T, d) that the output is added to where it is not x: a
    pre-norm layer reads the normalised stream and writes to the stream itself.
    Raises SettingError when the heads do not divide d, or a query has no key.
    """

    x: Floats
    w_q: Floats
    w_k: Floats
    w_v: Floats
    w_o: Floats
    mask: Bools
    n_head: int = 1
    temperature: float = 1.0
    bias: Floats | None = None
    stream: Floats | None = None

    def __post_init__(self) -> None:
        d_model = self.x.shape[1]
        if d_model % self.n_head:
            raise SettingError("d_model_not_divisible", d_model=d_model, n_head=self.n_head)
        blind = np.flatnonzero(~self.mask.any(axis=1))
        if len(blind):
            raise SettingError("query_sees_nothing", query=int(blind[0]) + 1)

    @property
    def d_head(self) -> int:
        return int(self.x.shape[1]) // self.n_head

    @property
    def residual(self) -> Floats:
        """What the output is added to, (T, d)."""
        return self.x if self.stream is None else self.stream


@dataclass(frozen=True, eq=False)
class StepRecord:
    """Every table of the step, in the order in which it is computed.

    q, k, v: (T, d).  scores, scaled, masked, pattern: (H, T, T).  z: (H, T, D).
    concat, out, resid, norm: (T, d); resid = residual + out.
    """

    inputs: StepInputs
    q: Floats
    k: Floats
    v: Floats
    scores: Floats
    scaled: Floats
    masked: Floats
    pattern: Floats
    z: Floats
    concat: Floats
    out: Floats
    resid: Floats
    norm: Floats

    @property
    def shapes(self) -> dict[str, list[int]]:
        """The shape of each table with a batch axis; a single head has no axis of its own."""
        tables = {"x": self.inputs.x} | {f.name: getattr(self, f.name) for f in fields(self)[1:]}
        # PyTorch code for a single head writes (B, T, T), without an axis for heads.
        alone = self.inputs.n_head == 1
        return {
            name: [1, *(table.shape[1:] if alone and table.ndim == 3 else table.shape)]
            for name, table in tables.items()
        }


def random_inputs(
    seed: int,
    n_tokens: int = 4,
    d_model: int = 8,
    n_head: int = 1,
    mask: str = "none",
    dtype: str = "float64",
) -> StepInputs:
    """Draw x from N(0, 1) and the matrices from N(0, 1/d), all rounded to two decimals."""
    rng = torch.Generator().manual_seed(seed)
    d = d_model

    def drawn(rows: int, std: float) -> Floats:
        values = std * torch.randn(rows, d, generator=rng, dtype=torch.float64)
        rounded: Floats = values.numpy().round(_DECIMALS) + 0.0  # −0 becomes 0
        return rounded.astype(dtype)

    x = drawn(n_tokens, 1.0)
    w_q, w_k, w_v, w_o = (drawn(d, d**-0.5) for _ in WEIGHTS)
    return StepInputs(x, w_q, w_k, w_v, w_o, named_mask(mask, n_tokens), n_head)


def named_mask(name: str, T: int) -> Bools:
    """Return the (T, T) mask called `name`; `padding` hides the last token from every query."""
    if name == "padding":
        hidden = masks.padding(torch.tensor([max(1, T - 1)]), T)[0].expand(T, T)
        return hidden.numpy().copy()
    return (masks.causal(T) if name == "causal" else masks.bidirectional(T)).numpy()


def run_step(inputs: StepInputs) -> StepRecord:
    """Compute the whole chain in the precision of x."""
    x, w_q, w_k, w_v, w_o = (torch.from_numpy(getattr(inputs, n)) for n in ("x", *WEIGHTS))
    b_q, b_k, b_v, b_o = _biases(inputs)
    allowed = torch.from_numpy(inputs.mask)
    q, k, v = x @ w_q + b_q, x @ w_k + b_k, x @ w_v + b_v  # (T, d)
    heads = [split_heads(each, inputs.n_head) for each in (q, k, v)]  # (H, T, D)
    # Twice, because the page shows the plain product and the scaled one as two tables.
    scores = attention_scores(heads[0], heads[1], scale=False)  # (H, T, T)
    scaled = attention_scores(heads[0], heads[1], temperature=inputs.temperature)
    pattern = attention_pattern(scaled, allowed)
    z = pattern @ heads[2]  # (H, T, D)
    concat = join_heads(z)  # (T, d)
    out = concat @ w_o + b_o
    resid = torch.from_numpy(inputs.residual) + out
    norm = F.layer_norm(resid, resid.shape[-1:], eps=NORM_EPSILON)
    masked = scaled.masked_fill(~allowed, -torch.inf)
    tables = (q, k, v, scores, scaled, masked, pattern, z, concat, out, resid, norm)
    return StepRecord(inputs, *(table.numpy() for table in tables))


def split_heads(x: Tensor, n_head: int) -> Tensor:
    """Return (T, d) as (H, T, D): each head gets its own columns of every token."""
    T, d = x.shape
    return x.view(T, n_head, d // n_head).transpose(0, 1)


def join_heads(z: Tensor) -> Tensor:
    """Return (H, T, D) as (T, d): the heads concatenated again."""
    H, T, D = z.shape
    return z.transpose(0, 1).reshape(T, H * D)


def changed(before: StepRecord, after: StepRecord) -> dict[str, Bools]:
    """Return, for each table, given or computed, which of its numbers changed."""
    names = ("x", *WEIGHTS, "mask")
    pairs = {n: (getattr(before.inputs, n), getattr(after.inputs, n)) for n in names}
    if after.inputs.stream is not None:
        pairs["stream"] = before.inputs.residual, after.inputs.stream
    pairs |= {f.name: (getattr(before, f.name), getattr(after, f.name)) for f in fields(after)[1:]}
    return {name: _differs(old, new) for name, (old, new) in pairs.items()}


def from_model(bundle: Bundle, text: str, layer: int) -> tuple[StepInputs, tuple[str, ...]]:
    """Return one layer of a trained model as a step on one sentence, and the sentence's tokens.

    x is what enters the layer's attention, in float64.  SettingError for a layer it does not have.
    """
    n_layer = bundle.model.config.n_layer
    if not 0 <= layer < n_layer:
        raise SettingError(
            "setting_out_of_range", name="layer", value=layer + 1, low=1, high=n_layer
        )
    bundle, encoding = encoded(bundle, text)
    model = bundle.model.eval()
    stream = walk(model, encoding.ids)[layer].before  # (T, d)
    block: Any = model.blocks[layer]
    with torch.no_grad():
        entering = block.attention_input(stream)  # (T, d)
    attention = block.attention
    linear = [attention.w_q, attention.w_k, attention.w_v, attention.w_o]
    d = model.config.d_model
    # nn.Linear multiplies by the transpose of its weight.  Without W_O the heads are concatenated
    # as they are, which is a multiplication by the identity.
    weights = [torch.eye(d) if one is None else one.weight.detach().T for one in linear]
    biases = [torch.zeros(d) if one is None else one.bias.detach() for one in linear]
    mask = model.default_mask(len(encoding.ids)).numpy()
    x, w_q, w_k, w_v, w_o = (each.double().contiguous().numpy() for each in (entering, *weights))
    bias = torch.stack(biases).double().numpy()
    # A post-norm layer reads the stream as it is: x and the stream are then one.
    apart = stream.double().numpy() if block.pre_norm else None
    inputs = StepInputs(x, w_q, w_k, w_v, w_o, mask, model.config.n_head, bias=bias, stream=apart)
    return inputs, encoding.labels


def with_cell(inputs: StepInputs, table: str, row: int, column: int, value: float) -> StepInputs:
    """Return the inputs with one number (or one cell of the mask) replaced."""
    return with_cells(inputs, {(table, row, column): value})


def with_cells(inputs: StepInputs, changes: Mapping[tuple[str, int, int], float]) -> StepInputs:
    """Return the inputs with all of these (table, row, column) replaced, checked together.

    Checked one by one they would depend on their order: a mask row may be empty between two.
    """
    tables: dict[str, Any] = {}
    for (table, row, column), value in changes.items():
        if table not in tables:
            tables[table] = getattr(inputs, table).copy()
        tables[table][row, column] = value
    return replace(inputs, **tables)


def with_positions(x: Floats) -> Floats:
    """Return x plus the sinusoidal table, (T, d)."""
    T, d = x.shape
    if d % 2:
        raise SettingError("d_model_odd", d_model=d)
    summed: Floats = x + position_table(T, d).astype(x.dtype)
    return summed


def position_table(T: int, d_model: int) -> Floats:
    """Return the sinusoidal table, (T, d); row 0 is 0, 1, 0, 1 …"""
    table: Floats = sinusoidal_positions(T, d_model).numpy()
    return table


def _biases(inputs: StepInputs) -> Tensor:
    if inputs.bias is None:
        return torch.zeros(4, inputs.x.shape[1], dtype=torch.from_numpy(inputs.x).dtype)
    return torch.from_numpy(inputs.bias)


def _differs(old: NDArray[Any], new: NDArray[Any]) -> Bools:
    return np.ones(new.shape, bool) if old.shape != new.shape else old != new
