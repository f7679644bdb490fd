"""What may be set of a translation, and the corpora it learns from."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from owi_core.config import ModelConfig, PairConfig, TrainConfig
from owi_core.corpora.numerals import DATE_WORDS, NUMBER_WORDS, date_pairs, number_pairs
from owi_core.corpora.translation import Pair, sentence_pairs, vocabularies
from owi_core.experiments._kit.params import BaseParams, setting
from owi_core.tokenizer import WordTokenizer
from owi_core.translating import Languages

BLOCK_SIZE = 32
N_HEAD, D_MLP = 4, 256
NONE, GRU, GRU_NO_ATTENTION = "none", "gru", "gru_no_attention"


class Corpus(NamedTuple):
    """A generator of pairs (seed, count, part), its two vocabularies, and the steps it needs."""

    pairs: Callable[[int, int, str], tuple[Pair, ...]]
    words: Callable[[], tuple[tuple[str, ...], tuple[str, ...]]]
    steps: int
    n_decoder: int = 2


CORPORA: dict[str, Corpus] = {
    "sentences": Corpus(sentence_pairs, vocabularies, 400),
    "numbers": Corpus(number_pairs, lambda: NUMBER_WORDS, 600),
    "dates": Corpus(date_pairs, lambda: DATE_WORDS, 300),
}


@dataclass(frozen=True)
class Params(BaseParams):
    """What may be set; a value left out is the recipe's own."""

    corpus: str = setting("sentences", "what is translated", choices=tuple(CORPORA), decides=True)
    against: str = setting(NONE, "what is trained beside it on the same data", choices=(NONE, GRU))
    steps: int | None = setting(None, "training steps", low=0, high=5_000)
    batch_size: int = setting(64, "pairs per step", low=1, high=256)
    lr: float = setting(3e-3, "highest learning rate", low=1e-6, high=1.0)
    n_train: int = setting(8000, "training pairs", low=100, high=50_000)
    n_encoder: int = setting(1, "layers of the encoder", low=1, high=4)
    n_decoder: int | None = setting(None, "layers of the decoder", low=1, high=4)
    d_model: int = setting(128, "width of the residual streams", low=8, high=256)
    embedding_scale: float | None = setting(
        None, "factor on the embedding at the input (1 … √d_model)", low=1.0, high=16.0
    )

    def usual(self) -> dict[str, Any]:
        corpus = CORPORA[self.corpus]
        return {
            "steps": corpus.steps,
            "n_decoder": corpus.n_decoder,
            "embedding_scale": math.sqrt(self.d_model),
        }

    def model_config(self, languages: Languages) -> PairConfig:
        """Return the shapes of encoder and decoder."""
        assert self.embedding_scale is not None
        assert self.n_decoder is not None
        shared: dict[str, Any] = {
            "n_head": N_HEAD,
            "d_model": self.d_model,
            "d_mlp": D_MLP,
            "block_size": BLOCK_SIZE,
            "embedding_scale": self.embedding_scale,
            # The tied head uses the same matrix without the factor, and needs small numbers.
            "embedding_std": 1 / math.sqrt(self.d_model),
        }
        sizes = (languages.source.vocab_size, languages.target.vocab_size)
        return PairConfig(
            ModelConfig(sizes[0], n_layer=self.n_encoder, mask="bidirectional", **shared),
            ModelConfig(sizes[1], n_layer=self.n_decoder, mask="causal", **shared),
        )

    def train_config(self) -> TrainConfig:
        """Return the settings of the training, the same for all models."""
        assert self.steps is not None
        return TrainConfig(steps=self.steps, batch_size=self.batch_size, lr=self.lr, seed=self.seed)


def languages_of(corpus: str) -> Languages:
    """Return the two tokenizers of a corpus."""
    # No spare ids: a word outside the vocabulary has no translation, and is refused by name.
    source, target = CORPORA[corpus].words()
    return Languages(WordTokenizer(source, 0), WordTokenizer(target, 0))
