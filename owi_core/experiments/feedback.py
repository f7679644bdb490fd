"""The output fed back as input: what a KV cache saves, what it must not change, when it must not be
used, and what temperature does to a text.

Agreement is measured on the shipped character model.  Time does not depend on what was learned, so
it is measured on a freshly drawn model whose block is long enough.  Repetition is measured on the
shipped model and on one whose training was broken off early.
"""

import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import torch

from owi_core import checkpoints
from owi_core.checkpoints import Bundle
from owi_core.config import ModelConfig, SamplingConfig
from owi_core.corpora import character_text
from owi_core.events import Control, Evaluated, Event, Finished, Number, Started
from owi_core.experiments import language
from owi_core.experiments._kit.ending import early_end
from owi_core.experiments._kit.params import BaseParams, recipe, setting
from owi_core.experiments._kit.results import BaseResult, Value, Verdict
from owi_core.generation import generate
from owi_core.model import Transformer
from owi_core.probes.cache import (
    cached_logits,
    past_moves,
    recomputed_logits,
    relative_difference,
    repeated_share,
)

NAME = "feedback"
MODEL = "language"
TEMPERATURES = (0.1, 0.2, 0.5, 0.8, 1.0, 1.5, 2.0)
TOLERANCE, FASTER = 1e-5, 3.0
FIRST_LENGTH, N_PROMPT = 16, 4
N_SEEDS = 3  # texts written for each temperature
MOVES_NOTHING = 1e-5  # of the largest logit: rounding


@dataclass(frozen=True)
class Params(BaseParams):
    """What may be set of the measurement; the timed model is drawn with these sizes."""

    longest: int = setting(256, "tokens written by the timed model", low=16, high=1024)
    rounds: int = setting(3, "times that each way is timed, in turn", low=1, high=9)
    d_model: int = setting(128, "width of the timed model", low=8, high=256)
    n_layer: int = setting(3, "layers of the timed model", low=1, high=6)
    n_written: int = setting(80, "characters written at each temperature", low=8, high=400)
    steps: int = setting(20, "training steps of the unfinished model", low=0, high=200)


@dataclass(frozen=True)
class TimedModel:
    """The sizes of the timed model, which is freshly drawn (trained is False)."""

    trained: bool
    n_layer: int
    d_model: int
    block_size: int
    n_params: int


@dataclass(frozen=True)
class Timing(BaseResult):
    """Medians over rounds in CPU seconds by length, and what a cache of this model holds."""

    lengths: list[int]
    seconds_full: list[Number]
    seconds_kv_cache: list[Number]
    speedup: list[Number]
    timed_model: TimedModel
    cache_floats_per_token: int
    rnn_floats: int


@dataclass(frozen=True)
class Agreed(BaseResult):
    """How far logits with and without the cache are apart, as shares of the largest logit.

    past_block_diff: by position, from the first past the block on.  past_moves_…: how far earlier
    positions move when a token is appended, with and without the causal mask.
    """

    kv_cache_max_diff: Number
    kv_cache_max_diff_shipped: Number
    kv_cache_max_diff_timed: Number
    block_size: int
    past_block_diff: list[Number]
    past_block_max_diff: Number
    same_text: bool
    past_moves_masked: Number
    past_moves_unmasked: Number


@dataclass(frozen=True)
class Repetition(BaseResult):
    """By temperature: which share of a text repeats itself, and one text.

    recited: temperatures at which the shipped model writes its training text.
    """

    repeated_share: dict[str, Number]
    repeated_share_shipped: dict[str, Number]
    samples: dict[str, str]
    samples_shipped: dict[str, str]
    recited: list[str]
    steps_unfinished: int


@dataclass(frozen=True)
class Result(Timing, Agreed, Repetition):
    """All that a run finds; on a page as one object, in JSON as one level of keys."""


class Times(NamedTuple):
    """CPU seconds from the beginning until each of the lengths was written."""

    full: list[float]
    cached: list[float]


def run(
    params: Params,
    folder: Path | None = None,
    control: Control | None = None,
    resume: bool = False,
) -> Iterator[Event]:
    """Time both ways in turn, compare their logits and texts, write at each temperature.

    The unfinished model is left in `folder`.  A resumed run starts over.
    """
    control = control or Control()
    model = timed_model(params)
    values = asdict(params)
    yield Started(NAME, values, recipe(NAME, params), params.rounds, model.n_params)
    rounds: list[Times] = []
    for number in range(1, params.rounds + 1):
        # A request is looked at between rounds only: an unfinished measurement is worthless.
        rounds.append(time_both(model, params))
        yield Evaluated(number, _live(rounds, params))
        if control.request != "run":
            yield early_end(number, folder, control)
            return
    # Trained after the timing, so that it cannot disturb it.
    unfinished = train_unfinished(params)
    if folder is not None:
        checkpoints.save(unfinished, folder)
    result = Result(
        **vars(timing(rounds, model, params)),
        **vars(agreement(model, params)),
        **vars(repetition(checkpoints.shipped(MODEL), unfinished, params)),
    )
    yield Finished(NAME, values, result.to_dict(), verdict(result).to_dict())


def lengths(longest: int) -> list[int]:
    """Return 16, 32, 64 … and the longest."""
    # Ten doublings reach 16 · 2⁹ = 8192, more than `longest` may be.
    doubled = [n for n in (FIRST_LENGTH * 2**i for i in range(10)) if n < longest]
    return [*doubled, longest]


def timed_model(params: Params) -> Transformer:
    """Draw a model in whose block the longest text has room."""
    config = ModelConfig(
        vocab_size=checkpoints.shipped(MODEL).tokenizer.vocab_size,
        n_layer=params.n_layer,
        d_model=params.d_model,
        d_mlp=2 * params.d_model,
        # No position is dropped, so that both ways compute the same.
        block_size=params.longest + N_PROMPT,
    )
    return Transformer(config, torch.Generator().manual_seed(params.seed)).eval()


def time_both(model: Transformer, params: Params) -> Times:
    """Write the longest text both ways, one after the other."""
    # In turn within one round: a machine that slows down meanwhile slows both ways.
    return Times(*(_seconds(model, params, cache=cache) for cache in (False, True)))


def _seconds(model: Transformer, params: Params, *, cache: bool) -> list[float]:
    wanted, seconds = set(lengths(params.longest)), []
    config = SamplingConfig(max_new_tokens=params.longest, seed=params.seed)
    # CPU time: other processes on the machine do not count.
    start = time.process_time()
    for written, _ in enumerate(generate(model, range(N_PROMPT), config, cache=cache), 1):
        if written in wanted:
            seconds.append(time.process_time() - start)
    return seconds


def _live(rounds: Sequence[Times], params: Params) -> dict[str, float]:
    medians = _medians(rounds)
    return {
        f"{name}.{length}": seconds
        for name, series in medians._asdict().items()
        for length, seconds in zip(lengths(params.longest), series, strict=True)
    }


def _medians(rounds: Sequence[Times]) -> Times:
    both = ([r.full for r in rounds], [r.cached for r in rounds])
    return Times(*([statistics.median(at) for at in zip(*way, strict=True)] for way in both))


def timing(rounds: Sequence[Times], model: Transformer, params: Params) -> Timing:
    """Return the medians over rounds in CPU seconds, and what a cache of this model holds."""
    # Medians: one round in which the machine was busy must not move a point.
    full, cached = _medians(rounds)
    c = model.config
    return Timing(
        lengths=lengths(params.longest),
        seconds_full=[round(s, 5) for s in full],
        seconds_kv_cache=[round(s, 5) for s in cached],
        speedup=[round(a / b, 2) for a, b in zip(full, cached, strict=True)],
        timed_model=TimedModel(False, c.n_layer, c.d_model, c.block_size, model.n_params),
        cache_floats_per_token=2 * c.n_layer * c.d_model,  # a key and a value in each layer
        rnn_floats=c.n_layer * c.d_model,
    )


def agreement(timed: Transformer, params: Params) -> Agreed:
    """Return how far the two ways lie apart: within the block, past it, and without a mask."""
    bundle = checkpoints.shipped(MODEL)
    model, block = bundle.model, bundle.model.config.block_size
    # Twice the block: in the second half a cache is past what the model was trained for.
    ids = bundle.tokenizer.encode(character_text("zh")).ids[: 2 * block]
    reference = recomputed_logits(model, ids)
    apart = relative_difference(cached_logits(model, ids), reference)
    rng = torch.Generator().manual_seed(params.seed)
    # Any text will do for the drawn model: it has learned nothing.
    drawn = torch.randint(timed.config.vocab_size, (timed.config.block_size,), generator=rng)
    fresh = relative_difference(
        cached_logits(timed, drawn.tolist()), recomputed_logits(timed, drawn.tolist())
    )
    within = float(apart[:block].max()), float(fresh.max())
    return Agreed(
        kv_cache_max_diff=max(within),
        kv_cache_max_diff_shipped=within[0],
        kv_cache_max_diff_timed=within[1],
        block_size=block,
        past_block_diff=[float(f"{value:.4g}") for value in apart[block:].tolist()],
        past_block_max_diff=float(apart[block:].max()),
        same_text=same_text(bundle, params),
        past_moves_masked=past_moves(model, ids[: block // 2], masked=True),
        past_moves_unmasked=past_moves(model, ids[: block // 2], masked=False),
    )


def same_text(bundle: Bundle, params: Params) -> bool:
    """Return whether both ways write the same, past the block too, at every temperature."""
    prompt = bundle.tokenizer.encode(character_text("zh")).ids[:N_PROMPT]
    # A few tokens past the block, where a cache that is not rebuilt would go wrong.
    n = bundle.model.config.block_size + 8
    for temperature in TEMPERATURES:
        config = SamplingConfig(temperature=temperature, max_new_tokens=n, seed=params.seed)
        texts = [
            [d.id for d in generate(bundle.model, prompt, config, cache=cache)]
            for cache in (False, True)
        ]
        # Equal logits to 1e-5 may still draw another token at a border; the texts decide.
        if texts[0] != texts[1]:
            return False
    return True


def train_unfinished(params: Params) -> Bundle:
    """Train the character model for so few steps that it knows letters and hardly a sentence."""
    prepared = language.prepare(
        language.Params(seed=params.seed, steps=params.steps, window=32, d_model=params.d_model)
    )
    for _ in prepared.trainer.steps():
        pass
    return Bundle(prepared.bundle.model.eval(), prepared.bundle.tokenizer, prepared.bundle.note)


def repetition(shipped: Bundle, unfinished: Bundle, params: Params) -> Repetition:
    """Return by temperature how much of a text repeats itself, and one text of each."""
    first = [_written(unfinished, t, params) for t in TEMPERATURES]
    second = [_written(shipped, t, params) for t in TEMPERATURES]
    names, text = [str(t) for t in TEMPERATURES], character_text("zh")
    return Repetition(
        repeated_share=dict(zip(names, [w.repeated for w in first], strict=True)),
        repeated_share_shipped=dict(zip(names, [w.repeated for w in second], strict=True)),
        samples=dict(zip(names, [w.text for w in first], strict=True)),
        samples_shipped=dict(zip(names, [w.text for w in second], strict=True)),
        recited=[name for name, w in zip(names, second, strict=True) if w.text in text],
        steps_unfinished=params.steps,
    )


class Written(NamedTuple):
    """One of the texts of a temperature, and the mean over all of how much repeats."""

    text: str
    repeated: float


def _written(bundle: Bundle, temperature: float, params: Params) -> Written:
    prompt = bundle.tokenizer.encode(character_text("zh")).ids[:N_PROMPT]
    texts = []
    for seed in range(params.seed, params.seed + N_SEEDS):
        config = SamplingConfig(
            # Seeds of a run that starts at the largest seed wrap around.
            temperature=temperature,
            max_new_tokens=params.n_written,
            seed=seed % 2**31,
        )
        texts.append([d.id for d in generate(bundle.model, prompt, config, cache=True)])
    repeated = statistics.mean(repeated_share(text) for text in texts)
    return Written(bundle.tokenizer.decode([*prompt, *texts[0]]), round(repeated, 4))


def verdict(result: Result) -> Verdict:
    """Say whether the cache changes nothing within the block, and whether it pays."""
    agrees = result.kv_cache_max_diff <= TOLERANCE and result.same_text
    speedup = result.speedup[-1]
    if not agrees:
        code = "differs"
    else:
        code = "agrees_and_faster" if speedup >= FASTER else "agrees_hardly_faster"
    values: dict[str, Value] = {
        "difference": result.kv_cache_max_diff,
        "speedup": speedup,
        "length": result.lengths[-1],
        "past": result.past_block_max_diff,
        "block": result.block_size,
    }
    return Verdict(code, code == "agrees_and_faster", values)
