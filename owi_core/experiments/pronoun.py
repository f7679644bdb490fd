"""A model learns what a pronoun means; the row of the pronoun is watched while it learns.

The word predicted at the pronoun should be the word it means. Each family of sentences takes a
clue of its own: `swap` the structure, `verb` the verb, `fit` and, in English, `street` the
adjective behind the pronoun, `person` the pronoun's gender.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from owi_core.checkpoints import Bundle
from owi_core.corpora import FAMILIES, PRONOUNS, Sample, pronoun_corpus
from owi_core.errors import TextError
from owi_core.events import Control, Event, Number
from owi_core.experiments._kit.params import note_of, setting
from owi_core.experiments._kit.results import BaseResult, Verdict
from owi_core.experiments._kit.session import (
    Session,
    TransformerParams,
    Watched,
    of_training,
    run_session,
)
from owi_core.model import Transformer
from owi_core.probes.routes import Route, Routes, routed_logits
from owi_core.tokenizer import Encoding, WordTokenizer
from owi_core.training import IGNORED, Dataset, Trainer

NAME = "pronoun"
N_SPARE = 16
BLOCK_SIZE = 128
GOOD_ACCURACY = 0.99
ROUTE_HOLDS = 0.9  # share of sentences that a route must answer right by itself
LEARNED: dict[Route, str] = {
    "direct": "learned_direct",
    "detour": "learned_by_detour",
    "both": "learned_both_ways",
    "neither": "learned_by_two_routes",
}
N_MEASURED = 200  # held-out sentences of a measurement while training goes on

WATCHED = {
    "swap": "小明把苹果放在桌子上，小红拿走了它",
    "verb": "小明把苹果放在桌子上，小红擦净了它",
    "fit": "苹果放不进杯子，因为它太大了",
    "person": "小明把苹果送给小红，她笑了",
    "street": "The animal didn't cross the street because it was too tired",
}
# The clue comes after the pronoun: with the causal mask no model could learn it.
LOOK_AHEAD = ("fit", "street")

_USUAL: dict[str, Any] = {
    "n_layer": 2, "norm": "pre", "dropout": 0.0, "activation": "gelu", "init_std": 0.05,
    "schedule": "linear", "warmup_steps": 20, "weight_decay": 0.0,
}  # fmt: skip
# What each family needs; found by search, see the note of each shipped model.
_ROOT = {"embedding_scale": math.sqrt(128), "embedding_std": 1 / math.sqrt(128)}
_ADAMW = {"optimizer": "adamw", "lr": 3e-3}
_MUON = {"optimizer": "muon", "lr": 1e-2}
_FOUR = {"embedding_scale": 4.0, "embedding_std": 0.1}
_EIGHT = {"embedding_scale": 8.0, "embedding_std": 0.1}
RECIPES: dict[str, dict[str, Any]] = {
    "swap": {"batch_size": 64, "steps": 220, "n_train": 15_000} | _ADAMW | _ROOT,
    "verb": {"batch_size": 128, "steps": 350, "n_train": 40_000} | _MUON | _FOUR,
    "fit": {"batch_size": 64, "steps": 300, "n_train": 20_000} | _MUON | {"lr": 3e-3} | _FOUR,
    "person": {"batch_size": 64, "steps": 150, "n_train": 10_000} | _ADAMW | _ROOT,
    "street": {"batch_size": 64, "steps": 400, "n_train": 20_000} | _MUON | {"lr": 3e-3} | _EIGHT,
}


@dataclass(frozen=True)
class Params(TransformerParams):
    """What may be set; a value left out is the family's own."""

    family: str = setting(
        "swap", "which clue decides what the pronoun means", choices=FAMILIES, decides=True
    )
    loss_on: str = setting("answer", "which words the loss counts", choices=("answer", "all"))
    n_train: int | None = setting(None, "training sentences", low=100, high=100_000)
    watch: str = setting("", "sentence to watch; empty = the family's own", typed=True)

    def usual(self) -> dict[str, Any]:
        return _USUAL | RECIPES[self.family]


@dataclass(frozen=True)
class Result(BaseResult):
    """Shares answered right of three kinds of sentences, and [layer][head] weight on the answer.

    accuracy_without_direct, accuracy_direct_alone: of held-out sentences with one route closed.
    """

    accuracy_heldout: Number
    accuracy_heldout_structure: Number
    accuracy_unseen_words: Number
    accuracy_without_direct: Number
    accuracy_direct_alone: Number
    attention_on_antecedent: list[list[Number]]
    n_params: int
    steps: int
    train_seconds: Number
    final_loss_nats: float | None


class Prepared(NamedTuple):
    """All that a run needs before its first step."""

    bundle: Bundle
    trainer: Trainer
    watched: Watched
    tests: dict[str, list[Sample]]


def run(
    params: Params,
    folder: Path | None = None,
    control: Control | None = None,
    resume: bool = False,
) -> Iterator[Event]:
    """Train on one family and measure accuracy and the pronoun's row on held-out sentences.

    Ends with Finished, or early with Diverged, Paused or Stopped; leaves the model in `folder`.
    """
    prepared = prepare(params)
    bundle, trainer, watched, tests = prepared
    # Enough for a curve; all of them are measured once, at the end.
    few = tests["heldout"][:N_MEASURED]

    def at_the_end() -> Result:
        # Words that no sentence showed are measured below, so their rows are redrawn first.
        redraw_spare_rows(bundle, params.seed)
        return measure(prepared)

    session = Session(
        bundle, trainer, watched, lambda: _measured_live(bundle, few), at_the_end, verdict
    )
    yield from run_session(NAME, params, session, folder, control, resume)


def prepare(params: Params) -> Prepared:
    """Generate the sentences, draw the model and its optimizer; all from params.seed."""
    assert params.n_train is not None  # filled in by the family's recipe
    corpus = pronoun_corpus(params.family, params.seed, params.n_train)
    tokenizer = WordTokenizer(corpus.words, N_SPARE, corpus.classes)
    config = params.model_config(tokenizer.vocab_size, BLOCK_SIZE)
    model = Transformer(config, torch.Generator().manual_seed(params.seed))
    data = encode_samples(corpus.train, tokenizer, params.loss_on)
    trainer = Trainer(model, data, params.train_config(snapshot_every=3, eval_every=50))
    note = note_of(NAME, params, private=bool(params.watch))
    tests = {
        "heldout": list(corpus.heldout),
        "heldout_structure": list(corpus.heldout_structure),
        "unseen_words": list(corpus.unseen),
    }
    watched = _watched(params.watch or WATCHED[params.family], tokenizer)
    return Prepared(Bundle(model, tokenizer, note), trainer, watched, tests)


def encode_samples(
    samples: Sequence[Sample], tokenizer: WordTokenizer, loss_on: str = "answer"
) -> Dataset:
    """Return the samples as padded ids (N, T) with the answer at each pronoun.

    With loss_on "all" the target of every word is the next one, and that of the pronoun its answer.
    """
    encodings = [tokenizer.encode_words(sample.words) for sample in samples]
    # Padded to the longest of all samples: every batch then has one shape.
    T = max(len(encoding.ids) for encoding in encodings)
    ids = torch.zeros(len(samples), T, dtype=torch.long)  # 0 is PAD
    for row, encoding in zip(ids, encodings, strict=True):
        row[: len(encoding.ids)] = torch.tensor(encoding.ids)
    lengths = torch.tensor([len(encoding.ids) for encoding in encodings])
    read_at = torch.tensor([sample.position for sample in samples])
    meant = torch.tensor([sample.antecedent for sample in samples])
    # The target at the pronoun is not the next word but the word that the pronoun means.
    answers = ids.gather(1, meant[:, None])  # (N, 1)
    if loss_on == "answer":
        return Dataset(ids, answers, lengths, read_at)
    targets = torch.full_like(ids, IGNORED)
    # The next word is the target, except where it is padding.
    targets[:, :-1] = torch.where(ids[:, 1:] == 0, IGNORED, ids[:, 1:])
    return Dataset(ids, targets.scatter(1, read_at[:, None], answers), lengths)


class Measured(NamedTuple):
    """Share of right answers, [layer][head] mean weight on the word meant, mean −log p of it."""

    accuracy: float
    mass: NDArray[np.float64]
    loss_nats: float


@torch.no_grad()
def measure_samples(bundle: Bundle, samples: Sequence[Sample]) -> Measured:
    """Return accuracy, loss and the pronoun row's mean weight on its antecedent, dropout off."""
    model, tokenizer = bundle.model.eval(), bundle.tokenizer
    assert isinstance(tokenizer, WordTokenizer)
    right, loss, mass = 0, 0.0, np.zeros((model.config.n_layer, model.config.n_head))
    meant = torch.tensor([sample.antecedent for sample in samples])
    data = encode_samples(samples, tokenizer)
    # In parts: all patterns of thousands of sentences at once would take too much memory.
    size = 128
    for start, part in zip(range(0, len(samples), size), data.parts(size), strict=True):
        keys = meant[start : start + size]
        out = model(part.ids, lengths=part.lengths, read_at=part.read_at, explicit=True)
        assert out.pattern is not None
        assert part.read_at is not None
        right += int((out.logits[:, 0].argmax(-1) == part.targets[:, 0]).sum())
        loss += float(F.cross_entropy(out.logits[:, 0], part.targets[:, 0], reduction="sum"))
        # Advanced indices with a slice between them put the sentence axis first.
        rows = out.pattern[:, torch.arange(len(keys)), :, part.read_at, keys]  # (B, L, H)
        mass += rows.sum(0).double().numpy()
    return Measured(right / len(samples), mass / len(samples), loss / len(samples))


@torch.no_grad()
def measure_routes(bundle: Bundle, samples: Sequence[Sample]) -> Routes:
    """Return the accuracy with both routes, without the direct look, and by that look alone."""
    assert isinstance(bundle.tokenizer, WordTokenizer)
    meant_at = torch.tensor([sample.antecedent for sample in samples])
    data, size, right = encode_samples(samples, bundle.tokenizer), 128, np.zeros(3)
    for start, part in zip(range(0, len(samples), size), data.parts(size), strict=True):
        assert part.read_at is not None
        words = part.ids.gather(1, meant_at[start : start + size, None])  # (B, 1)
        meant = part.ids == words  # (B, T): a word may occur twice
        meant.scatter_(1, part.read_at[:, None], False)
        intact = bundle.model.eval()(part.ids, lengths=part.lengths, read_at=part.read_at)
        cut = routed_logits(bundle.model, part.ids, part.read_at, meant, part.lengths)
        found = torch.stack([intact.logits[:, 0], *cut]).argmax(dim=-1)  # (3, B)
        right += (found == part.targets[:, 0]).sum(dim=1).numpy()
    intact_share, without, alone = (right / len(samples)).tolist()
    return Routes(intact_share, without, alone, without >= ROUTE_HOLDS, alone >= ROUTE_HOLDS)


def measure(prepared: Prepared) -> Result:
    """Return the result of a finished run."""
    bundle, trainer, _, tests = prepared
    measured = {name: measure_samples(bundle, samples) for name, samples in tests.items()}
    routes = measure_routes(bundle, tests["heldout"])
    return Result(
        accuracy_heldout=measured["heldout"].accuracy,
        accuracy_heldout_structure=measured["heldout_structure"].accuracy,
        accuracy_unseen_words=measured["unseen_words"].accuracy,
        accuracy_without_direct=routes.without_direct,
        accuracy_direct_alone=routes.direct_alone,
        attention_on_antecedent=measured["heldout"].mass.round(4).tolist(),
        **of_training(bundle, trainer),
    )


def verdict(result: Result) -> Verdict:
    """Return what may be said of a result: whether it is right, and by which route."""
    mass = np.array(result.attention_on_antecedent).mean(axis=1)  # (L,)
    # Which layer looks is not fixed beforehand: a model may use the first one and copy.
    layer = int(mass.argmax())
    accuracy = result.accuracy_heldout
    without, alone = result.accuracy_without_direct, result.accuracy_direct_alone
    # Neither right answers nor a large weight show by which route the answer comes: the cuts do.
    routes = Routes(accuracy, without, alone, without >= ROUTE_HOLDS, alone >= ROUTE_HOLDS)
    code = LEARNED[routes.route] if accuracy >= GOOD_ACCURACY else "not_learned"
    values = {
        "accuracy": accuracy,
        "layer": layer + 1,
        "mass": round(float(mass[layer]), 4),
        "without_direct": without,
        "direct_alone": alone,
    }
    return Verdict(code, accuracy >= GOOD_ACCURACY, values)


def _measured_live(bundle: Bundle, samples: Sequence[Sample]) -> dict[str, float]:
    measured = measure_samples(bundle, samples)
    best = float(measured.mass.mean(axis=1).max())
    return {"accuracy_heldout": measured.accuracy, "attention_on_antecedent": best}


def _watched(text: str, tokenizer: WordTokenizer) -> Watched:
    encoding = tokenizer.encode(text)
    if len(encoding.ids) > BLOCK_SIZE:
        over = len(encoding.ids) - BLOCK_SIZE
        tokens = len(encoding.ids)
        raise TextError("text_over_block", tokens=tokens, block_size=BLOCK_SIZE, over=over)
    return Watched(encoding, find_pronoun(encoding))


def find_pronoun(encoding: Encoding) -> int:
    """Return the index of the last pronoun, or of the last token where there is none."""
    found = [i for i, label in enumerate(encoding.labels) if label in PRONOUNS]
    return found[-1] if found else len(encoding.labels) - 1


@torch.no_grad()
def redraw_spare_rows(bundle: Bundle, seed: int) -> None:
    """Draw the rows of unseen words again: training has pushed those of a tied matrix away.

    Source of the push: the softmax's denominator lowers every word that is not the target.
    """
    rows = bundle.model.embedding.weight[bundle.tokenizer.spare_ids.start :]  # type: ignore[union-attr]
    # Another seed than the weights: the same one would draw the same numbers again.
    rng = torch.Generator().manual_seed(seed + 1)
    rows.normal_(0.0, bundle.model.config.embedding_std, generator=rng)
