"""Models trained to recall a word after d steps, one after another within a run.

Shapes: N samples, T tokens.
"""

from collections.abc import Generator
from dataclasses import replace
from typing import Any, Protocol

import torch
from torch import Tensor

from owi_core.config import ModelConfig
from owi_core.corpora.recall import RECALL_VOCABULARY, recall_samples
from owi_core.events import Control, Diverged, Event, StepDone
from owi_core.experiments._kit.short import short_training
from owi_core.experiments.cost.unit import Interrupted, look_up
from owi_core.model import Transformer
from owi_core.training import Dataset, Trainable, Trainer

N_TRAIN = 8192


class Settings(Protocol):
    """What the training reads of the experiment's parameters."""

    seed: int
    length: int
    d_model: int
    n_layer: int
    n_head: int
    steps: int
    batch_size: int
    lr: float


def training_data(params: Settings) -> Dataset:
    """Return samples of all distances, equally often, with the question at the last position."""
    T, rng = params.length, torch.Generator().manual_seed(params.seed)
    # All distances, so that a model that fails at one of them has seen it.
    ids, words = recall_samples(N_TRAIN, T - 1, range(1, T), rng)
    return Dataset(ids, words[:, None], None, torch.full((N_TRAIN,), T - 1))


def transformer(params: Settings, **more: Any) -> Transformer:
    """Return a new model for the task; weights so large that q, k ~ N(0, 1) at the start."""
    config = ModelConfig(
        RECALL_VOCABULARY,
        n_layer=params.n_layer,
        n_head=params.n_head,
        d_model=params.d_model,
        d_mlp=2 * params.d_model,
        block_size=params.length,
        embedding_std=params.d_model**-0.5,
        embedding_scale=params.d_model**0.5,
        init_std=params.d_model**-0.5,
        tie_weights=False,
    )
    return Transformer(replace(config, **more), torch.Generator().manual_seed(params.seed))


def train(
    model: Trainable, params: Settings, place: int, places: int, control: Control
) -> Generator[Event, None, list[float]]:
    """Yield the steps of training number `place` of `places`; return its losses.

    Raises Interrupted when the run is asked to pause or stop, or with a Diverged event.
    """
    config = short_training(params.steps, params.batch_size, params.lr, params.seed)
    trainer = Trainer(model, training_data(params), config)
    for event in trainer.steps(control):
        if isinstance(event, Diverged):
            raise Interrupted(event)
        assert isinstance(event, StepDone)
        yield of_all(event, place, places)
    # `Trainer.steps` just ends on a request; here it becomes an Interrupted.
    look_up(control)
    return trainer.losses


@torch.no_grad()
def answers(model: Any, ids: Tensor) -> Tensor:
    """Return the logits (N, V) at the last position."""
    model.eval()
    # The question is at the last position, whatever the length.
    last = torch.full((len(ids),), ids.shape[1] - 1)
    return model(ids, read_at=last).logits[:, 0]  # type: ignore[no-any-return]


def of_all(event: StepDone, place: int, places: int) -> StepDone:
    """Return a step as one of all trainings of the run, of which each takes about as long."""
    # Of this training alone; all of them have one size and one number of steps.
    per_step = event.seconds / event.step
    steps = event.steps * places
    step = event.steps * place + event.step
    return replace(
        event,
        step=step,
        steps=steps,
        seconds=per_step * step,
        seconds_left=per_step * (steps - step),
    )
