"""What a model of 1 or 2 layers and 1 to 8 heads can learn of a task in which the clue comes later.

The `fit` family of the pronoun corpus: the adjective after the pronoun decides what it means.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any

from owi_core.corpora import pronoun_corpus
from owi_core.events import Control, Diverged, Event, Number, StepDone
from owi_core.experiments import pronoun
from owi_core.experiments._kit.results import Verdict
from owi_core.experiments.cost.recall import Settings, of_all
from owi_core.experiments.cost.unit import Interrupted, Measure, Unit, look_up
from owi_core.experiments.cost.unit import Result as PartResult
from owi_core.tokenizer import WordTokenizer

LAYERS, HEADS = (1, 2), (1, 2, 4, 8)
GRID = tuple((layers, heads) for layers in LAYERS for heads in HEADS)
FAMILY, N_TRAIN = "fit", 8000
LEARNED, GUESSED = 0.95, 0.65  # two nouns are offered: who guesses is right half the time
USUAL = {
    "length": 16,
    "window": 6,
    "d_model": 128,
    "n_head": 4,
    "steps": 300,
    "batch_size": 64,
    "lr": 3e-3,
}


@dataclass(frozen=True)
class Size:
    """What a model of one size has learned; attention_by_layer: mean weight on the word meant."""

    accuracy_heldout: Number
    loss_heldout_nats: Number
    attention_by_layer: list[Number]
    n_params: int


@dataclass(frozen=True)
class Result(PartResult):
    """Every size by its name, as `name_of` gives it."""

    sizes: dict[str, Size]
    family: str
    steps: int


def units(params: Settings) -> list[Unit]:
    """Return one training for each number of layers and heads."""
    return [Unit(name_of(*size), _measure(place, params)) for place, size in enumerate(GRID)]


def name_of(layers: int, heads: int) -> str:
    """Return how a size is called in results."""
    return f"{layers}x{heads}"


def metrics(done: Mapping[str, Any]) -> dict[str, float]:
    """Return the share of held-out sentences that each size trained so far answers right."""
    return {name: part["accuracy_heldout"] for name, part in done.items()}


def result(params: Settings, done: Mapping[str, Any]) -> Result:
    """Return every size's numbers: accuracy, held-out loss, weight on the word meant."""
    return Result.from_dict({"sizes": done, "family": FAMILY, "steps": params.steps})


def verdict(result: Result) -> Verdict:
    """Say which of the two, depth or heads, the task asks for; by the accuracies alone."""
    accuracy = {name: size.accuracy_heldout for name, size in result.sizes.items()}
    # By number of layers, each list over the numbers of heads.
    one, two = ([accuracy[name_of(layers, heads)] for heads in HEADS] for layers in LAYERS)
    if max(two) < LEARNED:
        code = "depth_not_learned"
    elif max(one) >= LEARNED:
        code = "depth_not_needed"
    # One layer does no better than a guess between two nouns.
    elif max(one) <= GUESSED:
        code = "depth_and_one_head" if two[0] >= LEARNED else "depth_and_heads"
    else:
        code = "depth_helps"
    # The smallest number of heads with which two layers learn the task.
    least = next((h for h, a in zip(HEADS, two, strict=True) if a >= LEARNED), None)
    values = {"one_layer": max(one), "two_layers": max(two), "least_heads": least or HEADS[-1]}
    return Verdict(code, code in ("depth_and_one_head", "depth_and_heads"), values)


def vocab_size() -> int:
    """Return how many tokens the sentences of the depth experiment are made of."""
    # The words are those of the family, however few sentences are drawn.
    corpus = pronoun_corpus(FAMILY, 0, 1, 1)
    return WordTokenizer(corpus.words, pronoun.N_SPARE, corpus.classes).vocab_size


def _measure(place: int, params: Settings) -> Measure:
    layers, heads = GRID[place]

    def measure(control: Control) -> Generator[Event, None, dict[str, Any]]:
        prepared = pronoun.prepare(
            pronoun.Params(
                family=FAMILY,
                mask="bidirectional",
                seed=params.seed,
                steps=params.steps,
                # A short trial run has fewer steps than the usual warm-up.
                warmup_steps=min(20, params.steps),
                batch_size=params.batch_size,
                lr=params.lr,
                n_layer=layers,
                n_head=heads,
                d_model=params.d_model,
                n_train=N_TRAIN,
            )
        )
        for event in prepared.trainer.steps(control):
            # A diverged training ends the whole run: a grid with a hole answers no question.
            if isinstance(event, Diverged):
                raise Interrupted(event)
            if isinstance(event, StepDone):
                yield of_all(event, place, len(GRID))
        look_up(control)
        # All held-out sentences: the verdict compares accuracies.
        measured = pronoun.measure_samples(prepared.bundle, prepared.tests["heldout"])
        return {
            "accuracy_heldout": measured.accuracy,
            "loss_heldout_nats": measured.loss_nats,
            "attention_by_layer": measured.mass.mean(axis=1).round(4).tolist(),
            "n_params": prepared.bundle.model.n_params,
        }

    return measure
