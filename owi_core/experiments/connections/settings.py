"""What may be set of the connections lab, and what its parts share."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from owi_core import peers
from owi_core.experiments._kit.params import BaseParams, setting
from owi_core.peers import AnyModel, Peer, Plan

PARTS = ("maps", "recall", "data", "time", "all")
MAX_WORDS = 32
LONGEST_TIMED = 256
A, B = "小明把苹果放在桌子上，小红拿走了它", "小红把书包放在椅子下，小明带走了它"
# Proper names, the same in every language; a page may say more.
NAMES = {
    "rnn": "RNN",
    "lstm": "LSTM",
    "gru": "GRU",
    "cnn": "CNN",
    "transformer": "Transformer",
    "bidirectional": "Transformer ↔",
}
# One rate for all would compare how well the models suit that rate: at 4e-3 the LSTM recalls
# 0.71 over 48 words, at its own 1.00.  So each has the best of the same five, by the search of
# `python -m tests.bench rates` with seeds that no figure uses.
RATES_TRIED = (1e-3, 2e-3, 4e-3, 1e-2, 2e-2)
BEST_RATES = {
    "rnn": 4e-3,
    "lstm": 2e-2,
    "gru": 2e-2,
    "cnn": 2e-2,
    "transformer": 2e-2,
    "bidirectional": 2e-2,
}
Models = dict[str, AnyModel]
Found = dict[str, Any]  # what a part has measured, as JSON: parts are merged, then typed


@dataclass(frozen=True)
class Params(BaseParams):
    """What may be set; all models get the same size, steps, batches and data.

    lr: of the recall; None gives each model its own best rate.
    """

    part: str = setting("all", "which measurements", choices=PARTS, decides=True)
    a: str = setting(A, "the first sentence of the maps", typed=True)
    b: str = setting(B, "the second sentence of the maps", typed=True)
    width: int = setting(32, "width of the Transformer; the others get as many numbers", low=8,
                         high=128)  # fmt: skip
    conv_layers: int = setting(3, "layers of the convolution", low=1, high=8)
    kernel: int = setting(3, "tokens under one convolution", low=2, high=16)
    longest: int = setting(48, "the longest distance to recall", low=8, high=96)
    steps: int = setting(300, "training steps of the recall", low=1, high=2_000)
    batch_size: int = setting(32, "sentences per step", low=1, high=128)
    lr: float | None = setting(
        None, "highest learning rate; None = the best that was found for each model", low=1e-6,
        high=1.0,
    )  # fmt: skip

    def rate(self, kind: str) -> float:
        """Return the learning rate of a model in the recall: the one chosen, or its own best."""
        return BEST_RATES[kind] if self.lr is None else self.lr

    def plan(self, vocab_size: int, init_std: float | None = None) -> Plan:
        """Return what all models of a part share."""
        return Plan(
            vocab_size,
            # The same model must hold the recall, a map of MAX_WORDS and the longest timed text.
            block_size=max(self.longest + 1, MAX_WORDS, LONGEST_TIMED),
            conv_layers=self.conv_layers,
            kernel=self.kernel,
            init_std=init_std,
        )

    def models(self, kinds: tuple[str, ...], plan: Plan) -> Models:
        """Return new models of equal size, drawn from the seed."""
        return peers.equal_models(kinds, plan, self.width, self.seed)


def about(model: AnyModel) -> Found:
    """Return how large a model is, and how far it sees (None = all that its mask allows)."""
    return {
        "n_params": model.n_params,
        "width": model.config.d_model,
        "receptive_field": model.receptive_field if isinstance(model, Peer) else None,
    }


def merge(into: Found, more: Mapping[str, Any]) -> None:
    """Put `more` into a dictionary, and dictionaries in it into those of the same name."""
    # Parts add to the same model: dict.update would drop what another part measured.
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            merge(into[key], value)
        else:
            into[key] = value
