"""Models of the usual kinds at one size, and the matrix products of a step without anything else.

Each peer is called as `peer(ids, targets)` and returns the mean cross-entropy in nats.
Shapes: B batch, T tokens, V vocabulary.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from owi_core.config import ModelConfig
from owi_core.model import Transformer
from owi_core.training import Batch, loss_nats


@dataclass(frozen=True)
class Size:
    """What all models of a comparison have in common."""

    vocab_size: int = 128
    n_layer: int = 3
    n_head: int = 4
    d_model: int = 128
    d_mlp: int = 256
    T: int = 32
    B: int = 32
    dropout: float = 0.0


class Ours(nn.Module):
    """The project's own Transformer, as a training step calls it."""

    def __init__(self, size: Size, seed: int) -> None:
        super().__init__()
        config = ModelConfig(
            vocab_size=size.vocab_size, n_layer=size.n_layer, n_head=size.n_head,
            d_model=size.d_model, d_mlp=size.d_mlp, block_size=size.T, dropout=size.dropout,
        )  # fmt: skip
        self.model = Transformer(config, torch.Generator().manual_seed(seed))

    def forward(self, ids: Tensor, targets: Tensor) -> Tensor:
        return loss_nats(self.model, Batch(ids, targets))


class UsualBlock(nn.Module):
    """Pre-norm block as small GPT scripts have it: one projection for q, k and v, or three."""

    def __init__(self, size: Size, separate: bool) -> None:
        super().__init__()
        d = size.d_model
        self.n_head, self.rate = size.n_head, size.dropout
        self.first, self.second = nn.LayerNorm(d), nn.LayerNorm(d)
        widths = [d] * 3 if separate else [3 * d]
        self.qkv = nn.ModuleList(nn.Linear(d, width) for width in widths)
        self.out = nn.Linear(d, d)
        self.mlp = nn.Sequential(
            nn.Linear(d, size.d_mlp), nn.GELU(), nn.Linear(size.d_mlp, d), nn.Dropout(size.dropout)
        )
        self.dropout = nn.Dropout(size.dropout)

    def forward(self, x: Tensor) -> Tensor:
        B, T, d = x.shape
        normed = self.first(x)
        q, k, v = (
            part.view(B, T, self.n_head, d // self.n_head).transpose(1, 2)
            for linear in self.qkv
            for part in linear(normed).split(d, dim=2)
        )
        rate = self.rate if self.training else 0.0
        z = F.scaled_dot_product_attention(q, k, v, dropout_p=rate, is_causal=True)
        x = x + self.dropout(self.out(z.transpose(1, 2).reshape(B, T, d)))
        return x + self.mlp(self.second(x))


class UsualGPT(nn.Module):
    """A small GPT as most training scripts write it: learned positions, a tied head."""

    def __init__(self, size: Size, separate: bool = False) -> None:
        super().__init__()
        self.words = nn.Embedding(size.vocab_size, size.d_model)
        self.places = nn.Embedding(size.T, size.d_model)
        self.dropout = nn.Dropout(size.dropout)
        self.blocks = nn.ModuleList(UsualBlock(size, separate) for _ in range(size.n_layer))
        self.norm = nn.LayerNorm(size.d_model)
        self.head = nn.Linear(size.d_model, size.vocab_size, bias=False)
        self.head.weight = self.words.weight
        nn.init.normal_(self.words.weight, std=0.02)

    def forward(self, ids: Tensor, targets: Tensor) -> Tensor:
        x = self.dropout(self.words(ids) + self.places(torch.arange(ids.shape[1])))
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), targets.flatten())


class Encoder(nn.Module):
    """`torch.nn.TransformerEncoder` under a causal mask, with a tied head."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.words = nn.Embedding(size.vocab_size, size.d_model)
        self.places = nn.Parameter(torch.randn(size.T, size.d_model) * 0.02)
        layer = nn.TransformerEncoderLayer(
            size.d_model, size.n_head, size.d_mlp, size.dropout, F.gelu,
            batch_first=True, norm_first=True,
        )  # fmt: skip
        norm = nn.LayerNorm(size.d_model)
        self.encoder = nn.TransformerEncoder(layer, size.n_layer, norm, enable_nested_tensor=False)
        self.mask = nn.Transformer.generate_square_subsequent_mask(size.T)
        nn.init.normal_(self.words.weight, std=0.02)

    def forward(self, ids: Tensor, targets: Tensor) -> Tensor:
        x = self.words(ids) + self.places[: ids.shape[1]]
        x = self.encoder(x, mask=self.mask, is_causal=True)
        logits = F.linear(x, self.words.weight)
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


class HuggingFace(nn.Module):
    """GPT-2 of the transformers package, drawn from a config; attn: "sdpa" or "eager"."""

    def __init__(self, size: Size, attn: str = "sdpa") -> None:
        super().__init__()
        from transformers import GPT2Config, GPT2LMHeadModel

        config = GPT2Config(
            vocab_size=size.vocab_size, n_positions=size.T, n_embd=size.d_model,
            n_layer=size.n_layer, n_head=size.n_head, n_inner=size.d_mlp,
            resid_pdrop=size.dropout, embd_pdrop=size.dropout, attn_pdrop=size.dropout,
            attn_implementation=attn, bos_token_id=None, eos_token_id=None,
        )  # fmt: skip
        self.model = GPT2LMHeadModel(config)

    def forward(self, ids: Tensor, targets: Tensor) -> Tensor:
        logits = self.model(ids, use_cache=False).logits
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def peers(size: Size) -> dict[str, nn.Module]:
    """Return the peers at one size, by name."""
    return {
        "usual GPT": UsualGPT(size),
        "nn.TransformerEncoder": Encoder(size),
        "Hugging Face GPT-2": HuggingFace(size),
    }


def matrix_products(size: Size) -> Callable[[], Any]:
    """Return a call that does the matrix products of one step, forward and backward, and no more.

    Each product C = A B costs two more backward: dA = dC Bᵀ, dB = Aᵀ dC.
    """
    n, d, m, V = size.B * size.T, size.d_model, size.d_mlp, size.vocab_size
    heads, D = size.B * size.n_head, d // size.n_head
    flat = [(n, d, d)] * 4 + [(n, d, m), (n, m, d)]
    shapes = flat * size.n_layer + [(n, d, V)]
    triples = [(torch.randn(a, b), torch.randn(b, c), torch.randn(a, c)) for a, b, c in shapes]
    batched = [(size.T, D, size.T), (size.T, size.T, D)] * size.n_layer
    triples += [
        (torch.randn(heads, a, b), torch.randn(heads, b, c), torch.randn(heads, a, c))
        for a, b, c in batched
    ]

    def work() -> None:
        for a, b, c in triples:
            torch.matmul(a, b)
            torch.matmul(c, b.mT)
            torch.matmul(a.mT, c)

    return work
