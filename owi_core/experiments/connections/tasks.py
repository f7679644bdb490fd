"""What the connections lab trains and times: recall over a distance, and a neighbours' rule."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from owi_core import peers
from owi_core.config import TrainConfig
from owi_core.corpora.recall import (
    N_SYMBOLS,
    RECALL_CHANCE,
    RECALL_VOCABULARY,
    distances,
    neighbour_samples,
    neighbour_table,
    recall_pair,
    recall_samples,
    recall_words,
)
from owi_core.experiments._kit.race import Race
from owi_core.experiments._kit.short import short_training
from owi_core.experiments.connections.maps import compare_maps
from owi_core.experiments.connections.settings import (
    LONGEST_TIMED,
    Found,
    Models,
    Params,
    about,
    merge,
)
from owi_core.peers import AnyModel, Peer
from owi_core.probes.timing import sweep
from owi_core.training import Dataset, Trainer

DATA_SIZES, DATA_LENGTH, DATA_STEPS, DATA_BATCH, N_DATA_TEST = (8, 64, 512), 24, 600, 16, 200
DATA_RATE = 4e-3
N_TRAIN, N_MEASURED, N_LIVE, LIVE_EVERY = 8_000, 256, 96, 25
PAIR_LENGTH = 16
TIMED_LENGTHS = (16, 32, 64, 128, LONGEST_TIMED)
CAP_SECONDS, CAP_BYTES = 3.0, 2**28
RECALL_STD = 0.05  # from small weights the Transformer learns to look straight at the noun


def recall_race(params: Params) -> Race:
    """Return all models with the same sentences to learn recall from."""
    rng = torch.Generator().manual_seed(params.seed)
    # Both the training and the questions use these distances.
    asked = distances(params.longest)
    ids, keys = recall_samples(N_TRAIN, params.longest, asked, rng)
    data = Dataset(ids, keys[:, None], read_at=torch.full((N_TRAIN,), params.longest))
    models = params.models(peers.KINDS, params.plan(RECALL_VOCABULARY, RECALL_STD))
    # The same steps, batches and data for all; the rate is each model's own best.
    trainers = {
        kind: Trainer(
            model,
            data,
            short_training(params.steps, params.batch_size, params.rate(kind), params.seed),
        )
        for kind, model in models.items()
    }

    def live() -> dict[str, float]:
        # A new generator each time: every live measurement asks the same sentences.
        held_out = torch.Generator().manual_seed(params.seed + 1)
        sample = recall_samples(N_LIVE, params.longest, (params.longest,), held_out)
        return {f"{kind}.accuracy": recall_accuracy(m, *sample) for kind, m in models.items()}

    return Race("recall", trainers, live, LIVE_EVERY)


@torch.no_grad()
def recall_accuracy(model: AnyModel, ids: Tensor, keys: Tensor) -> float:
    """Return the share of sentences (N, T) whose noun (N,) the model names at the mark."""
    model.eval()
    read_at = torch.full((ids.shape[0],), ids.shape[1] - 1)
    named = model(ids, read_at=read_at).logits[:, 0].argmax(-1)
    return float((named == keys).double().mean())


def recall_result(params: Params, race: Race) -> Found:
    """Return each model's accuracy by distance, and the maps of two sentences when trained."""
    asked = distances(params.longest)
    # Other sentences than the curve showed.
    held_out = torch.Generator().manual_seed(params.seed + 2)
    samples = {d: recall_samples(N_MEASURED, params.longest, (d,), held_out) for d in asked}
    models: Models = {kind: t.model for kind, t in race.trainers.items()}  # type: ignore[misc]
    found = {
        kind: about(model)
        | {
            "accuracy_by_distance": {str(d): recall_accuracy(model, *samples[d]) for d in asked},
            "path_length": {str(d): path_length(model, d) for d in asked},
            "lr": params.rate(kind),
            "train_seconds": round(race.trainers[kind].seconds, 2),
            "final_loss_nats": race.trainers[kind].recent_loss_nats(),
        }
        for kind, model in models.items()
    }
    pair = recall_pair(min(PAIR_LENGTH, params.longest + 1), params.seed)
    names = recall_words()
    words = tuple([names[i] for i in ids.tolist()] for ids in pair)
    result = compare_maps(models, pair, words, "trained")  # type: ignore[arg-type]
    merge(result, {"models": found, "chance": RECALL_CHANCE, "longest": params.longest})
    return result


def path_length(model: AnyModel, distance: int) -> int | None:
    """Return over how many steps or layers a word `distance` before must pass; None = no way.

    A chain hands it on `distance` times, a window ⌈distance / (kernel − 1)⌉ times at most once a
    layer, attention once.
    """
    if not isinstance(model, Peer):
        return 1
    field = model.receptive_field
    if field is None:
        return distance
    # Each layer of a window moves a word at most kernel − 1 positions.
    return math.ceil(distance / (model.config.kernel - 1)) if distance < field else None


def data_race(params: Params, n: int) -> Race:
    """Return all models with the same `n` sentences to learn the neighbours' rule from."""
    # One rule for all sizes of data; only the number of examples differs.
    table = neighbour_table(params.seed)
    ids, answers = neighbour_samples(n, DATA_LENGTH, table, peers.rng_of(params.seed + 3))
    config = TrainConfig(
        steps=DATA_STEPS, batch_size=DATA_BATCH, lr=DATA_RATE, weight_decay=0.01, seed=params.seed
    )
    models = params.models(peers.KINDS, params.plan(N_SYMBOLS))
    data = Dataset(ids, answers)
    trainers = {kind: Trainer(model, data, config) for kind, model in models.items()}
    test = neighbour_samples(N_DATA_TEST, DATA_LENGTH, table, peers.rng_of(params.seed + 4))

    def live() -> dict[str, float]:
        return {f"{kind}.data_accuracy": rule_accuracy(m, *test) for kind, m in models.items()}

    return Race(f"data{n}", trainers, live, DATA_STEPS)


@torch.no_grad()
def rule_accuracy(model: AnyModel, ids: Tensor, answers: Tensor) -> float:
    """Return the share of words (N, T) whose answer is right, where one is asked."""
    model.eval()
    # A negative answer marks a word that is not asked.
    asked = answers >= 0
    return float((peers.logits(model, ids).argmax(-1) == answers)[asked].double().mean())


def data_result(race: Race) -> Found:
    """Return each model's accuracy on new sentences after training on the race's few or many."""
    n = race.name.removeprefix("data")
    # Already the accuracy on new sentences; the race ended with it.
    measured = race.live()
    return {
        "models": {
            kind: {"accuracy_by_data": {n: measured[f"{kind}.data_accuracy"]}}
            for kind in race.trainers
        }
    }


def time_result(params: Params) -> Found:
    """Return each model's CPU seconds of one training step (forward, loss, backward) by length.

    One sentence at a time; the sweep ends by itself at its cap of time or memory, and says where.
    """
    models = params.models(peers.KINDS, params.plan(RECALL_VOCABULARY))
    found = {}
    for kind, model in models.items():
        done = sweep(
            # The default binds the model of this round; a plain closure would see the last one.
            lambda T, model=model: lambda: _training_step(model, T),  # type: ignore[misc]
            TIMED_LENGTHS,
            cap_seconds=CAP_SECONDS,
            cap_bytes=CAP_BYTES,
            bytes_of=lambda T, model=model: _score_bytes(model, T),  # type: ignore[misc]
        )
        seconds = dict(zip(map(str, done.lengths), done.seconds, strict=True))
        found[kind] = about(model) | {
            "step_seconds_by_length": seconds,
            "slope": done.slope,
            "stopped": done.stopped,
            "stopped_at": done.stopped_at,
        }
    return {"models": found}


def _training_step(model: AnyModel, T: int) -> None:
    ids = torch.arange(T)[None] % RECALL_VOCABULARY
    loss = F.cross_entropy(peers.logits(model, ids).flatten(0, 1), ids.flatten())
    loss.backward()  # type: ignore[no-untyped-call]


def _score_bytes(model: AnyModel, T: int) -> int:
    """Return what the T × T scores of all heads and layers would take, were they all kept."""
    if isinstance(model, Peer):
        return 0
    return 4 * T * T * model.config.n_head * model.config.n_layer
