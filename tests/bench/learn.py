"""CPU seconds until a model has learned, against a plain training script of the usual kind.

The usual script: a DataLoader with batches of 32 drawn at random, one projection each for q, k and
v, AdamW at 1e-3, constant. Both learn the same text or sentences with a model of the same size.
What tests the model between the steps is not counted.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from owi_core.checkpoints import Bundle
from owi_core.corpora import character_text
from owi_core.experiments import language, pronoun
from owi_core.model import Transformer
from owi_core.tokenizer import CharTokenizer
from owi_core.training import Dataset, windows
from tests.bench.peers import Size, UsualGPT

NAME = "learn"
SEEDS = (0, 1, 2)
WINDOW, TARGETS_NATS = 32, (0.36, 0.12)
USUAL_BATCH, USUAL_LR = 32, 1e-3
MOST_TEXT_STEPS, MOST_SWAP_STEPS = 1500, 800
ACCURACY, MASS, N_TESTED = 0.99, 0.9, 200

Reached = dict[str, tuple[int, float]]  # target → steps and seconds
Test = Callable[[], dict[str, bool]]


def run() -> dict[str, Any]:
    """Return CPU seconds and steps until each target, and the ratios of ours to the usual."""
    torch.set_num_threads(1)
    return {
        "text": [_ratios(our_text(seed), usual_text(seed)) for seed in SEEDS],
        "swap": [_ratios(our_swap(seed), usual_swap(seed)) for seed in SEEDS],
    }


def our_text(seed: int) -> Reached:
    """Learn the Chinese text by the quick preset, in windows of 32."""
    params = language.Params(preset="quick", text="zh", window=WINDOW, seed=seed)
    prepared = language.prepare(params)
    model, data = prepared.bundle.model, prepared.trainer.data
    return until(prepared.trainer.steps(), lambda: _below(_loss(model, data)), 2, MOST_TEXT_STEPS)


def usual_text(seed: int) -> Reached:
    """Learn the same text, with a model of the same size, by the usual script."""
    torch.manual_seed(seed)
    text = character_text("zh")
    tokenizer = CharTokenizer.from_text(text)
    data = windows(torch.tensor(tokenizer.encode(text).ids), WINDOW)
    size = Size(vocab_size=tokenizer.vocab_size, T=WINDOW, B=USUAL_BATCH)
    model = UsualGPT(size, separate=True)

    @torch.no_grad()
    def test() -> dict[str, bool]:
        return _below(float(model.eval()(data.ids, data.targets)))

    steps = _usual_steps(model, model, (data.ids, data.targets), seed)
    return until(steps, test, 10, MOST_TEXT_STEPS)


def our_swap(seed: int) -> Reached:
    """Learn the family `swap` by its own recipe."""
    prepared = pronoun.prepare(pronoun.Params(family="swap", seed=seed))
    test = _swap_test(prepared.bundle, prepared)
    return until(prepared.trainer.steps(), test, 5, MOST_SWAP_STEPS)


def usual_swap(seed: int) -> Reached:
    """Learn the same sentences, loss on the answer too, by the usual script and usual scales."""
    usual = pronoun.Params(
        family="swap", seed=seed, embedding_scale=1.0, embedding_std=0.02, init_std=0.02
    )
    prepared = pronoun.prepare(usual)
    model, data = prepared.bundle.model, prepared.trainer.data

    def loss(ids: Tensor, targets: Tensor, lengths: Tensor, read_at: Tensor) -> Tensor:
        logits = model(ids, lengths=lengths, read_at=read_at).logits
        return F.cross_entropy(logits[:, 0], targets[:, 0])

    assert data.lengths is not None
    assert data.read_at is not None
    tensors = (data.ids, data.targets, data.lengths, data.read_at)
    steps = _usual_steps(model, loss, tensors, seed)
    return until(steps, _swap_test(prepared.bundle, prepared), 20, MOST_SWAP_STEPS)


def until(steps: Iterator[Any], test: Test, every: int, most: int) -> Reached:
    """Return when each target was reached; the test's own time is left out.

    The clock is read before and after each step alone.
    """
    reached: Reached = {}
    seconds = 0.0
    for done in range(1, most + 1):
        began = time.process_time()
        if next(steps, None) is None:
            break
        seconds += time.process_time() - began
        if done % every == 0:
            found = test()
            reached |= {
                name: (done, seconds) for name, hit in found.items() if hit and name not in reached
            }
            if all(name in reached for name in found):
                break
    return reached


def _usual_steps(
    model: nn.Module, loss: Callable[..., Tensor], tensors: Sequence[Tensor], seed: int
) -> Iterator[bool]:
    rng = torch.Generator().manual_seed(seed)
    dataset = TensorDataset(*(tensor.contiguous() for tensor in tensors))
    loader = DataLoader(dataset, USUAL_BATCH, shuffle=True, generator=rng)
    optimizer = torch.optim.AdamW(model.parameters(), lr=USUAL_LR)
    while True:
        for batch in loader:
            model.train()
            optimizer.zero_grad()
            loss(*batch).backward()
            optimizer.step()
            yield True


def _below(nats: float) -> dict[str, bool]:
    return {f"{target} nats": nats <= target for target in TARGETS_NATS}


@torch.no_grad()
def _loss(model: Transformer, data: Dataset) -> float:
    """Return the loss over all windows, dropout off."""
    logits = model.eval()(data.ids).logits
    return float(F.cross_entropy(logits.flatten(0, 1), data.targets.flatten()))


def _swap_test(bundle: Bundle, prepared: pronoun.Prepared) -> Test:
    samples = prepared.tests["heldout"][:N_TESTED]

    def test() -> dict[str, bool]:
        measured = pronoun.measure_samples(bundle, samples)
        right = measured.accuracy >= ACCURACY
        mass = float(measured.mass.mean(axis=1).max())
        return {"right": right, "right, by the direct link": right and mass >= MASS}

    return test


def _ratios(ours: Reached, usual: Reached) -> dict[str, Any]:
    both = [target for target in ours if target in usual]
    ratio = {target: ours[target][1] / usual[target][1] for target in both}
    return {"ours": ours, "usual": usual, "ratio": ratio}
