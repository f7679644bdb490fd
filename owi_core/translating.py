"""Pairs of texts as tensors, the writing of a translation, and what its attention is worth.

Shapes: N pairs, S source tokens, T target tokens, L decoder layers, H heads, V vocabulary.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import NamedTuple, Protocol

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from owi_core.corpora.translation import Pair
from owi_core.encoder_decoder import PAD_ID, EncoderDecoder
from owi_core.errors import TextError
from owi_core.model import ModelOutput
from owi_core.tokenizer import Encoding, WordTokenizer
from owi_core.training import IGNORED, Dataset

BOS, EOS = WordTokenizer.bos_id, WordTokenizer.eos_id


class Translator(Protocol):
    """A model that gives logits for the next target word; GRUs are called like ours."""

    def __call__(self, ids: Tensor, *, source: Tensor) -> ModelOutput: ...

    def eval(self) -> object: ...


class Languages(NamedTuple):
    """The tokenizers of the two sides; they have no spare rows: an unknown word is refused."""

    source: WordTokenizer
    target: WordTokenizer


class Translation(NamedTuple):
    """A text that a model wrote: ids without the two marks, and its log p, in nats.

    ended: the model wrote the end mark itself.
    """

    ids: tuple[int, ...]
    log_p: float
    ended: bool


class Alignment(NamedTuple):
    """Of each decoder layer, (L,): how the words that one source word decides look at it.

    argmax: share of words whose largest weight, mean over heads, is on a gold word.  mass: mean
    weight on the gold words.  words: how many were measured.
    """

    argmax: list[float]
    mass: list[float]
    words: int


def encode_pairs(pairs: Sequence[Pair], languages: Languages) -> Dataset:
    """Return the pairs as padded ids: what the decoder reads begins with the begin mark.

    Its targets are the same words one place to the left, with the end mark last.
    """
    sources = [languages.source.encode_words(pair.source).ids for pair in pairs]
    targets = [languages.target.encode_words(pair.target).ids for pair in pairs]
    return Dataset(
        ids=padded([(BOS, *ids) for ids in targets], PAD_ID),
        targets=padded([(*ids, EOS) for ids in targets], IGNORED),
        source=padded(sources, PAD_ID),
    )


@torch.no_grad()
def greedy(model: Translator, source: Tensor, most: int) -> list[tuple[int, ...]]:
    """Return the likeliest word after word for each source, (N, S), up to the end mark.

    most: target words at most.  An encoder–decoder reads the source once; the keys that its
    cross-attention needs never grow, those of the words written do.
    """
    model.eval()
    ids = torch.full((source.shape[0], 1), BOS)
    step = _cached_step(model, source) if isinstance(model, EncoderDecoder) else None
    done = torch.zeros(source.shape[0], dtype=torch.bool)
    for _ in range(most + 1):
        logits = step(ids) if step else model(ids, source=source).logits[:, -1]  # (N, V)
        following = logits.argmax(-1)
        ids = torch.cat([ids, following[:, None]], dim=1)
        done |= following == EOS
        if bool(done.all()):
            break
    return [_until_end(row) for row in ids[:, 1:].tolist()]


@torch.no_grad()
def beam(model: Translator, source: Tensor, width: int, most: int) -> list[Translation]:
    """Return the `width` likeliest translations found of one source, (1, S), best first.

    Each step keeps the `width` likeliest beginnings; an ended one keeps its place.  With a width
    of 1 this is greedy.  The log p is not divided by the length.
    """
    model.eval()
    kept = [Translation((), 0.0, False)]
    for _ in range(most + 1):
        longer = [t for t in kept if t.ended]
        for begun in (t for t in kept if not t.ended):
            ids = torch.tensor([[BOS, *begun.ids]])
            log_p = model(ids, source=source).logits[0, -1].double().log_softmax(-1)  # (V,)
            best = log_p.topk(min(width, len(log_p)))
            for word, value in zip(best.indices.tolist(), best.values.tolist(), strict=True):
                total = begun.log_p + value
                ended = word == EOS
                longer.append(Translation((*begun.ids, *(() if ended else (word,))), total, ended))
        kept = sorted(longer, key=lambda t: -t.log_p)[:width]
        if all(t.ended for t in kept):
            break
    return kept


@dataclass(frozen=True, eq=False)
class Seen:
    """A sentence, what the model wrote, and three kinds of attention: (L, H, queries, keys).

    encoder: (…, S, S).  decoder: (…, T, T), its first query is the begin mark.  cross: (…, T, S);
    row t is the one that chose word t.  log_p: (T,) of each word, in nats.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    encoder: NDArray[np.float32]
    decoder: NDArray[np.float32]
    cross: NDArray[np.float32]
    log_p: NDArray[np.float64]

    def share_right(self, wanted: Sequence[str]) -> float:
        """Return the share of words that are right and in the right order, 0 to 1."""
        return SequenceMatcher(None, self.target, tuple(wanted), autojunk=False).ratio()


class Written(NamedTuple):
    """A translation that a search found, and its log p in nats."""

    words: tuple[str, ...]
    log_p: float


class Bundled(Protocol):
    """A model with its tokenizers, as `translator_file` loads it."""

    @property
    def model(self) -> EncoderDecoder: ...

    @property
    def languages(self) -> Languages: ...


@torch.no_grad()
def look(bundle: Bundled, text: str, *, cut: int | None = None) -> Seen:
    """Translate a text and return what every layer looked at; TextError for an unknown word.

    cut: a source word that is hidden from encoder and decoder.  The translation is that of the
    whole text all the same, so that it can be compared word for word.
    """
    model, encoding = bundle.model.eval(), _read(bundle, text)
    source = torch.tensor([encoding.ids])
    written = greedy(model, source, _longest(bundle))[0]
    visible = torch.ones_like(source, dtype=torch.bool)
    if cut is not None and len(encoding.ids) > 1:
        visible[0, cut] = False
    ids = torch.tensor([[BOS, *written]])
    out = model(ids, source=source, visible=visible, explicit=True)
    T = len(written)
    log_p = out.logits[0, :T].double().log_softmax(-1)[torch.arange(T), list(written)]
    assert out.pattern is not None
    return Seen(
        encoding.labels,
        tuple(bundle.languages.target.label(i) for i in written),
        out.encoder_pattern[:, 0].numpy(),
        out.pattern[:, 0, :, :T, :T].numpy(),
        out.cross_pattern[:, 0, :, :T].numpy(),
        log_p.numpy(),
    )


def search(bundle: Bundled, text: str, width: int) -> tuple[Written, ...]:
    """Return the translations of a text that a beam of this width finds, likeliest first."""
    source = torch.tensor([_read(bundle, text).ids])
    label = bundle.languages.target.label
    found = beam(bundle.model, source, width, _longest(bundle))
    return tuple(Written(tuple(label(i) for i in each.ids), each.log_p) for each in found)


def exact(model: Translator, pairs: Sequence[Pair], languages: Languages) -> list[bool]:
    """Return of each pair whether greedy writing gives the target, word by word."""
    data = encode_pairs(pairs, languages)
    assert data.source is not None
    written = greedy(model, data.source, data.ids.shape[1])
    wanted = [languages.target.encode_words(pair.target).ids for pair in pairs]
    return [mine == gold for mine, gold in zip(written, wanted, strict=True)]


def share(right: Sequence[bool]) -> float:
    """Return the share of True."""
    return sum(right) / len(right) if right else 0.0


@torch.no_grad()
def alignment(model: EncoderDecoder, pairs: Sequence[Pair], languages: Languages) -> Alignment:
    """Return how the content words' rows look at the source, the right words being given.

    The row that chose a word is the one before it: that row's query read the words up to it.
    """
    data = encode_pairs(pairs, languages)
    assert data.source is not None
    model.eval()
    pattern = model(data.ids, source=data.source, explicit=True).cross_pattern.mean(2)
    places = [(n, t) for n, pair in enumerate(pairs) for t in aligned(pair)]
    rows = torch.stack([pattern[:, n, t] for n, t in places], dim=1)  # (L, words, S)
    gold = torch.zeros(rows.shape[1:], dtype=torch.bool)
    for index, (n, t) in enumerate(places):
        gold[index, list(pairs[n].gold[t])] = True
    hit = gold[torch.arange(len(places)), rows.argmax(-1)]  # (L, words)
    mass = (rows * gold).sum(-1)
    return Alignment(hit.double().mean(1).tolist(), mass.double().mean(1).tolist(), len(places))


def aligned(pair: Pair) -> tuple[int, ...]:
    """Return the target words whose alignment is scored: content words with a gold source word."""
    return tuple(t for t in pair.content if pair.gold[t])


def log_p_of(model: EncoderDecoder, data: Dataset, visible: Tensor | None = None) -> Tensor:
    """Return log p of each target word, (N, T), the words before it being given; 0 at padding."""
    logits = model(data.ids, source=data.source, visible=visible).logits
    loss = F.cross_entropy(
        logits.flatten(0, 1), data.targets.flatten(), ignore_index=IGNORED, reduction="none"
    )
    return -loss.view(data.targets.shape)


@torch.no_grad()
def cut_changes(
    model: EncoderDecoder, pair: Pair, languages: Languages
) -> tuple[list[float], list[float]]:
    """Cut out the gold source word of each content word in turn; return what log p loses, in nats.

    First the losses of the words that were translated from it, then those of all other words
    (and the end mark) that do not come from it.  A source of one word has nothing to cut out: no
    query would have a key left.
    """
    if len(pair.source) < 2:
        return [], []
    # All cuts of one sentence are one batch.
    cuts = sorted({pair.gold[t][0] for t in aligned(pair)})
    one = encode_pairs([pair], languages)
    assert one.source is not None
    data = Dataset(
        one.ids.repeat(len(cuts), 1), one.targets.repeat(len(cuts), 1),
        source=one.source.repeat(len(cuts), 1),
    )  # fmt: skip
    visible = torch.ones(len(cuts), len(pair.source), dtype=torch.bool)
    visible[torch.arange(len(cuts)), cuts] = False
    model.eval()
    lost = log_p_of(model, one) - log_p_of(model, data, visible)  # (cuts, T)
    own, others = [], []
    for row, cut in zip(lost.tolist(), cuts, strict=True):
        for t, value in enumerate(row):
            causes = pair.gold[t] if t < len(pair.target) else ()
            if causes[:1] == (cut,) and t in pair.content:
                own.append(value)
            elif cut not in causes:
                others.append(value)
    return own, others


@torch.no_grad()
def cross_keys_bytes(model: EncoderDecoder, S: int) -> int:
    """Return what writing keeps of a source of S words, once, however long the translation."""
    memory, visible, _ = model.encode(torch.full((1, S), BOS))
    layers = model.decoder.source_keys(memory, visible)
    return sum(layer.keys.nbytes + layer.values.nbytes for layer in layers)


def self_keys_bytes(model: EncoderDecoder) -> int:
    """Return what writing keeps of each word written."""
    c, size = model.config.decoder, model.decoder.embedding.weight.element_size()
    return 2 * c.n_layer * c.d_model * size  # a key and a value in each layer


def _cached_step(model: EncoderDecoder, source: Tensor) -> Callable[[Tensor], Tensor]:
    """Return a function from the ids so far, (N, T), to the logits of the next word, (N, V)."""
    memory, visible, _ = model.encode(source)
    keys = model.decoder.source_keys(memory, visible)
    cache = model.decoder.new_cache(source.shape[0])

    def step(ids: Tensor) -> Tensor:
        return model.decoder.write(ids[:, -1:], keys, cache=cache).logits[:, -1]

    return step


def _longest(bundle: Bundled) -> int:
    # One place is the begin mark's, and greedy reads one word more than it keeps.
    return bundle.model.config.decoder.block_size - 2


def _read(bundle: Bundled, text: str) -> Encoding:
    encoding = bundle.languages.source.encode(text)
    T, limit = len(encoding.ids), bundle.model.config.encoder.block_size
    if limit < T:
        raise TextError("text_over_block", tokens=T, block_size=limit, over=T - limit)
    return encoding


def _until_end(ids: list[int]) -> tuple[int, ...]:
    return tuple(ids[: ids.index(EOS)] if EOS in ids else ids)


def padded(rows: Sequence[Sequence[int]], pad: int) -> Tensor:
    """Return the rows as one tensor, (rows, longest), filled up with `pad` on the right."""
    filled = torch.full((len(rows), max(map(len, rows))), pad)
    for row, ids in zip(filled, rows, strict=True):
        row[: len(ids)] = torch.tensor(ids)
    return filled
