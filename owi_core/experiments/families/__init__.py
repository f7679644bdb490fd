"""Three families learn the same sentences: one looks both ways, one back, one reads and writes.

A masked encoder (BERT), a causal decoder (GPT) and an encoder–decoder (T5) sit the same exams.
A fourth model, a masked encoder without the 80/10/10 mix, shows what the mix is for.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor

from owi_core.corpora.naming import (
    AT_END,
    AT_PRONOUN,
    Naming,
    known_around,
    known_before,
    namings,
    opposite,
)
from owi_core.encoder_decoder import EncoderDecoder
from owi_core.events import Control, Event, Finished, Started
from owi_core.experiments._kit.params import recipe
from owi_core.experiments._kit.race import Race, load_races, run_races
from owi_core.experiments.families.exams import (
    BOS,
    CAUSAL,
    FAMILIES,
    MASKED,
    PAD,
    Model,
    Place,
    answers,
    asked,
    lessons,
    share_right,
    token_ids,
    tokenizer,
)
from owi_core.experiments.families.results import (
    Bound,
    Corruption,
    Guess,
    Look,
    Result,
    Scores,
    verdict,
)
from owi_core.experiments.families.settings import Params
from owi_core.training import Trainer

NAME = "families"
MASK_ONLY = "mask_only"
N_HELDOUT, N_LIVE, LIVE_EVERY = 400, 60, 50
__all__ = ["NAME", "Params", "Result", "run", "verdict"]


@dataclass(frozen=True)
class Prepared:
    """A run before its first step: models and trainers by name, and the places of each exam."""

    models: dict[str, Model]
    trainers: dict[str, Trainer]
    heldout: tuple[Naming, ...]
    exams: dict[str, list[Place]]


def run(
    params: Params,
    folder: Path | None = None,
    control: Control | None = None,
    resume: bool = False,
) -> Iterator[Event]:
    """Train all models in lock step, and let all of them sit all exams."""
    prepared = prepare(params)
    race = Race(NAME, prepared.trainers, lambda: live(prepared), LIVE_EVERY)
    if resume and folder is not None:
        load_races([race], folder)
    n_params = prepared.models[MASKED].n_params
    yield Started(NAME, asdict(params), recipe(NAME, params), race.steps, n_params)
    yield from run_races([race], folder, control or Control())
    if race.finished:
        result = measure(params, prepared)
        yield Finished(NAME, asdict(params), result.to_dict(), verdict(result).to_dict())


def prepare(params: Params) -> Prepared:
    """Draw sentences, models and the places of the exams; all from params.seed."""
    ids = token_ids([s.words for s in namings(params.seed, params.n_train, heldout=False)])
    models, trainers = {}, {}
    for name in (*FAMILIES, MASK_ONLY):
        family = MASKED if name == MASK_ONLY else name
        models[name] = params.model(family, tokenizer().vocab_size)
        data = lessons(family, ids, mixed=name != MASK_ONLY, seed=params.seed)
        trainers[name] = Trainer(models[name], data, params.train_config())
    heldout = namings(params.seed, N_HELDOUT, heldout=True)
    return Prepared(models, trainers, heldout, exam_places(heldout, params.seed))


def exam_places(sentences: Sequence[Naming], seed: int) -> dict[str, list[Place]]:
    """Return the places that are asked for: one of each sentence, and the pronoun's two."""
    rng = random.Random(f"families {seed}")
    # With both adjectives: a model that cannot read it is right in at most one half.
    both = [each for s in sentences for each in (s, opposite(s))]
    return {
        # Not the first word: nothing comes before it.
        "next_word": [Place(s, rng.randrange(1, len(s.words))) for s in sentences],
        # In the middle, so that there is something on both sides.
        "gap": [Place(s, rng.randrange(1, len(s.words) - 1)) for s in sentences],
        "at_pronoun": [Place(s, s.named) for s in both if s.read == AT_PRONOUN],
        "at_end": [Place(s, s.named) for s in both if s.read == AT_END],
    }


def live(prepared: Prepared) -> dict[str, float]:
    """Return what is measured while the models train, on some held-out sentences."""
    found = {}
    for exam in ("at_pronoun", "at_end"):
        places = prepared.exams[exam][:N_LIVE]
        for name in FAMILIES:
            found[f"{name}.{exam}"] = _score(prepared, name, places, exam)
    return found | {"accuracy_heldout": found[f"{CAUSAL}.at_end"]}


def measure(params: Params, prepared: Prepared) -> Result:
    """Return the table of the exams, its bounds, what the mix is for, and one sentence's looks."""
    one = next(s for s in prepared.heldout if s.read == AT_PRONOUN)
    late = said_late(one)
    return Result(
        models={name: _scores(prepared, name) for name in FAMILIES},
        bounds={exam: bound(places) for exam, places in prepared.exams.items()},
        corruption={
            "mixed": corruption(prepared.models[MASKED], prepared.heldout),
            MASK_ONLY: corruption(prepared.models[MASK_ONLY], prepared.heldout),
        },
        looks={
            sentence.read: {
                name: look(name, prepared.models[name], Place(sentence, sentence.named))
                for name in FAMILIES
            }
            for sentence in (one, late)
        },
        steps=params.steps,
    )


def said_late(sentence: Naming) -> Naming:
    """Return the sentence with its bracket at the end."""
    n = sentence.named
    bracket = sentence.words[n - 1 : n + 2]
    words = (*sentence.words[: n - 1], *sentence.words[n + 2 :], *bracket)
    return Naming(words, len(words) - 2, AT_END, sentence.heldout)


def bound(places: Sequence[Place]) -> Bound:
    """Return what the grammar leaves open at these places."""
    before, around = known_before(places), known_around(places)
    return Bound(*(round(value, 4) for value in (*before, *around)))


@torch.no_grad()
def corruption(model: Model, sentences: Sequence[Naming]) -> Corruption:
    """Return what a masked model says of words that it can read: right ones, and a wrong one."""
    model.eval()
    ids = token_ids([sentence.words for sentence in sentences])
    words = ids > BOS  # (N, T)
    repeated = _outputs(model, ids) == ids
    # The other noun, which the adjective contradicts, in the same place.
    swapped = [
        (*s.words[: s.named], _meant(opposite(s)), *s.words[s.named + 1 :]) for s in sentences
    ]
    rows, at = torch.arange(len(sentences)), torch.tensor([s.named + 1 for s in sentences])
    said = _outputs(model, token_ids(swapped))[rows, at]
    return Corruption(
        repeats=round(float(repeated[words].double().mean()), 4),
        corrects=round(float((said == ids[rows, at]).double().mean()), 4),
    )


@torch.no_grad()
def look(family: str, model: Model, place: Place) -> Look:
    """Return how a family looks at the sentence when it is asked for one word, and what it says."""
    p = answers(family, model, [place], after=True)[0].double().softmax(-1)  # (V,)
    top = p.topk(2)
    guesses = [
        Guess(tokenizer().label(i), round(value, 4))
        for i, value in zip(top.indices.tolist(), top.values.tolist(), strict=True)
    ]
    words = place.sentence.words if family == CAUSAL else asked(place, after=True)
    ids = token_ids([words])
    if isinstance(model, EncoderDecoder):
        pattern, row = model.encode(ids, explicit=True)[2][-1].pattern, None
    else:
        pattern = model(ids, explicit=True).attended[-1].pattern
        row = place.at if family == CAUSAL else place.at + 1
    assert pattern is not None
    mean = pattern[0].mean(0).double().numpy().round(4).tolist()  # (T, T)
    return Look([tokenizer().label(BOS), *words], mean, row, guesses)


def _scores(prepared: Prepared, name: str) -> Scores:
    found = {
        f"{exam}_accuracy": round(_score(prepared, name, places, exam), 4)
        for exam, places in prepared.exams.items()
    }
    trainer = prepared.trainers[name]
    return Scores(
        **found,
        n_params=prepared.models[name].n_params,
        train_seconds=round(trainer.seconds, 2),
        final_loss_nats=round(trainer.recent_loss_nats() or 0.0, 4),
    )


def _score(prepared: Prepared, name: str, places: Sequence[Place], exam: str) -> float:
    logits = answers(name, prepared.models[name], places, after=exam != "next_word")
    return share_right(logits, places)


def _outputs(model: Model, ids: Tensor) -> Tensor:
    lengths = (ids != PAD).sum(1)
    found: Tensor = model(ids, lengths=lengths).logits.argmax(-1)  # (N, T)
    return found


def _meant(sentence: Naming) -> str:
    return sentence.words[sentence.named]
