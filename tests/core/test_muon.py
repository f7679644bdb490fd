"""Muon: orthogonal steps, the same as PyTorch's own but for its precision."""

import pytest
import torch
from torch import nn

from owi_core.muon import Muon, orthogonalised

SHAPES = [(6, 6), (4, 9), (9, 4), (6, 6)]


def matrices(seed: int) -> list[nn.Parameter]:
    rng = torch.Generator().manual_seed(seed)
    return [nn.Parameter(torch.randn(shape, generator=rng)) for shape in SHAPES]


@pytest.mark.parametrize("shape", [(1, 1), (8, 8), (3, 12)])
def test_singular_values_come_near_one_and_their_vectors_stay(shape: tuple[int, int]) -> None:
    given = torch.randn(5, *shape, generator=torch.Generator().manual_seed(0))
    made = orthogonalised(given)
    values = torch.linalg.svdvals(made)
    assert values.min() > 0.3
    assert values.max() < 1.3
    # U S Vᵀ and U T Vᵀ: their product U S T Uᵀ is symmetric.
    product = made @ given.mT
    assert torch.allclose(product, product.mT, atol=1e-4)


def test_no_gradient_at_all_moves_nothing() -> None:
    assert orthogonalised(torch.zeros(2, 3, 3)).abs().max() == 0
    still, moved = matrices(0)[:2]
    before = still.detach().clone()
    moved.grad = torch.ones_like(moved)
    Muon([still, moved], lr=0.1).step()
    assert torch.equal(still, before)


def test_decay_without_a_gradient_shrinks_by_rate_times_decay() -> None:
    (matrix, *_), before = matrices(0), matrices(0)[0].detach()
    matrix.grad = torch.zeros_like(matrix)
    Muon([matrix], lr=0.1, weight_decay=0.5).step()
    assert torch.allclose(matrix, before * (1 - 0.1 * 0.5))


def test_steps_are_those_of_pytorch_up_to_its_bfloat16() -> None:
    ours, theirs = matrices(1), matrices(1)
    optimizers = [
        Muon(ours, lr=0.02, weight_decay=0.1),
        torch.optim.Muon(theirs, lr=0.02, weight_decay=0.1, adjust_lr_fn="match_rms_adamw"),
    ]
    before = [p.detach().clone() for p in ours]
    for step in range(4):
        for parameters, optimizer in zip((ours, theirs), optimizers, strict=True):
            rng = torch.Generator().manual_seed(step)
            for p in parameters:
                p.grad = torch.randn(p.shape, generator=rng)
            optimizer.step()
    for p, q, start in zip(ours, theirs, before, strict=True):
        way, other = (p - start).flatten(), (q - start).flatten()
        assert torch.cosine_similarity(way, other, dim=0) > 0.999
        assert (way - other).norm() < 0.05 * way.norm()
