"""One sentence in a model and in an altered copy: heads switched off, or a mistake made in it.

Shapes: L layers, H heads, T tokens.
"""

import dataclasses
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from owi_core.experiments.faults.residual import broken
from owi_core.model import Transformer
from owi_core.probes.ablation import Head, Sharing, how_shared, layer_heads, without_heads
from owi_core.probes.knockout import answer_log_probability
from owi_core.readings import Reading, read


@dataclass(frozen=True, eq=False)
class Altered:
    """A sentence read before and after, and log p in nats of the word that was the answer before.

    after: what the altered copy reads, whose own answer may be another.
    """

    before: Reading
    after: Reading
    log_p_before: float
    log_p_after: float

    @property
    def change_nats(self) -> float:
        """What the alteration did to log p of the first answer; negative = it was needed."""
        return self.log_p_after - self.log_p_before


@dataclass(frozen=True, eq=False)
class HeadEffects:
    """Change of log p(answer) in nats: without each head (L, H), and without a whole layer (L,)."""

    singles: NDArray[np.float64]
    together: NDArray[np.float64]

    @property
    def sharing(self) -> tuple[Sharing, ...]:
        """How the heads of each layer share the answer."""
        return tuple(map(how_shared, self.singles, self.together.tolist()))


def without(reading: Reading, heads: Collection[Head]) -> Altered:
    """Return the sentence with these heads switched off."""
    return _altered(reading, without_heads(reading.bundle.model, heads))


def with_mistake(reading: Reading, fault: str) -> Altered:
    """Return the sentence with one of `wrong_residual.FAULTS` made in the trained model."""
    return _altered(reading, broken(reading.bundle.model, fault))


def head_effects(reading: Reading) -> HeadEffects:
    """Return what each head, and each layer of heads, is worth to the answer of this sentence."""
    model = reading.bundle.model
    # Once: it is the same for every head.
    before = _log_p(reading, model)
    layers = range(model.config.n_layer)

    def change(heads: Collection[Head]) -> float:
        return _log_p(reading, without_heads(model, heads)) - before

    # One forward pass for each head of each layer.
    singles = [[change([head]) for head in layer_heads(model, i)] for i in layers]
    # All heads of a layer at once: redundant heads cost nothing one by one and much together.
    together = [change(layer_heads(model, i)) for i in layers]
    return HeadEffects(np.array(singles), np.array(together))


def _altered(reading: Reading, model: Transformer) -> Altered:
    bundle = dataclasses.replace(reading.bundle, model=model)
    # Read again from the text: the altered copy may answer with another word.
    after = read(bundle, reading.encoding.text, reading.query)
    return Altered(reading, after, _log_p(reading, reading.bundle.model), _log_p(reading, model))


def _log_p(reading: Reading, model: Transformer) -> float:
    ids, query = reading.encoding.ids, reading.query
    return answer_log_probability(model, ids, query, reading.answer_id)
