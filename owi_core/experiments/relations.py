"""A model learns three relations in one sentence; each head is knocked out to see what it carries.

Shapes: R = 3 relations, H heads; with a second layer its heads are counted on.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from owi_core.checkpoints import Bundle
from owi_core.corpora.relations import RELATIONS, RelationSample, relation_samples
from owi_core.corpora.words import word_list
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
from owi_core.probes.ablation import without_heads
from owi_core.tokenizer import WordTokenizer
from owi_core.training import IGNORED, Dataset, Trainer

NAME = "relations"
BLOCK_SIZE, N_SPARE = 32, 4
N_HELDOUT, N_MEASURED = 300, 100
GOOD_ACCURACY = 0.98
# A head is needed for a relation when its loss costs this much; it carries it alone when no other
# head costs a quarter of that.
NEEDED_NATS, ALONE = 0.5, 0.25
Carried = Literal["alone", "shared", "spare"]

_USUAL: dict[str, Any] = {
    "n_layer": 1, "norm": "pre", "dropout": 0.0, "activation": "gelu", "init_std": 0.05,
    "schedule": "linear", "warmup_steps": 10, "weight_decay": 0.0, "optimizer": "adamw", "lr": 4e-3,
    "steps": 240, "batch_size": 64, "n_train": 8000,
}  # fmt: skip


@dataclass(frozen=True)
class Params(TransformerParams):
    """What may be set; a value left out is the recipe's own."""

    n_layer: int | None = setting(None, "layers", low=1, high=2)
    d_model: int = setting(64, "width of the residual stream", low=8, high=256)
    d_mlp: int = setting(64, "width of the perceptron", low=8, high=1024)
    n_train: int | None = setting(None, "training sentences", low=100, high=100_000)

    def usual(self) -> dict[str, Any]:
        root = math.sqrt(self.d_model)
        return _USUAL | {"embedding_scale": root, "embedding_std": 1 / root}


@dataclass(frozen=True)
class Result(BaseResult):
    """Accuracy by relation, and [relation][head]: change of log p without the head, and its look.

    carried: of each relation, how the heads share it.
    """

    accuracy: dict[str, Number]
    knock_out_nats: list[list[Number]]
    accuracy_without: list[list[Number]]
    weight_on_meant: list[list[Number]]
    carried: list[Carried]
    n_params: int
    steps: int
    train_seconds: Number
    final_loss_nats: float | None


class Measured(NamedTuple):
    """Of each relation: share answered right (R,) and mean log p of the answer (R,), in nats."""

    accuracy: NDArray[np.float64]
    log_p: NDArray[np.float64]


def run(
    params: Params,
    folder: Path | None = None,
    control: Control | None = None,
    resume: bool = False,
) -> Iterator[Event]:
    """Train, then take each head out in turn and measure every relation without it."""
    bundle, trainer, watched = prepare(params)
    heldout = relation_samples(params.seed, N_HELDOUT, heldout=True)

    def live() -> dict[str, float]:
        accuracy = measure(bundle, heldout[:N_MEASURED]).accuracy
        named = dict(zip(RELATIONS, accuracy.tolist(), strict=True))
        return {f"accuracy_{name}": value for name, value in named.items()} | {
            "accuracy_heldout": float(accuracy.mean())
        }

    def at_the_end() -> Result:
        return Result(**knock_out_table(bundle, heldout), **of_training(bundle, trainer))

    session = Session(bundle, trainer, watched, live, at_the_end, verdict)
    yield from run_session(NAME, params, session, folder, control, resume)


def prepare(params: Params) -> tuple[Bundle, Trainer, Watched]:
    """Generate the sentences, draw the model and its optimizer; all from params.seed."""
    assert params.n_train is not None  # filled in by the recipe
    lists = word_list()
    tokenizer = WordTokenizer(lists.words, N_SPARE, lists.classes)
    samples = relation_samples(params.seed, params.n_train, heldout=False)
    rng = torch.Generator().manual_seed(params.seed)
    model = Transformer(params.model_config(tokenizer.vocab_size, BLOCK_SIZE), rng)
    trainer = Trainer(
        model, encode(samples, tokenizer), params.train_config(snapshot_every=10, eval_every=50)
    )
    note = note_of(NAME, params, private=False)
    first = relation_samples(params.seed, 1, heldout=True)[0]
    watched = Watched(tokenizer.encode_words(first.words), first.asked[0])
    return Bundle(model, tokenizer, note), trainer, watched


def encode(samples: Sequence[RelationSample], tokenizer: WordTokenizer) -> Dataset:
    """Return the samples as padded ids (N, T), with an answer at each of the three tokens asked."""
    encodings = [tokenizer.encode_words(sample.words) for sample in samples]
    T = max(len(encoding.ids) for encoding in encodings)
    ids = torch.zeros(len(samples), T, dtype=torch.long)  # 0 is PAD
    for row, encoding in zip(ids, encodings, strict=True):
        row[: len(encoding.ids)] = torch.tensor(encoding.ids)
    asked = torch.tensor([sample.asked for sample in samples])  # (N, R)
    answers = ids.gather(1, torch.tensor([sample.meant for sample in samples]))
    targets = torch.full_like(ids, IGNORED).scatter(1, asked, answers)
    return Dataset(ids, targets, torch.tensor([len(encoding.ids) for encoding in encodings]))


@torch.no_grad()
def measure(bundle: Bundle, samples: Sequence[RelationSample]) -> Measured:
    """Return how each relation is answered, dropout off."""
    assert isinstance(bundle.tokenizer, WordTokenizer)
    data = encode(samples, bundle.tokenizer)
    logits = bundle.model.eval()(data.ids, lengths=data.lengths).logits  # (N, T, V)
    asked = torch.tensor([sample.asked for sample in samples])  # (N, R)
    # (N, 1) beside (N, R): three positions are read from each sentence.
    rows = torch.arange(len(samples))[:, None]
    log_p = logits[rows, asked].log_softmax(dim=-1)  # (N, R, V)
    answers = data.targets.gather(1, asked)
    right = (log_p.argmax(-1) == answers).double().mean(0)
    log_p_meant = log_p.gather(2, answers[..., None])[..., 0].double().mean(0)
    return Measured(right.numpy(), log_p_meant.numpy())


@torch.no_grad()
def looks(bundle: Bundle, samples: Sequence[RelationSample]) -> NDArray[np.float64]:
    """Return the mean weight on the word meant, (R, H): what a head looks at, not what it does."""
    assert isinstance(bundle.tokenizer, WordTokenizer)
    data = encode(samples, bundle.tokenizer)
    pattern = bundle.model.eval()(data.ids, lengths=data.lengths, explicit=True).pattern
    assert pattern is not None
    asked, meant = (torch.tensor([getattr(s, n) for s in samples]) for n in ("asked", "meant"))
    rows = torch.arange(len(samples))[:, None]
    seen = pattern[:, rows, :, asked, meant].double().mean(0)  # (R, L, H)
    weights: NDArray[np.float64] = seen.flatten(1).numpy()
    return weights


def without_head(bundle: Bundle, head: int) -> Bundle:
    """Return a copy of the model in which a head writes nothing into the residual stream."""
    # Heads are counted through all layers: number 5 of 4 heads a layer is (1, 1).
    cut = without_heads(bundle.model, [divmod(head, bundle.model.config.n_head)])
    return Bundle(cut, bundle.tokenizer, bundle.note)


def knock_out_table(bundle: Bundle, samples: Sequence[RelationSample]) -> dict[str, Any]:
    """Return the fields of Result that heads are knocked out for."""
    whole = measure(bundle, samples)
    n_heads = bundle.model.config.n_layer * bundle.model.config.n_head
    # A knocked-out head shows what it does; its weights (`looks`) only where it looks.
    cut = [measure(without_head(bundle, h), samples) for h in range(n_heads)]
    # Negative = needed: log p of the answer falls without the head.
    changes = np.stack([c.log_p - whole.log_p for c in cut], axis=1)  # (R, H)
    return {
        "accuracy": dict(zip(RELATIONS, whole.accuracy.round(4).tolist(), strict=True)),
        "knock_out_nats": changes.round(3).tolist(),
        "accuracy_without": np.stack([c.accuracy for c in cut], axis=1).round(4).tolist(),
        "weight_on_meant": looks(bundle, samples).round(3).tolist(),
        "carried": [carried(row) for row in changes],
    }


def carried(changes: NDArray[np.float64]) -> Carried:
    """Say how heads (H,) share a relation, by what taking each of them out did to log p."""
    costs = np.sort(-changes)[::-1]
    if costs[0] < NEEDED_NATS:
        return "spare"
    return "alone" if len(costs) == 1 or costs[1] < ALONE * costs[0] else "shared"


def verdict(result: Result) -> Verdict:
    """Say whether all relations were learned, and whether heads divided them among themselves."""
    worst = min(result.accuracy.values())
    # "Divided" asks for different heads as well as for one head each.
    heads = [int(np.argmin(row)) for row in result.knock_out_nats]
    alone = all(how == "alone" for how in result.carried)
    if worst < GOOD_ACCURACY:
        code = "not_all_learned"
    elif len(result.knock_out_nats[0]) == 1:
        code = "one_head_for_all"
    else:
        code = "divided" if alone and len(set(heads)) == len(heads) else "overlapping"
    return Verdict(code, worst >= GOOD_ACCURACY, {"accuracy": worst})
