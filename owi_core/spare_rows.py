"""Gives each unknown word of a sentence a row of its own, however many there are.

A word model is trained with a few spare rows at the end of its embedding. A sentence with more
unknown words is read by a copy of the model with more of them. Nothing else of the copy differs:
the words that the model knows, its attention and its first spare rows are the same.
"""

from dataclasses import replace

import torch
from torch import Tensor

from owi_core.checkpoints import Bundle
from owi_core.errors import TextError
from owi_core.model import Transformer
from owi_core.tokenizer import Encoding, WordTokenizer

_SEED = 1


def encoded(bundle: Bundle, text: str) -> tuple[Bundle, Encoding]:
    """Return a text as tokens, and the bundle or a copy of it that has a row for each of them.

    Raises TextError for a text that is blank, too long, or has characters without an id.
    """
    try:
        return bundle, bundle.tokenizer.encode(text)
    except TextError as error:
        if error.code != "too_many_unknown_words":
            raise
        wide = _widened(bundle, error.values["count"])
    return wide, wide.tokenizer.encode(text)


def _widened(bundle: Bundle, n_spare: int) -> Bundle:
    assert isinstance(bundle.tokenizer, WordTokenizer)
    tokenizer = bundle.tokenizer.with_spare(n_spare)
    config = replace(bundle.model.config, vocab_size=tokenizer.vocab_size)
    model = Transformer(config, torch.Generator().manual_seed(_SEED))
    old = dict(bundle.model.named_parameters())
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.shape == old[name].shape:
                parameter.copy_(old[name])
            else:  # a row for each word: the embedding, and the head with its bias
                _fill(parameter, old[name], len(bundle.tokenizer.spare_ids))
    return Bundle(model.eval(), tokenizer, bundle.note, widened_from=bundle.source)


def _fill(rows: Tensor, trained: Tensor, n_spare: int) -> None:
    """Copy the trained rows, and draw the new ones as widely spread as the trained spare rows."""
    V = trained.shape[0]
    rows[:V] = trained
    spare = trained[V - n_spare :] if n_spare else trained
    scale = float(spare.square().mean().sqrt())
    rng = torch.Generator().manual_seed(_SEED)
    # One row at a time: the first new row is then the same, however many follow.
    for row in rows[V:]:
        row.copy_(torch.randn(row.shape, generator=rng) * scale)
