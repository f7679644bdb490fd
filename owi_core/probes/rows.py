"""Numbers of attention rows alone: entropy of a row, rollout over layers.

Shapes: L layers, H heads, T tokens; axes [layer, head, query_pos, key_pos].
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def entropy_nats(row: Floats) -> float:
    """Return −Σ p log p of one row, between 0 (one key) and log T (all T keys alike).

    Source: Shannon 1948.
    """
    p = row[row > 0].astype(np.float64)
    return max(0.0, float(-(p * np.log(p)).sum()))  # a single key gives −0


def rollout(pattern: Floats) -> Floats:
    """Return how much of each input token reaches each position after all layers, (T, T).

    pattern: (L, H, T, T).  Each layer counts half as mean attention over heads and half as the
    residual path; rows sum to 1.
    Source: Abnar and Zuidema 2020, Quantifying Attention Flow in Transformers, eq. 1.
    """
    T = pattern.shape[-1]
    flow = np.eye(T, dtype=np.float32)
    for layer in pattern.mean(axis=1):  # (T, T)
        flow = (0.5 * layer + 0.5 * np.eye(T, dtype=np.float32)) @ flow
    return flow
