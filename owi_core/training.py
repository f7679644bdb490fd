"""Training as an iterator of events, whatever consumes them.

What step k draws depends on (seed, k) alone: its batch and its dropout come from a generator seeded
with both, so a paused and resumed run gives the same numbers as an uninterrupted one.  Where every
sample comes once in a pass, the order depends on (seed, pass).
Shapes: N samples, B batch, T tokens, V vocabulary.
"""

import json
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import safetensors
import safetensors.torch
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from owi_core.config import TrainConfig
from owi_core.errors import RunError
from owi_core.events import Control, Diverged, Event, StepDone
from owi_core.model import ModelOutput
from owi_core.optimizers import optimizers_of

STATE_VERSION = 1
IGNORED = -100  # a target that adds nothing to the loss; the default of F.cross_entropy
_STATE_TENSORS, _STATE_JSON = "state.safetensors", "state.json"
_UNREADABLE = (
    OSError, ValueError, TypeError, LookupError, RuntimeError, safetensors.SafetensorError
)  # fmt: skip


class Trainable(Protocol):
    """A module with the call signature of the Transformer: it, or one of its peers.

    One that translates has one argument more: `source`.
    """

    @property
    def config(self) -> Any: ...

    def __call__(
        self, ids: Tensor, *, lengths: Tensor | None, read_at: Tensor | None, **source: Tensor
    ) -> ModelOutput: ...

    def train(self) -> object: ...

    def parameters(self) -> Iterator[nn.Parameter]: ...

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]: ...


class Batch(NamedTuple):
    """ids (B, T), targets (B, T) or (B, 1), lengths (B,) and read_at (B,) where they matter.

    source: (B, S), the text that `ids` translate, where there is one.
    """

    ids: Tensor
    targets: Tensor
    lengths: Tensor | None = None
    read_at: Tensor | None = None
    source: Tensor | None = None


@dataclass(frozen=True)
class Dataset:
    """Samples of one length.

    ids: (N, T).  targets: (N, T), IGNORED where no answer is expected.  lengths: (N,) real tokens.
    read_at: (N,) the one position whose answer is expected; then targets is (N, 1).
    source: (N, S) the texts that `ids` translate, for an encoder–decoder.
    """

    ids: Tensor
    targets: Tensor
    lengths: Tensor | None = None
    read_at: Tensor | None = None
    source: Tensor | None = None

    def __len__(self) -> int:
        return self.ids.shape[0]

    def take(self, rows: Tensor) -> Batch:
        """Return the samples `rows` (B,) as a batch."""
        lengths = None if self.lengths is None else self.lengths[rows]
        read_at = None if self.read_at is None else self.read_at[rows]
        source = None if self.source is None else self.source[rows]
        return Batch(self.ids[rows], self.targets[rows], lengths, read_at, source)

    def parts(self, size: int = 256) -> Iterator[Batch]:
        """Yield all samples in order, at most `size` at a time."""
        for start in range(0, len(self), size):
            yield self.take(torch.arange(start, min(start + size, len(self))))


def windows(ids: Tensor, block: int) -> Dataset:
    """Return every window of `block` tokens of a text and, for each token, the one after it.

    ids: (n,) with n > block.  Returns n − block samples; their memory is shared.
    """
    # unfold returns views with overlapping rows: all windows cost no more memory than the text.
    return Dataset(ids[:-1].unfold(0, block, 1), ids[1:].unfold(0, block, 1))


def loss_nats(model: Trainable, batch: Batch) -> Tensor:
    """Return the mean −log p(target) of a batch, in nats."""
    # Only models that translate know the argument.
    source = {} if batch.source is None else {"source": batch.source}
    # (B, T, V), or (B, 1, V) where the batch has read_at
    logits = model(batch.ids, lengths=batch.lengths, read_at=batch.read_at, **source).logits
    return F.cross_entropy(logits.flatten(0, 1), batch.targets.flatten(), ignore_index=IGNORED)


def lr_factor(config: TrainConfig, step: int, d_model: int) -> float:
    """Return what the learning rate is multiplied by at `step`, counted from 0.

    `noam` is d_model^−½ · min(s^−½, s · warmup^−1½) (Vaswani et al. 2017, eq. 3); the others rise
    over warmup_steps and then stay, or fall to 0 in a line or half a cosine.
    """
    # Counted from 1, or the first step would have a rate of 0 and noam would divide by 0.
    s, warmup = step + 1, max(config.warmup_steps, 1)
    if config.schedule == "noam":
        return float(d_model**-0.5 * min(s**-0.5, s * warmup**-1.5))
    if s < warmup:
        return s / warmup
    # + 1 in the denominator: the last step still has a rate above 0.
    done = (s - warmup) / max(config.steps - warmup + 1, 1)
    if config.schedule == "linear":
        return 1 - done
    if config.schedule == "cosine":
        return 0.5 * (1 + math.cos(math.pi * done))
    return 1.0


class Trainer:
    """One model, its data and its optimizers; `step` steps are done, and it can be saved there."""

    def __init__(self, model: Trainable, data: Dataset, config: TrainConfig) -> None:
        self.model, self.data, self.config = model, data, config
        self.step = 0
        self.seconds = 0.0
        self.losses: list[float] = []
        self._optimizers = optimizers_of(model, config)
        self._order: tuple[int, Tensor] | None = None  # a pass, and its order of the samples
        self._tokens_per_step: float = config.batch_size * data.ids.shape[1]
        if config.each_once:
            # The mean over a pass, whose last batch may be smaller.
            self._tokens_per_step = data.ids.numel() / self.steps_per_pass

    def steps(self, control: Control | None = None) -> Iterator[Event]:
        """Yield StepDone after each step, and Diverged last when loss or gradient is not finite.

        Ends early when `control` asks for a pause or a stop.
        """
        self.model.train()
        while self.step < self.config.steps:
            if control is not None and control.request != "run":
                return
            started = time.perf_counter()
            lr, loss = self._one_step()
            self.seconds += time.perf_counter() - started
            if not math.isfinite(loss):
                yield Diverged(self.step, self._settings(), remedy=_remedy(self.config))
                return
            yield self._step_done(lr, loss)
            # The consumer of the event may have measured the model, with dropout off.
            self.model.train()

    @property
    def steps_per_pass(self) -> int:
        """How many steps it takes to see as many samples as there are."""
        return math.ceil(len(self.data) / self.config.batch_size)

    @property
    def finished(self) -> bool:
        """Whether all steps were done, each with a finite loss."""
        return len(self.losses) == self.config.steps

    def recent_loss_nats(self, n: int = 10) -> float | None:
        """Return the mean training loss of the last `n` steps; None before the first."""
        last = self.losses[-n:]
        return sum(last) / len(last) if last else None

    def save_state(self, folder: Path) -> None:
        """Write what `load_state` needs to continue from here; no pickle."""
        tensors = {
            f"{i}.{index}.{name}": torch.as_tensor(value).clone()
            for i, optimizer in enumerate(self._optimizers)
            for index, values in optimizer.state_dict()["state"].items()
            for name, value in values.items()
        }
        weights = {f"model.{n}": p.detach().clone() for n, p in self.model.named_parameters()}
        # Removed first and written last: an interrupted write leaves no state, not half of one.
        (folder / _STATE_JSON).unlink(missing_ok=True)
        (folder / _STATE_TENSORS).write_bytes(safetensors.torch.save(tensors | weights))
        state = {
            "version": STATE_VERSION,
            "settings": self._all_settings(),
            "step": self.step,
            "seconds": self.seconds,
            "losses": self.losses,
        }
        (folder / _STATE_JSON).write_text(json.dumps(state), encoding="utf-8")

    def load_state(self, folder: Path) -> None:
        """Continue from a saved state; raise RunError when the folder has none that fits."""
        try:
            state = json.loads((folder / _STATE_JSON).read_text(encoding="utf-8"))
            tensors = safetensors.torch.load_file(folder / _STATE_TENSORS)
            if state["version"] != STATE_VERSION:
                raise RunError("state_unreadable", reason="version")
            step, losses = int(state["step"]), [float(loss) for loss in state["losses"]]
            if state["settings"] != self._all_settings():
                raise RunError("state_unreadable", reason="settings")
            if len(losses) != step or step > self.config.steps:
                raise RunError("state_unreadable", reason="step")
            self._load(tensors)
            # Last, so that a failure before leaves the count of steps as it was.
            self.step, self.seconds, self.losses = step, float(state["seconds"]), losses
        except _UNREADABLE as error:
            raise RunError("state_unreadable", reason=_STATE_JSON) from error

    def _load(self, tensors: dict[str, Tensor]) -> None:
        with torch.no_grad():
            for name, parameter in self.model.named_parameters():
                kept = tensors.pop(f"model.{name}")
                if kept.shape != parameter.shape:  # copy_ would broadcast a smaller tensor
                    raise ValueError(name)
                parameter.copy_(kept)
        # The rest belongs to the optimizers, named "optimizer.parameter.quantity" by save_state.
        states: list[dict[int, dict[str, Tensor]]] = [{} for _ in self._optimizers]
        for key, value in tensors.items():
            i, index, name = key.split(".", 2)
            states[int(i)].setdefault(int(index), {})[name] = value
        for optimizer, state in zip(self._optimizers, states, strict=True):
            groups = optimizer.state_dict()["param_groups"]
            optimizer.load_state_dict({"state": state, "param_groups": groups})

    def _all_settings(self) -> list[dict[str, Any]]:
        return [self.model.config.to_dict(), self.config.to_dict()]

    def _one_step(self) -> tuple[float, float]:
        rng = torch.Generator().manual_seed(_seed_of_step(self.config.seed, self.step))
        lr = self.config.lr * lr_factor(self.config, self.step, self.model.config.d_model)
        rows = self._rows(rng)
        # Dropout can only draw from the global generator: seed it for this step, and restore it
        # afterwards for the caller.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(rng.initial_seed())
            loss = loss_nats(self.model, self.data.take(rows))
        loss.backward()  # type: ignore[no-untyped-call]
        # With an infinite limit nothing is clipped, and the norm is returned all the same.
        largest = self.config.clip_norm or math.inf
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), largest)
        self.step += 1
        # Check before the update: an infinite gradient would destroy the weights although the loss
        # of this step is still finite.
        value = float(loss.detach())
        if not (math.isfinite(value) and bool(torch.isfinite(norm))):
            return lr, math.nan
        self.losses.append(value)
        self._update(lr)
        return lr, value

    def _rows(self, rng: torch.Generator) -> Tensor:
        """Return which samples the next step learns from."""
        size = self.config.batch_size
        if not self.config.each_once:
            return torch.randint(len(self.data), (size,), generator=rng)
        done, at = divmod(self.step, self.steps_per_pass)
        # The order of a pass depends on (seed, pass) alone, so a resumed run goes on in it.
        if self._order is None or self._order[0] != done:
            own = torch.Generator().manual_seed(_seed_of_pass(self.config.seed, done))
            self._order = done, torch.randperm(len(self.data), generator=own)
        return self._order[1][at * size : (at + 1) * size]

    def _update(self, lr: float) -> None:
        for optimizer in self._optimizers:
            for group in optimizer.param_groups:
                group["lr"] = lr
            optimizer.step()
            optimizer.zero_grad()

    def _step_done(self, lr: float, loss: float) -> StepDone:
        per_step = self.seconds / self.step
        return StepDone(
            step=self.step,
            steps=self.config.steps,
            loss_nats=loss,
            lr=lr,
            tokens_per_second=self._tokens_per_step / per_step,
            seconds=self.seconds,
            seconds_left=per_step * (self.config.steps - self.step),
        )

    def _settings(self) -> dict[str, Any]:
        c = self.config
        return {"lr": c.lr, "optimizer": c.optimizer, "schedule": c.schedule, "clip": c.clip_norm}


def _seed_of_step(seed: int, step: int) -> int:
    # A prime above the largest number of steps: with seed + step, step 1 of seed 0 would draw the
    # batch of step 0 of seed 1.
    return seed * 1_000_003 + step


def _seed_of_pass(seed: int, done: int) -> int:
    # Far from the seeds of steps: an order must not come from the numbers that draw a dropout.
    return 2**60 + _seed_of_step(seed, done)


def _remedy(config: TrainConfig) -> str:
    """Return the code of the first thing to try after a divergence."""
    if not config.clip_norm:
        return "clip_gradient"
    return "lower_lr" if config.lr > 1e-3 or config.schedule == "noam" else "longer_warmup"
