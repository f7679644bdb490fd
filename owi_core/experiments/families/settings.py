"""What may be set of the three families, and the shapes that make them equally large."""

from dataclasses import dataclass
from typing import Any

import torch

from owi_core.config import MaskName, ModelConfig, PairConfig, TrainConfig
from owi_core.encoder_decoder import EncoderDecoder
from owi_core.experiments._kit.params import BaseParams, setting
from owi_core.experiments.families.exams import CAUSAL, SEQ2SEQ, Model
from owi_core.model import Transformer

N_HEAD, BLOCK_SIZE = 4, 24
EMBEDDING_SCALE, EMBEDDING_STD = 4.0, 0.1
# A decoder layer has an attention more, and two stacks have an embedding each: two layers that
# read and one that writes are about as large as three of a single stack.
N_LAYER, N_ENCODER, N_DECODER = 3, 2, 1


@dataclass(frozen=True)
class Params(BaseParams):
    """What may be set; it is the same for all models."""

    steps: int = setting(800, "training steps", low=1, high=5_000)
    batch_size: int = setting(64, "sentences per step", low=1, high=256)
    lr: float = setting(0.01, "highest learning rate", low=1e-6, high=1.0)
    n_train: int = setting(16_000, "training sentences", low=100, high=50_000)
    d_model: int = setting(64, "width of the residual streams", low=8, high=128)

    def model(self, family: str, vocab_size: int) -> Model:
        """Return an untrained model; each is drawn from the same seed."""
        rng = torch.Generator().manual_seed(self.seed)
        shared: dict[str, Any] = {
            "n_head": N_HEAD,
            "d_model": self.d_model,
            "d_mlp": 2 * self.d_model,
            "block_size": BLOCK_SIZE,
            # A narrow model takes no more than √d_model, as in `fill_defaults`.
            "embedding_scale": min(EMBEDDING_SCALE, self.d_model**0.5),
            "embedding_std": EMBEDDING_STD,
        }
        if family == SEQ2SEQ:
            reads = ModelConfig(vocab_size, n_layer=N_ENCODER, mask="bidirectional", **shared)
            writes = ModelConfig(vocab_size, n_layer=N_DECODER, mask="causal", **shared)
            return EncoderDecoder(PairConfig(reads, writes), rng)
        mask: MaskName = "causal" if family == CAUSAL else "bidirectional"
        return Transformer(ModelConfig(vocab_size, n_layer=N_LAYER, mask=mask, **shared), rng)

    def train_config(self) -> TrainConfig:
        """Return the settings of the training, the same for all models."""
        return TrainConfig(
            steps=self.steps, batch_size=self.batch_size, lr=self.lr, seed=self.seed,
            optimizer="muon", schedule="linear", warmup_steps=20, weight_decay=0.0,
        )  # fmt: skip
