"""Patterns for figure tests: made by hand, rows sum to 1, seeds fixed."""

from collections.abc import Callable

import numpy as np
import pytest

Pattern = Callable[..., tuple[np.ndarray, np.ndarray]]

SENTENCE = ["苹果", "和", "苹果", "旁边", "的", "它"]


@pytest.fixture
def causal() -> Pattern:
    """Return `make(*leading, tokens)` → (pattern (*leading, T, T), mask (T, T)), causal."""

    def make(*leading: int, tokens: int) -> tuple[np.ndarray, np.ndarray]:
        mask = np.tril(np.ones((tokens, tokens), dtype=bool))
        scores = np.random.default_rng(7).normal(size=(*leading, tokens, tokens))
        weights = np.exp(scores) * mask
        return weights / weights.sum(-1, keepdims=True), mask

    return make
