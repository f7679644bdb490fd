"""What a shared matrix saves: numbers and bytes, for any vocabulary and for a live model."""

import copy
from dataclasses import dataclass

from owi_core.model import Transformer
from owi_core.probes.storage import untie

# (vocabulary, d_model). Sources: Radford et al. 2019 (GPT-2 small); Devlin et al. 2019 (BERT base).
READY = {"chinese_50k": (50_000, 768), "gpt2_small": (50_257, 768), "bert_base": (30_522, 768)}
BYTES_FLOAT32, BYTES_BFLOAT16 = 4, 2


@dataclass(frozen=True)
class MatrixSize:
    """One matrix of vocabulary × d_model: its numbers, and its bytes in two formats."""

    numbers: int
    bytes_float32: int
    bytes_bfloat16: int


def matrix_size(vocab_size: int, d_model: int) -> MatrixSize:
    """Return what a second matrix would cost, and so what sharing saves."""
    numbers = vocab_size * d_model
    return MatrixSize(numbers, numbers * BYTES_FLOAT32, numbers * BYTES_BFLOAT16)


def counted(model: Transformer) -> tuple[int, int]:
    """Return the trained numbers of a live model with one matrix, and of its copy with two."""
    one = copy.deepcopy(model)
    one.lm_head.weight = one.embedding.weight  # parameters() lists a shared matrix once
    return one.n_params, untie(copy.deepcopy(one)).n_params
