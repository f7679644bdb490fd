"""One matrix for embedding and head, or two: trained in lock step, from the same seed and batches.

The other question asks why the shared matrix is multiplied by √d_model at the input: with and
without that scale. Shapes: V vocabulary, d = d_model, L layers, H heads.
"""

import dataclasses
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from owi_core.checkpoints import Bundle, from_bytes, to_bytes
from owi_core.config import ModelConfig
from owi_core.corpora import FAMILIES, Sample
from owi_core.events import Control, Event, Number
from owi_core.experiments import pronoun
from owi_core.experiments._kit.pair import Pair, Side, Sides, final_loss, run_pair
from owi_core.experiments._kit.params import BaseParams, note_of, setting
from owi_core.experiments._kit.results import BaseResult, Value, Verdict
from owi_core.experiments._kit.session import loss_rose
from owi_core.experiments.faults import ties
from owi_core.model import Transformer
from owi_core.probes.storage import tied_storage
from owi_core.probes.tie_gradient import TiedGradient, tied_gradient
from owi_core.probes.tie_size import counted
from owi_core.tokenizer import WordTokenizer

NAME = "tying"
SIDES = {"tying": ("tied", "untied"), "scale": ("scaled", "unscaled")}
N_LIVE, N_BATCH, N_WRONG_STEPS = 100, 64, 20
SCALE_STEPS = 300
# Half of a shipped model's width is enough where the clue comes before the pronoun.
WIDTH, WIDTHS = 64, dict.fromkeys(pronoun.LOOK_AHEAD, 128)
GOOD, NONE_NAMED, SAME = 0.95, 0.1, 0.05
DIRECT, DETOUR = 0.9, 0.75  # weight on the word meant, mean over heads of the best layer


@dataclass(frozen=True)
class Params(BaseParams):
    """What may be set; a value left out is the family's own."""

    question: str = setting(
        "tying",
        "what differs: one matrix or two, or the scale at the input",
        choices=tuple(SIDES),
        decides=True,
    )
    family: str = setting(
        "swap", "which clue decides what the pronoun means", choices=FAMILIES, decides=True
    )
    steps: int | None = setting(None, "training steps", low=1, high=2_000)
    batch_size: int | None = setting(None, "sentences per step", low=1, high=256)
    lr: float | None = setting(None, "highest learning rate", low=1e-6, high=10.0)
    n_layer: int = setting(2, "layers", low=1, high=6)
    d_model: int | None = setting(None, "width of the residual stream", low=8, high=256)
    n_train: int | None = setting(None, "training sentences", low=100, high=100_000)
    positions: str | None = setting(
        None, "how positions are encoded", choices=("sinusoidal", "learned", "none")
    )

    def usual(self) -> dict[str, Any]:
        """Return what the family and the question take where nothing is chosen."""
        known = pronoun.RECIPES[self.family]
        usual = {name: known[name] for name in ("steps", "batch_size", "lr", "n_train")}
        usual["d_model"] = WIDTHS.get(self.family, WIDTH)
        if self.question == "tying":
            return usual | {"positions": "sinusoidal"}
        # Sinusoidal positions are ten times as large as an embedding that is not scaled, and drown
        # it: nothing is learned. Learned ones begin as small as the embedding.
        return usual | {"positions": "learned", "steps": max(SCALE_STEPS, known["steps"])}


Role = Literal["answer", "read", "absent"]
GradientRow = tuple[str, Role, Number, Number]  # word, role, norm at the input, norm at the output


@dataclass(frozen=True)
class AsTrained:
    """Shares answered right before the rows of unseen words were drawn again."""

    accuracy_heldout: Number
    accuracy_unseen_words: Number


@dataclass(frozen=True)
class Moved:
    """How far training has moved rows, in lengths of a first row.

    unseen, known: mean over words that no sentence shows, and over those that are answers.
    together: mean cosine between the moves of two unseen rows; 1 = all in the same direction.
    """

    unseen: Number
    known: Number
    together: Number


@dataclass(frozen=True)
class GradientNorms:
    """Norms of the tied matrix's gradient and of its two parts; relative_error of their sum."""

    input: Number
    output: Number
    tied: Number
    relative_error: Number


@dataclass(frozen=True)
class SideResult:
    """One model's part of the result; rows_moved: of "embedding" and "head"."""

    accuracy_heldout: Number
    accuracy_heldout_structure: Number
    accuracy_unseen_words: Number
    as_trained: AsTrained
    rows_moved: dict[str, Moved]
    attention_on_antecedent: list[list[Number]]
    attention_by_layer: list[Number]
    final_loss_nats: Number
    n_params: int
    train_seconds: Number


@dataclass(frozen=True)
class Result(BaseResult):
    """What is shared, the gradient at "start" and "end", wrong ways, and both models by name."""

    parts: ClassVar[str] = "sides"
    question: str
    same_object: bool
    same_storage: bool
    same_object_loaded: bool
    gradient_sum_error: Number
    gradient_norms: dict[str, GradientNorms]
    gradient_rows: list[GradientRow]
    params_tied: int
    params_untied: int
    sides: dict[str, SideResult]
    wrong: list[ties.Way]

    @property
    def pair(self) -> tuple[SideResult, SideResult]:
        """The model that the question is about, and the one without what is asked for."""
        first, other = (self.sides[name] for name in SIDES[self.question])
        return first, other


class Prepared(NamedTuple):
    """Both models, what both are measured on, and the ids of words that no sentence shows."""

    sides: Sides
    tests: dict[str, list[Sample]]
    unseen: range


def run(
    params: Params,
    folder: Path | None = None,
    control: Control | None = None,
    resume: bool = False,
) -> Iterator[Event]:
    """Train both models in lock step and measure both.

    The first one (tied, or scaled) is left in `folder`, the other in a folder of its name inside.
    Ends with Finished, or early with Diverged, Paused or Stopped.
    """
    prepared = prepare(params)
    trainer = prepared.sides[0].trainer
    pair = Pair(
        prepared.sides,
        lambda: _live(prepared),
        lambda: measure(prepared, params),
        lambda result: loss_rose(trainer) or verdict(result),
    )
    yield from run_pair(NAME, params, pair, folder, control, resume)


def prepare(params: Params) -> Prepared:
    """Generate the sentences once and draw both models from one seed.

    Both begin with the same embedding and blocks; an untied head is drawn for itself.
    """
    names = SIDES[params.question]
    # Prepared twice from one seed: same sentences, same batches, same first numbers.
    made = [pronoun.prepare(_pronoun_params(params, name)) for name in names]
    note = note_of(NAME, params, private=False)
    first, other = (
        Side(name, dataclasses.replace(one.bundle, note=note), one.trainer)
        for name, one in zip(names, made, strict=True)
    )
    tokenizer = first.bundle.tokenizer
    assert isinstance(tokenizer, WordTokenizer)
    unseen = range(tokenizer.spare_ids.start, tokenizer.vocab_size)
    return Prepared((first, other), made[0].tests, unseen)


def measure(prepared: Prepared, params: Params) -> Result:
    """Return the result: what is shared, the gradient's two parts, and each model's part."""
    first = prepared.sides[0]
    model, config = first.bundle.model, first.bundle.model.config
    # What training has done to the rows is measured before they are drawn again.
    # The model as it was is drawn again from the seed rather than kept in memory.
    gradients = {"start": _gradient(prepared, _drawn(config, params)), "end": _gradient(prepared)}
    sides = {side.name: _part(side, prepared, params) for side in prepared.sides}
    shared = tied_storage(model)
    # A file holds the shared matrix once; loading must tie it again, not make a copy.
    loaded = tied_storage(from_bytes(to_bytes(first.bundle)).model)
    one, two = counted(model)
    return Result(
        question=params.question,
        same_object=shared.same_object,
        same_storage=shared.same_storage,
        same_object_loaded=loaded.same_object,
        gradient_sum_error=max(g.relative_error for g in gradients.values()),
        gradient_norms={when: _norms(g) for when, g in gradients.items()},
        gradient_rows=_rows(gradients["start"], prepared),
        params_tied=one,
        params_untied=two,
        sides=sides,
        wrong=_wrong(prepared, params) if params.question == "tying" else [],
    )


def verdict(result: Result) -> Verdict:
    """Return what may be said of a result, by the two models' numbers alone."""
    judge = _judge_tying if result.question == "tying" else _judge_scale
    code = judge(*result.pair)
    values: dict[str, Value] = {}
    for which, part in zip(("first", "other"), result.pair, strict=True):
        values |= {
            f"heldout_{which}": part.accuracy_heldout,
            f"unseen_words_{which}": part.accuracy_unseen_words,
            f"raw_{which}": part.as_trained.accuracy_unseen_words,
            f"mass_{which}": max(part.attention_by_layer),
            f"loss_{which}": round(part.final_loss_nats, 3),
        }
    return Verdict(code, code in ("named_only_when_tied", "direct_only_when_scaled"), values)


def _judge_tying(tied: SideResult, untied: SideResult) -> str:
    if max(tied.accuracy_heldout, untied.accuracy_heldout) < GOOD:
        return "not_learned"
    # Names of unseen words are worth nothing to a model that answers worse otherwise.
    if tied.accuracy_heldout < untied.accuracy_heldout - SAME:
        return "tying_hurts"
    named, unnamed = tied.accuracy_unseen_words, untied.accuracy_unseen_words
    if named >= GOOD and unnamed <= NONE_NAMED:
        return "named_only_when_tied"
    return "tying_helps" if named > unnamed + SAME else "tying_buys_nothing"


def _judge_scale(scaled: SideResult, unscaled: SideResult) -> str:
    if scaled.accuracy_heldout < GOOD:
        return "not_learned"
    if unscaled.accuracy_heldout < GOOD:
        return "learned_only_when_scaled"
    direct, other = max(scaled.attention_by_layer), max(unscaled.attention_by_layer)
    if direct >= DIRECT and other < DETOUR:
        return "direct_only_when_scaled"
    return "scale_buys_nothing" if direct - other < SAME else "scale_helps"


def _part(side: Side, prepared: Prepared, params: Params) -> SideResult:
    """Return one model's numbers, and how both of its matrices' rows have moved.

    The rows of words never seen are redrawn on the way; `as_trained` is from before.
    """
    bundle, tests = side.bundle, prepared.tests
    before = AsTrained(
        *(
            pronoun.measure_samples(bundle, tests[name]).accuracy
            for name in ("heldout", "unseen_words")
        )
    )
    # Before the rows are redrawn: afterwards the training's push is gone.
    moved = _moved(bundle.model, prepared, params)
    _redraw_unseen(bundle, prepared, params)
    measured = {name: pronoun.measure_samples(bundle, samples) for name, samples in tests.items()}
    return SideResult(
        accuracy_heldout=measured["heldout"].accuracy,
        accuracy_heldout_structure=measured["heldout_structure"].accuracy,
        accuracy_unseen_words=measured["unseen_words"].accuracy,
        as_trained=before,
        rows_moved=moved,
        attention_on_antecedent=measured["heldout"].mass.round(4).tolist(),
        attention_by_layer=measured["heldout"].mass.mean(axis=1).round(4).tolist(),
        final_loss_nats=final_loss(side),
        n_params=bundle.model.n_params,
        train_seconds=round(side.trainer.seconds, 2),
    )


@torch.no_grad()
def _redraw_unseen(bundle: Bundle, prepared: Prepared, params: Params) -> None:
    """Redraw the rows of unseen words, in an untied head too, so that training has moved none."""
    pronoun.redraw_spare_rows(bundle, params.seed)
    head = bundle.model.lm_head.weight
    # The tied head is the same tensor, whose rows were redrawn one line above.
    if head is not bundle.model.embedding.weight:
        rng = torch.Generator().manual_seed(params.seed + 2)
        head[prepared.unseen.start :].normal_(0.0, bundle.model.config.init_std, generator=rng)


@torch.no_grad()
def _moved(model: Transformer, prepared: Prepared, params: Params) -> dict[str, Moved]:
    """Return how far training has moved the rows of both matrices."""
    start = _drawn(model.config, params)
    # Answers get gradient at the output; words that are only read get it at the input alone.
    known = torch.unique(prepared.sides[0].trainer.data.targets)
    found = {}
    for name in ("embedding", "head"):
        now, then = _matrix(model, name), _matrix(start, name)
        # In lengths of a first row: absolute distances of two models with other scales say nothing.
        moves = (now - then) / then.norm(dim=1).mean()  # (V, d)
        unseen = moves[prepared.unseen.start :]
        found[name] = Moved(
            unseen=float(unseen.norm(dim=1).mean()),
            known=float(moves[known].norm(dim=1).mean()),
            together=_together(unseen),
        )
    return found


def _together(moves: Tensor) -> float:
    """Return the mean cosine between two different rows; 0 where nothing moved."""
    n = len(moves)
    # Σᵢⱼ uᵢ·uⱼ = ‖Σ uᵢ‖², so no V × V matrix is needed; the diagonal is taken off again.
    unit = torch.nn.functional.normalize(moves, dim=1)
    return float((unit.sum(0).square().sum() - unit.square().sum()) / (n * (n - 1)))


def _matrix(model: Transformer, name: str) -> Tensor:
    return model.embedding.weight if name == "embedding" else model.lm_head.weight


def _drawn(config: ModelConfig, params: Params) -> Transformer:
    """Return the model as it was before its first step."""
    return Transformer(config, torch.Generator().manual_seed(params.seed))


def _gradient(prepared: Prepared, model: Transformer | None = None) -> TiedGradient:
    side = prepared.sides[0]
    # The first samples, not a random batch: "start" and "end" compare the same sentences.
    batch = side.trainer.data.take(torch.arange(min(N_BATCH, len(side.trainer.data))))
    return tied_gradient(model or side.bundle.model, batch)


def _norms(gradient: TiedGradient) -> GradientNorms:
    return GradientNorms(
        gradient.input_norm, gradient.output_norm, gradient.tied_norm, gradient.relative_error
    )


def _rows(gradient: TiedGradient, prepared: Prepared) -> list[GradientRow]:
    """Return a row for every word: those that are answers, then those read, then the others."""
    side = prepared.sides[0]
    data, tokenizer = side.trainer.data, side.bundle.tokenizer
    assert isinstance(tokenizer, WordTokenizer)
    n = min(N_BATCH, len(data))
    # Of the batch whose gradient is shown: roles of the whole data would not explain its zeros.
    answers, read = set(data.targets[:n].flatten().tolist()), set(data.ids[:n].flatten().tolist())

    def role(i: int) -> Role:
        return "answer" if i in answers else "read" if i in read else "absent"

    ids = range(tokenizer.vocab_size)
    order = sorted(ids, key=lambda i: ("answer", "read", "absent").index(role(i)))
    into, out = gradient.input_rows, gradient.output_rows
    return [(tokenizer.label(i), role(i), _short(into[i]), _short(out[i])) for i in order]


def _short(value: np.float32) -> float:
    """Return four digits; an exact 0 stays one and nothing else becomes one."""
    return float(f"{float(value):.4g}")


def _wrong(prepared: Prepared, params: Params) -> list[ties.Way]:
    trainer = prepared.sides[0].trainer
    config = prepared.sides[0].bundle.model.config
    # A few steps show the drift; whether the model learns is another question.
    steps = min(N_WRONG_STEPS, trainer.config.steps)
    training = dataclasses.replace(trainer.config, steps=steps, warmup_steps=min(5, steps))
    return ties.tried(config, trainer.data, training, len(prepared.unseen))


def _live(prepared: Prepared) -> dict[str, float]:
    metrics = {}
    for name, bundle, _ in prepared.sides:
        heldout = pronoun.measure_samples(bundle, prepared.tests["heldout"][:N_LIVE])
        unseen = pronoun.measure_samples(bundle, prepared.tests["unseen_words"][:N_LIVE])
        metrics[f"{name}.accuracy_heldout"] = heldout.accuracy
        metrics[f"{name}.accuracy_unseen_words"] = unseen.accuracy
        metrics[f"{name}.attention_on_antecedent"] = float(heldout.mass.mean(axis=1).max())
        bundle.model.train()
    return metrics


def _pronoun_params(params: Params, side: str) -> pronoun.Params:
    assert params.d_model is not None  # filled in by the family
    own = ("question",)
    values = {k: v for k, v in asdict(params).items() if k not in own}
    more: dict[str, Any] = {"embedding_scale": 1.0} if side == "unscaled" else {}
    return pronoun.Params(
        **values,
        # In these families the clue follows the pronoun.
        mask="bidirectional" if params.family in pronoun.LOOK_AHEAD else "causal",
        d_mlp=params.d_model,
        warmup_steps=min(20, params.steps or 20),
        tie_weights=side != "untied",
        **more,
    )
