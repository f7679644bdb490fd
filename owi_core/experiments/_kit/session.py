"""What experiments that train a Transformer share: its parameters, and a watched run."""

import dataclasses
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch

from owi_core import checkpoints
from owi_core.checkpoints import Bundle
from owi_core.config import ModelConfig, TrainConfig
from owi_core.errors import OwiError, SettingError
from owi_core.events import (
    Control,
    Diverged,
    Evaluated,
    Event,
    Finished,
    Remark,
    Snapshot,
    Started,
)
from owi_core.experiments._kit.ending import early_end
from owi_core.experiments._kit.params import BaseParams, recipe, setting
from owi_core.experiments._kit.results import BaseResult, Verdict
from owi_core.tokenizer import Encoding
from owi_core.training import Trainer, lr_factor

MAX_SNAPSHOTS = 60
MAX_STEPS = 20_000
ROSE_NATS = 1.0  # a smaller rise may be the luck of the batches


@dataclass(frozen=True)
class TransformerParams(BaseParams):
    """What may be set of a Transformer and its training; None takes the recipe's value."""

    mask: str = setting("causal", "what a token may look at", choices=("causal", "bidirectional"))
    steps: int | None = setting(None, "training steps", low=0, high=MAX_STEPS)
    batch_size: int | None = setting(None, "samples per step", low=1, high=512)
    lr: float | None = setting(None, "highest learning rate", low=1e-6, high=10.0)
    optimizer: str | None = setting(None, "optimizer", choices=("adamw", "adam", "muon"))
    weight_decay: float | None = setting(
        None, "share of each weight taken away per step, times lr", low=0.0, high=10.0
    )
    schedule: str | None = setting(
        None, "course of the learning rate", choices=("constant", "linear", "cosine", "noam")
    )
    warmup_steps: int | None = setting(None, "steps of rising rate", low=0, high=10_000)
    n_layer: int | None = setting(None, "layers", low=1, high=6)
    n_head: int = setting(4, "heads per layer", low=1, high=16)
    d_model: int = setting(128, "width of the residual stream", low=8, high=256)
    d_mlp: int = setting(256, "width of the perceptron", low=8, high=1024)
    dropout: float | None = setting(None, "dropout", low=0.0, high=0.9)
    norm: str | None = setting(None, "where the norm is applied", choices=("pre", "post"))
    activation: str | None = setting(None, "activation of the perceptron", choices=("gelu", "relu"))
    positions: str = setting(
        "sinusoidal", "how positions are encoded", choices=("sinusoidal", "learned", "none")
    )
    embedding_scale: float | None = setting(
        None, "factor on the embedding at the input (1 … √d_model)", low=1.0, high=16.0
    )
    embedding_std: float | None = setting(
        None, "initial standard deviation of the embedding", low=1e-4, high=10.0
    )
    init_std: float | None = setting(
        None, "initial standard deviation of the other matrices", low=1e-4, high=10.0
    )
    tie_weights: bool = setting(True, "embedding and head share one matrix")
    clip_norm: float = setting(1.0, "largest gradient norm, 0 = off", low=0.0, high=1e6)

    def model_config(self, vocab_size: int, block_size: int) -> ModelConfig:
        """Return the model's settings among these parameters."""
        shared = self._shared(ModelConfig)
        return ModelConfig(vocab_size=vocab_size, block_size=block_size, **shared)

    def train_config(self, **more: Any) -> TrainConfig:
        """Return the training's settings among these parameters, with `more` over them."""
        return TrainConfig(**(self._shared(TrainConfig) | more))

    def _shared(self, config: type[Any]) -> dict[str, Any]:
        # Parameters and configs share field names, so what is common need not be listed.
        names = {f.name for f in dataclasses.fields(config)} & set(asdict(self))
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Watched:
    """The sentence whose pattern is shown while the model learns, and the token that looks."""

    encoding: Encoding
    query: int


def of_training(bundle: Bundle, trainer: Trainer) -> dict[str, Any]:
    """Return the fields that every result of a model trained alone has."""
    return {
        "n_params": bundle.model.n_params,
        "steps": trainer.config.steps,
        "train_seconds": round(trainer.seconds, 2),
        "final_loss_nats": trainer.recent_loss_nats(),
    }


R = TypeVar("R", bound=BaseResult)


@dataclass(frozen=True)
class Session(Generic[R]):
    """A run before its first step, and how it is measured: while it trains, and at its end."""

    bundle: Bundle
    trainer: Trainer
    watched: Watched
    measure_live: Callable[[], dict[str, float]]
    measure: Callable[[], R]
    verdict: Callable[[R], Verdict]
    remarks: tuple[OwiError, ...] = ()


def remarks_on(trainer: Trainer, others: tuple[OwiError, ...] = ()) -> list[Remark]:
    """Return what a run's settings do not do: a warm-up longer than the run never ends."""
    config, found = trainer.config, list(others)
    if config.warmup_steps > config.steps > 0:
        highest = config.lr * lr_factor(config, config.steps - 1, trainer.model.config.d_model)
        values = {"warmup": config.warmup_steps, "steps": config.steps, "lr": config.lr}
        found.append(SettingError("warmup_over_steps", **values, highest=highest))
    return [Remark(remark.code, remark.values) for remark in found]


def run_session(
    name: str,
    params: TransformerParams,
    session: Session[R],
    folder: Path | None,
    control: Control | None,
    resume: bool,
) -> Iterator[Event]:
    """Yield the events of a whole run, or of the rest of a paused one; leave the model in `folder`.

    Ends with Finished, or early with Diverged, Paused or Stopped.
    """
    bundle, trainer = session.bundle, session.trainer
    if resume and folder is not None:
        trainer.load_state(folder)
    steps = trainer.config.steps
    remarks = remarks_on(trainer, session.remarks)
    made_by = recipe(name, params)
    uniform = math.log(bundle.model.config.vocab_size)
    yield Started(name, asdict(params), made_by, steps, bundle.model.n_params, remarks, uniform)
    # A resumed run has reported its start already.
    if trainer.step == 0:
        yield Evaluated(0, session.measure_live())
    # May end early; then its own last event is the last of the run.
    yield from watch_training(
        trainer, bundle, session.watched, session.measure_live, folder, control or Control()
    )
    if not trainer.finished:
        return
    # `measure` may redraw rows of unseen words: the last metrics show the model as it is saved.
    result = session.measure()
    yield Evaluated(steps, session.measure_live())
    if folder is not None:
        # The result goes with the model: a page shows it beside the weights it belongs to.
        note = bundle.note | {"result": result.to_dict()}
        checkpoints.save(dataclasses.replace(bundle, note=note), folder)
    verdict = loss_rose(trainer) or session.verdict(result)
    yield Finished(name, asdict(params), result.to_dict(), verdict.to_dict())


def loss_rose(trainer: Trainer) -> Verdict | None:
    """Return the verdict on a run that ended worse than it began, or None for any other.

    With the gradient clipped a far too high learning rate drives the loss up without end, yet every
    loss stays a finite number.
    """
    last = trainer.recent_loss_nats()
    if last is None or last < trainer.losses[0] + ROSE_NATS:
        return None
    values = {"first": round(trainer.losses[0], 3), "last": round(last, 3), "lr": trainer.config.lr}
    return Verdict("loss_rose", False, values)


def watch_training(
    trainer: Trainer,
    bundle: Bundle,
    watched: Watched | None,
    measure: Callable[[], dict[str, float]],
    folder: Path | None,
    control: Control,
) -> Iterator[Event]:
    """Yield the events of training, between them snapshots and measurements.

    When it ended early the last event says so: Diverged, Paused or Stopped; the last two leave the
    run's state, or the model as it is, in `folder`.
    """
    config = trainer.config
    # Two of the snapshots are the first and the last step, whatever the interval.
    snapshot_every = max(config.snapshot_every, math.ceil(config.steps / (MAX_SNAPSHOTS - 2)))
    if trainer.step == 0 and watched is not None:
        yield snapshot(bundle, watched, 0)
    for event in trainer.steps(control):
        yield event
        if isinstance(event, Diverged):
            return
        step = trainer.step
        last = step == config.steps
        if watched is not None and (step % snapshot_every == 0 or last):
            yield snapshot(bundle, watched, step)
        # The last step is measured by run_session, after `measure`.
        if step % config.eval_every == 0 and not last:
            yield Evaluated(step, measure())
    if trainer.step < config.steps:
        yield early_end(
            trainer.step,
            folder,
            control,
            save_state=trainer.save_state,
            save_models=lambda place: checkpoints.save(bundle, place),
        )


@torch.no_grad()
def snapshot(bundle: Bundle, watched: Watched, step: int) -> Snapshot:
    """Return the watched sentence's pattern in the model as it is now, rounded to four digits."""
    bundle.model.eval()
    # explicit: only this path returns the pattern; the fused one never builds it.
    output = bundle.model(torch.tensor([watched.encoding.ids]), explicit=True)
    assert output.pattern is not None
    # double first: a rounded float32 would be written as 0.10000000149011612.
    pattern = output.pattern[:, 0].double().numpy().round(4).tolist()
    return Snapshot(step, list(watched.encoding.labels), watched.query, pattern)
