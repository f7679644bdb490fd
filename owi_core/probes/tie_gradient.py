"""One gradient from two places: the parts that a shared matrix gets as embedding and as head.

Shapes: V vocabulary, d = d_model.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from owi_core.model import Transformer
from owi_core.training import Batch, loss_nats


@dataclass(frozen=True, eq=False)
class TiedGradient:
    """∂L/∂E along the input path, along the output path, and of the tied matrix.

    relative_error: max |input + output − tied| / max |tied|.  input_rows, output_rows: (V,) the
    norm of each word's row.
    """

    input_norm: float
    output_norm: float
    tied_norm: float
    relative_error: float
    input_rows: NDArray[np.float32]
    output_rows: NDArray[np.float32]


def tied_gradient(model: Transformer, batch: Batch) -> TiedGradient:
    """Return both parts and the whole, each by its own backward pass; dropout off."""
    model.eval()
    matrix = model.embedding.weight.detach()
    as_input, as_output = matrix.clone().requires_grad_(), matrix.clone().requires_grad_()
    # Two copies with equal numbers: the pass is the same, but each use gets a gradient of its own.
    apart = _Replaced(model, {"embedding.weight": as_input, "lm_head.weight": as_output})
    parts = torch.autograd.grad(loss_nats(apart, batch), [as_input, as_output])  # type: ignore[arg-type]
    (whole,) = torch.autograd.grad(loss_nats(model, batch), model.embedding.weight)
    # The chain rule for a matrix used twice: the gradient is the sum over its uses.
    error = (parts[0] + parts[1] - whole).abs().max() / whole.abs().max().clamp_min(1e-30)
    return TiedGradient(
        input_norm=float(parts[0].norm()),
        output_norm=float(parts[1].norm()),
        tied_norm=float(whole.norm()),
        relative_error=float(error),
        input_rows=parts[0].norm(dim=1).numpy(),
        output_rows=parts[1].norm(dim=1).numpy(),
    )


class _Replaced:
    """A model called with other matrices as embedding and as head."""

    def __init__(self, model: Transformer, matrices: dict[str, Tensor]) -> None:
        self._model, self._matrices = model, matrices

    def __call__(self, ids: Tensor, **settings: Any) -> Any:
        call: Callable[..., Any] = torch.func.functional_call
        # tie_weights=False, or torch would put one of the two matrices in both places.
        return call(self._model, self._matrices, (ids,), settings, tie_weights=False)
