"""A character model learns a short text by heart, or a longer one with its end held out.

`quick` learns in seconds. `article` keeps the settings of the article that inspired this app; where
that one calls its norm pre-norm, its code, and so this preset, is post-norm.  It states 174,838
parameters; its configuration has 400,896 with its 25 characters.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from owi_core.checkpoints import Bundle
from owi_core.config import SamplingConfig, TrainConfig
from owi_core.corpora import CHARACTER_TEXTS, character_text, read_text_file
from owi_core.errors import OwiError, SettingError, TextError
from owi_core.events import Control, Event, Number
from owi_core.experiments._kit.params import note_of, setting
from owi_core.experiments._kit.results import BaseResult, Verdict
from owi_core.experiments._kit.session import (
    MAX_STEPS,
    Session,
    TransformerParams,
    Watched,
    of_training,
    run_session,
)
from owi_core.generation import generate
from owi_core.model import Transformer
from owi_core.probes.leakage import loss_floor_nats, prefix_only_loss_nats
from owi_core.tokenizer import CharTokenizer, Encoding
from owi_core.training import Dataset, Trainer, loss_nats, windows

NAME = "language"
MIN_CHARACTERS = 20
HELDOUT_FROM = 2_000  # characters; a shorter text is learned whole
BLOCK_SIZE = 64
N_PROMPT, N_SAMPLE, N_WATCHED = 4, 120, 16

_SQRT = math.sqrt(128)
PRESETS: dict[str, dict[str, Any]] = {
    "quick": {
        "norm": "pre", "dropout": 0.0, "embedding_scale": _SQRT, "embedding_std": 1 / _SQRT,
        "init_std": 0.05, "activation": "gelu", "optimizer": "muon", "lr": 1e-2,
        "weight_decay": 0.0,
        "schedule": "linear", "warmup_steps": 10, "batch_size": 10, "steps": 150, "epochs": 0,
        "window": 64, "n_layer": 3,
    },
    "article": {
        "norm": "post", "dropout": 0.1, "embedding_scale": _SQRT, "embedding_std": 1 / _SQRT,
        "init_std": 0.05, "activation": "gelu", "optimizer": "adamw", "lr": 1e-3,
        "weight_decay": 0.01,  # what AdamW takes in PyTorch where nothing is said
        "schedule": "constant", "warmup_steps": 0, "batch_size": 32, "steps": 0, "epochs": 30,
        "window": 32, "n_layer": 3,
    },
}  # fmt: skip


@dataclass(frozen=True)
class Params(TransformerParams):
    """What may be set; a value left out is the preset's own. steps 0 means: by epochs."""

    preset: str = setting("quick", "settings to start from", choices=tuple(PRESETS), decides=True)
    text: str = setting("zh", "which text to learn", choices=CHARACTER_TEXTS)
    text_file: str = setting("", "a .txt file to learn instead (command line)", typed=True)
    own_text: str = setting("", "a text to learn instead", typed=True)
    repeat: int = setting(1, "how often the text is repeated in the corpus", low=1, high=50)
    window: int | None = setting(None, "characters in a training window", low=4, high=64)
    epochs: int | None = setting(
        None, "passes over all windows, each once; 0 = by steps", low=0, high=200
    )
    prompt: str = setting("", "what the sample continues; empty = the text's beginning", typed=True)

    def usual(self) -> dict[str, Any]:
        # `steps` and `epochs` exclude each other, and both presets set the other to 0.
        by_epochs = {"steps": 0} if self.epochs else {}  # who asks for passes means passes
        # The right side wins: a request for epochs overrides the steps of the preset.
        return PRESETS[self.preset] | by_epochs


@dataclass(frozen=True)
class Result(BaseResult):
    """Losses of the text and what the model writes.

    prefix_only: measured where no later character can be seen.  heldout_loss_nats is None for a
    text that was learned whole (memorised), floor_nats where it cannot be counted.
    heldout_windows_seen: held-out windows that training sees too, as in a text that repeats itself.
    """

    epoch_loss_nats: list[Number]
    prefix_only_loss_nats: Number
    heldout_loss_nats: float | None
    floor_nats: float | None
    memorised: bool
    heldout_windows: int
    heldout_windows_seen: int
    n_params: int
    sample: str
    steps: int
    train_seconds: Number
    final_loss_nats: float | None


class Prepared(NamedTuple):
    """All that a run needs before its first step; floor_nats is None where it cannot be counted."""

    bundle: Bundle
    trainer: Trainer
    watched: Watched
    heldout: Dataset | None
    heldout_seen: int
    floor_nats: float | None
    prompt: Encoding
    remarks: tuple[OwiError, ...]


def run(
    params: Params,
    folder: Path | None = None,
    control: Control | None = None,
    resume: bool = False,
) -> Iterator[Event]:
    """Train a character model and measure its honest loss; leave the model in `folder`.

    Ends with Finished, or early with Diverged, Paused or Stopped.
    """
    prepared = prepare(params)
    session = Session(
        prepared.bundle,
        prepared.trainer,
        prepared.watched,
        lambda: _measured_live(prepared),
        lambda: measure(prepared, params),
        verdict,
        prepared.remarks,
    )
    yield from run_session(NAME, params, session, folder, control, resume)


def prepare(params: Params) -> Prepared:
    """Read the text, draw the model and its optimizer; all from params.seed."""
    source = source_text(params)
    tokenizer = CharTokenizer.from_text(source)
    encoding = tokenizer.encode(source)
    train, kept_out = _split(encoding.ids, params.repeat)
    n = len(train)
    if n < MIN_CHARACTERS:
        raise TextError(
            "text_too_short", characters=n, least=MIN_CHARACTERS, under=MIN_CHARACTERS - n
        )
    assert params.window is not None  # filled in by the preset
    # The window and its target, which is shifted by one, must fit into the text.
    window = min(params.window, n - 2)
    ids = torch.tensor(train)
    data = windows(ids, window)
    # Every window that the repeated text has begins in its first copy.
    once = train[: n // params.repeat + window]
    heldout = windows(torch.tensor(kept_out), window) if len(kept_out) > window + 2 else None
    config = params.model_config(tokenizer.vocab_size, BLOCK_SIZE)
    model = Transformer(config, torch.Generator().manual_seed(params.seed))
    trainer = Trainer(model, data, _train_config(params, len(data)))
    note = note_of(NAME, params, private=bool(params.own_text or params.text_file))
    prompt = tokenizer.encode(params.prompt) if params.prompt else head(encoding, N_PROMPT)
    first = head(encoding, N_WATCHED)
    return Prepared(
        bundle=Bundle(model, tokenizer, note),
        trainer=trainer,
        watched=Watched(first, len(first.ids) - 1),
        heldout=heldout,
        heldout_seen=n_seen(once, kept_out, window) if heldout is not None else 0,
        floor_nats=loss_floor_nats(ids, window),
        prompt=prompt,
        remarks=_remarks(params, window, n),
    )


def _split(ids: Sequence[int], repeat: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return what is learned, repeated, and what is kept out of it, maybe nothing.

    The text is split before it is repeated: otherwise its end would stand in the training part.
    """
    n = len(ids)
    # A short text has no part to spare: it is learned whole, and reported as memorised.
    n_heldout = n // 10 if n >= HELDOUT_FROM else 0
    train = tuple(ids[: n - n_heldout]) * repeat
    # One character of overlap: it is the context of the first held-out target.
    return train, tuple(ids[n - n_heldout - 1 :]) if n_heldout else ()


def n_seen(train: Sequence[int], kept_out: Sequence[int], window: int) -> int:
    """Return how many held-out windows, each with its last target, training sees word for word.

    A periodic text has such windows wherever it is split.
    """
    size = (window + 1) * np.dtype(np.int32).itemsize
    # Slices of bytes instead of tuples: an exact comparison, in a tenth of the memory.
    asked = _slices(kept_out, size)
    unseen = set(asked)
    for one in _slices(train, size):
        unseen.discard(one)
    return sum(one not in unseen for one in asked)


def _slices(ids: Sequence[int], size: int) -> list[bytes]:
    data, item = np.asarray(ids, dtype=np.int32).tobytes(), np.dtype(np.int32).itemsize
    return [data[at : at + size] for at in range(0, len(data) - size + 1, item)]


def _remarks(params: Params, window: int, n: int) -> tuple[OwiError, ...]:
    """Return what was set and not done: a window that does not fit into the text is shortened."""
    assert params.window is not None
    if window == params.window:
        return ()
    return (SettingError("window_shortened", asked=params.window, window=window, characters=n),)


def head(encoding: Encoding, n: int) -> Encoding:
    """Return the first `n` characters; for a text that may begin with blanks."""
    text = "".join(encoding.labels[:n])
    # Cut, not encoded again: `encode` refuses a text that begins with blanks only.
    return Encoding(text, encoding.ids[:n], encoding.labels[:n], encoding.spans[:n], unknown=())


def source_text(params: Params) -> str:
    """Return the text to learn: the user's own, a file's, or a shipped one."""
    if params.own_text:
        return params.own_text
    if not params.text_file:
        return character_text(params.text)
    try:
        return read_text_file(Path(params.text_file).read_bytes())
    except (OSError, ValueError) as error:  # a name that no file can have is a ValueError
        raise TextError("text_file_unreadable", name=Path(params.text_file).name) from error


def measure(prepared: Prepared, params: Params) -> Result:
    """Return the result of a finished run."""
    bundle, trainer = prepared.bundle, prepared.trainer
    return Result(
        epoch_loss_nats=epoch_means(trainer.losses, trainer.steps_per_pass),
        prefix_only_loss_nats=prefix_only_loss_nats(bundle.model, trainer.data),
        heldout_loss_nats=_heldout_loss(prepared),
        floor_nats=prepared.floor_nats,
        memorised=prepared.heldout is None,
        heldout_windows=0 if prepared.heldout is None else len(prepared.heldout),
        heldout_windows_seen=prepared.heldout_seen,
        sample=sample(bundle, prepared.prompt, _sampling(params)),
        **of_training(bundle, trainer),
    )


def _sampling(params: Params) -> SamplingConfig:
    return SamplingConfig(temperature=0.5, max_new_tokens=N_SAMPLE, seed=params.seed)


def sample(bundle: Bundle, prompt: Encoding, sampling: SamplingConfig) -> str:
    """Return the prompt and its continuation by max_new_tokens characters."""
    drawn = [d.id for d in generate(bundle.model, prompt.ids, sampling)]
    return prompt.text + bundle.tokenizer.decode(drawn)


def epoch_means(losses: Sequence[float], steps_per_epoch: int) -> list[float]:
    """Return the mean loss of each pass over the data; the last may be a part of one."""
    starts = range(0, len(losses), steps_per_epoch)
    parts = [losses[start : start + steps_per_epoch] for start in starts]
    return [sum(part) / len(part) for part in parts]


def verdict(result: Result) -> Verdict:
    """Return what may be said: learned (near the floor), leaking (below it by peeking), or not."""
    honest, floor = result.prefix_only_loss_nats, result.floor_nats or 0.0
    seen = result.final_loss_nats or 0.0
    # A training loss far below the loss on prefixes alone means that the model looks ahead.
    if honest > 1.0 and seen < honest / 4:
        code = "looks_ahead"
    else:
        code = "learned_by_heart" if honest < floor + 0.3 else "not_learned_yet"
    values = {"honest_loss": round(honest, 3), "floor": round(floor, 3), "loss": round(seen, 3)}
    return Verdict(code, code == "learned_by_heart", values)


@torch.no_grad()
def _heldout_loss(prepared: Prepared) -> float | None:
    if prepared.heldout is None:
        return None
    prepared.bundle.model.eval()
    # Windows spread over the whole held-out part, at most 64 of them.
    rows = torch.linspace(0, len(prepared.heldout) - 1, min(64, len(prepared.heldout))).long()
    return float(loss_nats(prepared.bundle.model, prepared.heldout.take(rows)))


def _measured_live(prepared: Prepared) -> dict[str, float]:
    metrics = {
        "prefix_only_loss_nats": prefix_only_loss_nats(
            prepared.bundle.model, prepared.trainer.data, n_windows=16
        )
    }
    heldout = _heldout_loss(prepared)
    if heldout is not None:
        metrics["heldout_loss_nats"] = heldout
    if prepared.floor_nats is not None:
        metrics["floor_nats"] = prepared.floor_nats
    return metrics


def _train_config(params: Params, n_windows: int) -> TrainConfig:
    steps_per_epoch = math.ceil(n_windows / (params.batch_size or 1))
    steps = params.steps or (params.epochs or 1) * steps_per_epoch
    return params.train_config(
        loss_on="all",
        snapshot_every=3,
        eval_every=40,
        steps=min(steps, MAX_STEPS),
        each_once=not params.steps,
    )
