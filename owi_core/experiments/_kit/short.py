"""The training of small models that are trained only to be compared."""

from owi_core.config import TrainConfig

WARMUP_STEPS = 20


def short_training(steps: int, batch_size: int, lr: float, seed: int) -> TrainConfig:
    """Return how such a model is trained: a short warm-up, the rest as usual."""
    # A run of fewer steps than the warm-up would never reach its learning rate.
    warmup = min(WARMUP_STEPS, steps)
    return TrainConfig(steps=steps, batch_size=batch_size, lr=lr, warmup_steps=warmup, seed=seed)
