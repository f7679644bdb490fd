"""Optimizers: torch's own numbers, and no compiler loaded for them."""

import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import nn

from owi_core import optimizers
from tests.house.source import ROOT

_TRAIN = """
import sys, torch
from owi_core.experiments import language
params = language.Params(preset="quick", optimizer=sys.argv[1], steps=2)
list(language.run(params))
print("torch._dynamo" in sys.modules)
"""


@pytest.mark.parametrize("name", ["adam", "adamw", "muon"])
def test_a_training_loads_no_compiler(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _TRAIN, name], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False"]


@pytest.mark.parametrize("name", ["Adam", "AdamW"])
def test_steps_are_those_of_torchs_own(name: str) -> None:
    ends = []
    for module in (optimizers, torch.optim):
        torch.manual_seed(0)
        layer: Any = nn.Linear(3, 2)
        optimizer = getattr(module, name)(layer.parameters(), lr=0.1, weight_decay=0.1, fused=True)
        for _ in range(3):
            layer(torch.ones(1, 3)).square().sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        ends.append(torch.cat([p.detach().flatten() for p in layer.parameters()]))
    assert torch.equal(*ends)
