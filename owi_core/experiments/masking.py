"""The same model with and without the causal mask: same seed, data and batches, side by side.

In place of no mask the second model may have a wrong one; see `wrong_masks`.
"""

import dataclasses
import itertools
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from owi_core.config import MaskName, SamplingConfig
from owi_core.corpora import CHARACTER_TEXTS
from owi_core.errors import OwiError, RunError, TextError
from owi_core.events import Control, Event, Number
from owi_core.experiments import language
from owi_core.experiments._kit.pair import Pair, Side, Sides, final_loss, run_pair
from owi_core.experiments._kit.params import BaseParams, holds_typed_text, note_of, setting
from owi_core.experiments._kit.results import BaseResult, Verdict
from owi_core.experiments.faults import masks
from owi_core.generation import generate
from owi_core.model import Transformer
from owi_core.probes.leakage import (
    change_matrix,
    evaluation_loss_nats,
    future_change_max,
    gradient_matrix,
    leak_max,
    prefix_only,
)
from owi_core.record import Check
from owi_core.tokenizer import CharTokenizer, Encoding
from owi_core.training import Trainer

NAME = "masking"
CAUSAL, NONE = "causal", "unmasked"
FAULTS = tuple(name for name in masks.FAULTS if name != "padding_attended")
N_SENTENCE = 12
N_LIVE_WINDOWS = 8


@dataclass(frozen=True)
class Params(BaseParams):
    """What may be set; all but the mask is the same for both models."""

    text: str = setting("zh", "which text to learn", choices=CHARACTER_TEXTS)
    own_text: str = setting("", "a text to learn instead", typed=True)
    against: str = setting(
        NONE, "what is compared with the causal mask: none, or a wrong one", choices=(NONE, *FAULTS)
    )
    steps: int = setting(280, "training steps", low=1, high=2_000)
    window: int = setting(16, "characters in a training window", low=4, high=64)
    batch_size: int = setting(20, "windows per step", low=1, high=64)
    lr: float = setting(4e-3, "highest learning rate", low=1e-6, high=10.0)
    n_layer: int = setting(1, "layers", low=1, high=6)
    d_model: int = setting(128, "width of the residual stream", low=8, high=256)
    prompt: str = setting("", "what the samples continue; empty = the text's beginning", typed=True)
    sentence: str = setting(
        "", "where the leak is measured; empty = the text's beginning", typed=True
    )


@dataclass(frozen=True)
class SideResult:
    """One model's part of the result.

    changes, gradients: [t][s], how far output t moves when token s changes, and by which gradient.
    floor_nats is None where it cannot be counted.  sentence: its tokens.
    """

    train_loss_nats: Number
    evaluation_loss_nats: Number
    prefix_only_loss_nats: Number
    next_token_accuracy: Number
    floor_nats: float | None
    repeated_share: Number
    sample: str
    leak_max: Number
    future_change_max: Number
    train_seconds: Number
    sentence: list[str]
    changes: list[list[Number]]
    gradients: list[list[Number]]
    checks: list[Check]


@dataclass(frozen=True)
class Result(BaseResult):
    """Both models by name, the causal one first."""

    parts: ClassVar[str] = "sides"
    sides: dict[str, SideResult]


class Prepared(NamedTuple):
    """Both models and what both are measured on; floor_nats is None where it cannot be counted."""

    sides: Sides
    floor_nats: float | None
    prompt: Encoding
    sentence: Encoding
    remarks: tuple[OwiError, ...]


def run(
    params: Params,
    folder: Path | None = None,
    control: Control | None = None,
    resume: bool = False,
) -> Iterator[Event]:
    """Train both models in lock step and measure both.

    The causal model is left in `folder`, the other one in a folder of its name inside.
    Ends with Finished, or early with Diverged, Paused or Stopped.
    """
    prepared = prepare(params)
    pair = Pair(
        prepared.sides,
        lambda: _honest_live(prepared),
        lambda: Result({side.name: measure(side, prepared, params) for side in prepared.sides}),
        lambda result: verdict(result, prepared.floor_nats),
        prepared.remarks,
    )
    yield from run_pair(NAME, params, pair, folder, control, resume)


def prepare(params: Params) -> Prepared:
    """Read the text once and draw both models; raise TextError for a text nothing can be hidden in.

    A mask that leaves a query nowhere to look is refused before the first step.
    """
    first = language.prepare(_language_params(params, "causal"))
    tokenizer = first.bundle.tokenizer
    assert isinstance(tokenizer, CharTokenizer)
    # With one character every prediction is right, with any mask.
    if tokenizer.vocab_size < 2:
        raise TextError("vocabulary_of_one")
    sentence = _sentence(params, tokenizer, first)
    sides = (_side(CAUSAL, params, first), _side(params.against, params, first))
    return Prepared(sides, first.floor_nats, first.prompt, sentence, first.remarks)


def measure(side: Side, prepared: Prepared, params: Params) -> SideResult:
    """Return one model's part of the result."""
    model, data = side.bundle.model, side.trainer.data
    honest = prefix_only(model, data)
    # One sentence for both models, so that their matrices can be compared cell by cell.
    ids = torch.tensor(prepared.sentence.ids)
    changes, drawn = change_matrix(model, ids), sample(side, prepared, params)
    return SideResult(
        train_loss_nats=final_loss(side),
        evaluation_loss_nats=evaluation_loss_nats(model, data),
        prefix_only_loss_nats=honest.loss_nats,
        next_token_accuracy=honest.accuracy,
        floor_nats=prepared.floor_nats,
        repeated_share=repeated_share(drawn.ids),
        sample=drawn.text,
        leak_max=leak_max(changes),
        future_change_max=future_change_max(changes),
        train_seconds=round(side.trainer.seconds, 2),
        sentence=list(prepared.sentence.labels),
        changes=_rounded(changes),
        gradients=_rounded(gradient_matrix(model, ids)),
        checks=list(masks.mask_checks(model, ids)),
    )


class Drawn(NamedTuple):
    """What a model wrote: prompt and continuation as text, and the continuation's ids."""

    text: str
    ids: tuple[int, ...]


def sample(side: Side, prepared: Prepared, params: Params) -> Drawn:
    """Return what the model writes after the prompt, by the same draws for both models."""
    # A low temperature shows what was learned; the same seed draws the same for both.
    config = SamplingConfig(temperature=0.5, max_new_tokens=language.N_SAMPLE, seed=params.seed)
    ids = tuple(d.id for d in generate(side.bundle.model, prepared.prompt.ids, config))
    return Drawn(prepared.prompt.text + side.bundle.tokenizer.decode(ids), ids)


def repeated_share(ids: tuple[int, ...]) -> float:
    """Return the share of tokens that are the same as the one just before."""
    # A model that never learned to write without seeing the next letter repeats one letter.
    same = sum(a == b for a, b in itertools.pairwise(ids))
    return same / max(len(ids) - 1, 1)


def verdict(result: Result, floor: float | None) -> Verdict:
    """Return what may be said: the other model peeks, is the better one, or neither has learned."""
    causal, other = result.sides.values()
    # Both are measured on prefixes alone, where peeking is impossible: the honest comparison.
    gap = other.prefix_only_loss_nats - causal.prefix_only_loss_nats
    # Below the floor no honest model can go: the text itself is that uncertain.
    below = floor is not None and other.evaluation_loss_nats < floor
    if causal.prefix_only_loss_nats > 1.0 and gap < 1.0:
        code = "not_learned_yet"
    elif gap >= 1.0:
        code = "peeks_below_the_floor" if below else "peeks" if other.leak_max > 0 else "worse"
    else:
        code = "no_harm_seen"
    values = {
        "gap": round(gap, 3),
        "causal": round(causal.prefix_only_loss_nats, 3),
        "other": round(other.prefix_only_loss_nats, 3),
        "other_train": round(other.train_loss_nats, 3),
        "causal_train": round(causal.train_loss_nats, 3),
        "accuracy": causal.next_token_accuracy,
        "other_accuracy": other.next_token_accuracy,
        "floor": None if floor is None else round(floor, 3),
    }
    return Verdict(code, code.startswith("peeks"), values)


def _honest_live(prepared: Prepared) -> dict[str, float]:
    metrics = {}
    for name, bundle, trainer in prepared.sides:
        # Eight windows suffice for a curve.
        honest = prefix_only(bundle.model, trainer.data, N_LIVE_WINDOWS)
        metrics[f"{name}.prefix_only_loss_nats"] = honest.loss_nats
        metrics[f"{name}.next_token_accuracy"] = honest.accuracy
        # Measuring switches dropout off; the next step trains again.
        bundle.model.train()
    if prepared.floor_nats is not None:
        metrics["floor_nats"] = prepared.floor_nats
    return metrics


def _language_params(params: Params, mask: str) -> language.Params:
    # Everything that both labs call by the same name; the rest is set below.
    shared = ("text", "own_text", "seed", "steps", "window", "batch_size", "lr", "n_layer")
    values = {name: getattr(params, name) for name in shared}
    # Positions stand out from small embeddings, so the order is visible from the first step:
    # peeking is learned before anything else, and so is nothing else.
    return language.Params(
        **values,
        mask=mask,
        prompt=params.prompt,
        optimizer="adamw",
        warmup_steps=min(10, params.steps),
        d_model=params.d_model,
        d_mlp=2 * params.d_model,
        embedding_scale=1.0,
        embedding_std=0.12,
        init_std=0.1,
    )


def _side(name: str, params: Params, first: language.Prepared) -> Side:
    """Draw one of the models; both from the same seed, for the same data."""
    data = first.trainer.data
    # A wrong mask is made inside a causal model: the mistake is in the module, not in the config.
    mask: MaskName = "bidirectional" if name == NONE else "causal"
    # No position that was never trained: past its window a model drops the oldest characters.
    config = dataclasses.replace(first.bundle.model.config, mask=mask, block_size=data.ids.shape[1])
    model = masks.make(config, torch.Generator().manual_seed(params.seed), name)
    _refuse_blind_row(model, data.ids[:1])
    private = holds_typed_text(Params, asdict(params))
    note = note_of(NAME, params, private=private)
    bundle = dataclasses.replace(first.bundle, model=model, note=note)
    return Side(name, bundle, Trainer(model, data, first.trainer.config))


@torch.no_grad()
def _refuse_blind_row(model: Transformer, ids: Tensor) -> None:
    """Raise RunError before the first step where a query may look nowhere."""
    blind = masks.blind_row(model, ids)
    if blind is not None:
        raise RunError("mask_blind_row", row=blind + 1)


def _sentence(params: Params, tokenizer: CharTokenizer, first: language.Prepared) -> Encoding:
    if not params.sentence:
        return language.head(
            first.watched.encoding, min(N_SENTENCE, first.trainer.data.ids.shape[1])
        )
    encoding = tokenizer.encode(params.sentence)
    n = len(encoding.ids)
    # Each token of the sentence costs a forward pass in each model.
    limit = min(masks.MAX_PROBED, first.trainer.data.ids.shape[1])
    if n > limit:
        raise TextError("text_over_block", tokens=n, block_size=limit, over=n - limit)
    if n < 2:
        raise TextError("sentence_of_one_token", tokens=n, least=2)
    return encoding


def _rounded(matrix: Tensor) -> list[list[float]]:
    """Return four significant digits; an exact 0 stays one and nothing else becomes one."""
    # Rounded in decimal: rounding to four places would turn a leak of 1e-6 into "no leak".
    return [[float(f"{value:.4g}") for value in row] for row in matrix.tolist()]
