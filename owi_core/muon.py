"""Muon in single precision: the step of a matrix is its gradient made nearly orthogonal.

torch.optim.Muon computes the same in bfloat16, which a processor without bfloat16 instructions
emulates: there a 128 × 128 matrix takes 30 ms instead of 1.6.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

_STEPS = 5
_A, _B, _C = 3.4445, -4.7750, 2.0315  # of the quintic below; Jordan 2024
_LEAST_NORM = 1e-7


def orthogonalised(matrices: Tensor) -> Tensor:
    """Return matrices with the same singular vectors, and singular values between 0.7 and 1.2.

    matrices: (N, m, n), m ≤ n.  Five Newton–Schulz steps X ← aX + (bXXᵀ + c(XXᵀ)²)X.
    Source: Jordan 2024, Muon: an optimizer for hidden layers in neural networks.
    """
    # The iteration converges for singular values up to 1, and the norm is at least the largest one.
    x: Tensor = matrices / matrices.norm(dim=(-2, -1), keepdim=True).clamp(min=_LEAST_NORM)
    for _ in range(_STEPS):
        # The polynomial acts on every singular value alone: UΣVᵀ becomes U p(Σ) Vᵀ.  Its steep
        # slope at 0 lifts small values quickly; the price is that they end near 1, not at 1.
        gram = x @ x.mT  # (N, m, m)
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=_B, alpha=_C), x, beta=_A)
    return x


class Muon(torch.optim.Optimizer):
    """Nesterov momentum, made orthogonal, scaled so that Adam's learning rates fit.

    params: matrices (m, n).  Decay is decoupled, as in AdamW.
    Source: Jordan 2024; for the scale 0.2 √max(m, n), Liu et al. 2025, Muon is Scalable for LLM
    Training, section 2.2.
    """

    def __init__(
        self,
        params: Iterable[nn.Parameter],
        lr: float,
        weight_decay: float = 0.0,
        momentum: float = 0.95,
    ) -> None:
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Update every matrix that has a gradient; matrices of one shape are updated together."""
        assert closure is None
        for group in self.param_groups:
            alike: defaultdict[torch.Size, list[nn.Parameter]] = defaultdict(list)
            for parameter in group["params"]:
                if parameter.grad is not None:
                    alike[parameter.shape].append(parameter)
            for parameters in alike.values():
                self._move(parameters, group)

    def _move(self, parameters: list[nn.Parameter], group: dict[str, Any]) -> None:
        gradients = torch.stack([self._ahead(p, group["momentum"]) for p in parameters])
        m, n = gradients.shape[1:]
        # The smaller side first: the Gram matrix is then m × m with m ≤ n.
        wide = orthogonalised(gradients if m <= n else gradients.mT)
        updates = wide if m <= n else wide.mT
        # An orthogonal m × n matrix has entries of about 1/√max(m, n), Adam's step of about 0.2.
        scale = 0.2 * max(m, n) ** 0.5
        for parameter, update in zip(parameters, updates, strict=True):
            parameter.mul_(1 - group["lr"] * group["weight_decay"])
            parameter.sub_(update, alpha=group["lr"] * scale)

    def _ahead(self, parameter: nn.Parameter, momentum: float) -> Tensor:
        """Return the gradient with Nesterov's momentum, and store the momentum."""
        assert parameter.grad is not None
        state = self.state[parameter]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = torch.zeros_like(parameter)
        kept = state["momentum_buffer"].lerp_(parameter.grad, 1 - momentum)
        return parameter.grad.lerp(kept, momentum)
