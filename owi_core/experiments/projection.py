"""Two models side by side, one with the output projection W_O and one without; heads cut in both.

In place of the missing W_O the second model may have a mistake in the residual stream from its
first step on; see `wrong_residual`.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
import torch

from owi_core.checkpoints import Bundle
from owi_core.corpora import Sample
from owi_core.events import Control, Event, Number
from owi_core.experiments import pronoun
from owi_core.experiments._kit.pair import Pair, Side, Sides, run_pair
from owi_core.experiments._kit.params import note_of, setting
from owi_core.experiments._kit.results import BaseResult, Value, Verdict
from owi_core.experiments.faults import residual
from owi_core.experiments.pronoun import GOOD_ACCURACY, N_MEASURED, measure_samples
from owi_core.model import Transformer
from owi_core.probes.ablation import Head, Sharing, how_shared, layer_heads, without_heads
from owi_core.probes.contributions import SumError, sum_errors
from owi_core.tokenizer import WordTokenizer
from owi_core.training import Trainer

NAME = "projection"
WITH, WITHOUT = "with_projection", "without_projection"
AGAINST = (WITHOUT, *residual.BLOCKS)
N_LIVE, N_SUMMED = 100, 20  # held-out sentences: while it trains, and for the equality
SUM_TOLERANCE = 1e-5
LESS_DIRECT = 0.1  # this much less weight on the word meant is worth a word


@dataclass(frozen=True)
class Params(pronoun.Params):
    """What may be set: all that the pronoun lab has, and what the second model lacks."""

    against: str = setting(WITHOUT, "what the second model is", choices=AGAINST)


@dataclass(frozen=True)
class Answers:
    """How held-out sentences are answered; attention_on_antecedent: [layer][head]."""

    accuracy_heldout: Number
    loss_heldout_nats: Number
    attention_on_antecedent: list[list[Number]]

    @property
    def best_mass(self) -> float:
        """The mean weight on the word meant, in the layer where it is largest."""
        return float(np.array(self.attention_on_antecedent).mean(axis=1).max())


@dataclass(frozen=True)
class SideResult(Answers):
    """One model's part of the result; effects are changes of log p(answer), in nats.

    head_effect, accuracy_without_head: [layer][head].  heads_together, sharing, without_layer: by
    layer.
    """

    final_loss_nats: float | None
    n_params: int
    train_seconds: Number
    head_effect: list[list[Number]]
    heads_together: list[Number]
    sharing: list[Sharing]
    accuracy_without_head: list[list[Number]]
    without_layer: list[Answers]


@dataclass(frozen=True)
class Result(BaseResult):
    """Both models by name, and what is left of the first with a mistake made in it.

    head_effect, heads_together and sharing are those of the model with W_O.
    """

    parts: ClassVar[str] = "sides"
    sum_error_max: Number
    sum_error_relative_max: Number
    head_effect: list[list[Number]]
    heads_together: list[Number]
    sharing: list[Sharing]
    sides: dict[str, SideResult]
    faults: dict[str, Answers]

    @property
    def other(self) -> str:
        """The name of the second model."""
        return next(name for name in AGAINST if name in self.sides)


class Prepared(NamedTuple):
    """Both models and the held-out sentences that both are measured on."""

    sides: Sides
    samples: Sequence[Sample]


def run(
    params: Params,
    folder: Path | None = None,
    control: Control | None = None,
    resume: bool = False,
) -> Iterator[Event]:
    """Train both models in lock step; measure both, then with heads cut and with mistakes made.

    The model with W_O is left in `folder`, the other one in a folder of its name inside.
    Ends with Finished, or early with Diverged, Paused or Stopped.
    """
    sides, samples = prepare(params)
    pair = Pair(
        sides, lambda: _live(sides, samples[:N_LIVE]), lambda: measure(sides, samples), verdict
    )
    yield from run_pair(NAME, params, pair, folder, control, resume)


def prepare(params: Params) -> Prepared:
    """Generate the sentences once and draw both models from the same seed."""
    first = pronoun.prepare(params)
    note = note_of(NAME, params, private=bool(params.watch))
    bundle = dataclasses.replace(first.bundle, note=note)
    model = _other_model(params, bundle.model)
    # The same data object and settings: batches are drawn from the seed in them.
    trainer = Trainer(model, first.trainer.data, first.trainer.config)
    other = dataclasses.replace(bundle, model=model)
    sides = Side(WITH, bundle, first.trainer), Side(params.against, other, trainer)
    # As many as the pronoun lab measures while it trains: each is read once for every head.
    return Prepared(sides, first.tests["heldout"][:N_MEASURED])


def measure(sides: Sides, samples: Sequence[Sample]) -> Result:
    """Return the result of a finished run."""
    right, other = (_measure_side(side, samples) for side in sides)
    # Both models: the equality holds with and without W_O.
    errors = [error for side in sides for error in _sum_errors(side.bundle, samples)]
    return Result(
        sum_error_max=max(error.absolute for error in errors),
        sum_error_relative_max=max(error.relative for error in errors),
        head_effect=right.head_effect,
        heads_together=right.heads_together,
        sharing=right.sharing,
        sides={sides[0].name: right, sides[1].name: other},
        faults={fault: _with_fault(sides[0], fault, samples) for fault in residual.FAULTS},
    )


def verdict(result: Result) -> Verdict:
    """Return whether the other model learned too, and whether it looks as directly."""
    name = result.other
    right, other = result.sides[WITH], result.sides[name]
    values: dict[str, Value] = {
        "other": name,
        "accuracy": right.accuracy_heldout,
        "other_accuracy": other.accuracy_heldout,
        "loss": round(right.loss_heldout_nats, 4),
        "other_loss": round(other.loss_heldout_nats, 4),
        "mass": round(right.best_mass, 4),
        "other_mass": round(other.best_mass, 4),
        "params_saved": right.n_params - other.n_params,
    }
    learned = right.accuracy_heldout >= GOOD_ACCURACY
    other_learned = other.accuracy_heldout >= GOOD_ACCURACY
    if learned and other_learned:
        # Compared with the other model, not with 1: the seed decides how direct both are.
        less_direct = other.best_mass < right.best_mass - LESS_DIRECT
        code = "both_learn_less_direct" if less_direct else "both_learn"
    elif learned:
        code = "needed"
    else:
        code = "better_without" if other_learned else "not_learned"
    return Verdict(code, learned and result.sum_error_max <= SUM_TOLERANCE, values)


def _other_model(params: Params, right: Transformer) -> Transformer:
    rng = torch.Generator().manual_seed(params.seed)
    if params.against != WITHOUT:
        return residual.make(right.config, rng, params.against)
    # Without W_O the heads are concatenated into the residual stream as they are.
    return Transformer(dataclasses.replace(right.config, output_projection=False), rng)


def _measure_side(side: Side, samples: Sequence[Sample]) -> SideResult:
    bundle, model = side.bundle, side.bundle.model
    whole = measure_samples(bundle, samples)
    layers = range(model.config.n_layer)

    def without(heads: Sequence[Head]) -> pronoun.Measured:
        cut = dataclasses.replace(bundle, model=without_heads(model, heads))
        return measure_samples(cut, samples)

    # Every head alone, and below all heads of a layer: redundancy shows only in the second.
    singles = [[without([head]) for head in layer_heads(model, i)] for i in layers]
    cut_layers = [without(layer_heads(model, i)) for i in layers]
    effects = np.array([[whole.loss_nats - m.loss_nats for m in layer] for layer in singles])
    together = [whole.loss_nats - m.loss_nats for m in cut_layers]
    return SideResult(
        **vars(_answers(whole)),
        final_loss_nats=side.trainer.recent_loss_nats(),
        n_params=model.n_params,
        train_seconds=round(side.trainer.seconds, 2),
        head_effect=effects.round(4).tolist(),
        heads_together=np.round(together, 4).tolist(),
        # Of the exact numbers: two that round to the same may share the answer differently.
        sharing=[how_shared(effects[i], together[i]) for i in layers],
        accuracy_without_head=[[m.accuracy for m in layer] for layer in singles],
        without_layer=[_answers(m) for m in cut_layers],
    )


def _with_fault(side: Side, fault: str, samples: Sequence[Sample]) -> Answers:
    """Return what is left of the trained model when the mistake is made in it afterwards."""
    model = residual.broken(side.bundle.model, fault)
    return _answers(measure_samples(dataclasses.replace(side.bundle, model=model), samples))


def _answers(measured: pronoun.Measured) -> Answers:
    return Answers(measured.accuracy, round(measured.loss_nats, 4), measured.mass.round(4).tolist())


def _sum_errors(bundle: Bundle, samples: Sequence[Sample]) -> list[SumError]:
    assert isinstance(bundle.tokenizer, WordTokenizer)
    # Words, not text: cutting the text again might join two of them.
    encodings = [bundle.tokenizer.encode_words(s.words) for s in samples[:N_SUMMED]]
    return [error for e in encodings for error in sum_errors(bundle.model, e.ids)]


def _live(sides: Sides, samples: Sequence[Sample]) -> dict[str, float]:
    metrics = {}
    for name, bundle, _ in sides:
        measured = measure_samples(bundle, samples)
        best = float(measured.mass.mean(axis=1).max())
        metrics[f"{name}.accuracy_heldout"] = measured.accuracy
        metrics[f"{name}.attention_on_antecedent"] = best
    return metrics
