"""What each family learns from a sentence, and the exams that all of them take.

Shapes: N sentences, T tokens (the begin mark and the words), V vocabulary.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from owi_core.corpora.naming import Naming, naming_words
from owi_core.encoder_decoder import EncoderDecoder
from owi_core.model import ModelOutput, Transformer
from owi_core.tokenizer import WordTokenizer
from owi_core.training import IGNORED, Dataset
from owi_core.translating import padded

MASK = "[MASK]"
MASKED, CAUSAL, SEQ2SEQ = "masked", "causal", "seq2seq"
FAMILIES = (MASKED, CAUSAL, SEQ2SEQ)
SHARE = 0.15  # of the words of a sentence are hidden; Devlin et al. 2019, section 3.1
PAD, BOS = 0, WordTokenizer.bos_id
Model = Transformer | EncoderDecoder


class Corrupted(NamedTuple):
    """Sentences with hidden words: what is read, and the words to restore.

    ids: (N, T).  targets: (N, T), IGNORED at every place that was not hidden.
    """

    ids: Tensor
    targets: Tensor


class Place(NamedTuple):
    """A word of a sentence that a model is asked for."""

    sentence: Naming
    at: int

    @property
    def word(self) -> str:
        return self.sentence.words[self.at]


def tokenizer() -> WordTokenizer:
    """Return the vocabulary of all families; the mask is a word of it that is never an answer."""
    return WordTokenizer((*naming_words(), MASK), 0)


def token_ids(sentences: Sequence[Sequence[str]]) -> Tensor:
    """Return the sentences as padded ids, (N, T), each behind the begin mark."""
    words = tokenizer()
    rows = [(BOS, *words.encode_words(sentence).ids) for sentence in sentences]
    return padded(rows, PAD)


def corrupt(ids: Tensor, *, mixed: bool, rng: torch.Generator) -> Corrupted:
    """Hide 15 % of the words of each sentence; the loss has a term for each of them and no other.

    mixed: of the hidden words 80 % are read as the mask, 10 % as another word, 10 % as they are.
    Otherwise all of them are read as the mask.
    """
    real = ids > BOS  # neither padding nor the begin mark
    wanted = (real.sum(1).double() * SHARE).round().long().clamp(min=1)  # (N,)
    # The places with the smallest random numbers: exactly as many as wanted, so that the number
    # of terms of a batch does not depend on luck.
    order = torch.rand(ids.shape, generator=rng).masked_fill(~real, 2.0).argsort(1).argsort(1)
    hidden = order < wanted[:, None]  # (N, T)
    targets = ids.masked_fill(~hidden, IGNORED)
    vocabulary = tokenizer()
    mask_id = vocabulary.vocab_size - 1
    read = ids.masked_fill(hidden, mask_id)
    if mixed:
        luck = torch.rand(ids.shape, generator=rng)
        # Any word, the right one included: that it can be trusted is what must not be learned.
        words = torch.randint(BOS + 2, mask_id, ids.shape, generator=rng)
        read = torch.where(hidden & (luck < 0.1), words, read)
        read = torch.where(hidden & (luck >= 0.9), ids, read)
    return Corrupted(read, targets)


def lessons(family: str, ids: Tensor, *, mixed: bool, seed: int) -> Dataset:
    """Return what a family learns from these sentences, (N, T): its own question to each."""
    lengths = (ids != PAD).sum(1)
    if family == CAUSAL:
        targets = torch.full_like(ids, IGNORED)
        targets[:, :-1] = ids[:, 1:].masked_fill(ids[:, 1:] == PAD, IGNORED)
        return Dataset(ids, targets, lengths)
    # One generator state for both families that restore: they miss the same words.
    rng = torch.Generator().manual_seed(seed)
    hidden = corrupt(ids, mixed=mixed and family == MASKED, rng=rng)
    if family == MASKED:
        return Dataset(hidden.ids, hidden.targets, lengths)
    # The decoder writes the missing words in their order (Raffel et al. 2020 mark each gap with
    # a name of its own; one gap of an exam needs none).
    missing = [[i for i in row if i != IGNORED] for row in hidden.targets.tolist()]
    written = padded([(BOS, *row[:-1]) for row in missing], PAD)
    return Dataset(written, padded(missing, IGNORED), source=hidden.ids)


@torch.no_grad()
def answers(
    family: str, model: Model, places: Sequence[Place], *, after: bool, size: int = 256
) -> Tensor:
    """Return the logits at each place, (N, V).

    after: whether the words after the place may be read too (an exam with a gap); otherwise the
    sentence ends there (the next word).  A causal model reads only what comes before, either way.
    """
    model.eval()
    parts = [places[start : start + size] for start in range(0, len(places), size)]
    return torch.cat([_logits(family, model, part, after) for part in parts])


def share_right(logits: Tensor, places: Sequence[Place]) -> float:
    """Return the share of places whose likeliest word is the right one."""
    words = tokenizer()
    right = torch.tensor([words.encode_words([place.word]).ids[0] for place in places])
    return float((logits.argmax(-1) == right).double().mean())


def asked(place: Place, *, after: bool) -> tuple[str, ...]:
    """Return the sentence as a family that restores words reads it."""
    words = place.sentence.words
    return (*words[: place.at], MASK, *(words[place.at + 1 :] if after else ()))


def _logits(family: str, model: Model, places: Sequence[Place], after: bool) -> Tensor:
    at = torch.tensor([place.at + 1 for place in places])  # the begin mark comes first
    if isinstance(model, EncoderDecoder):
        source = token_ids([asked(place, after=after) for place in places])
        # The first word written is the missing one: an exam hides one word.
        out: ModelOutput = model(torch.full((len(places), 1), BOS), source=source)
        return out.logits[:, 0]
    if family == CAUSAL:
        ids = token_ids([place.sentence.words for place in places])
        at = at - 1  # the output of the word before is the guess for this one
    else:
        ids = token_ids([asked(place, after=after) for place in places])
    out = model(ids, lengths=(ids != PAD).sum(1), read_at=at)
    return out.logits[:, 0]
