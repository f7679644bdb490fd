"""What one model reads in one sentence: the record, the answer and how sure it is, and the proof.

Shapes: L layers, H heads, T tokens.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from owi_core.checkpoints import Bundle
from owi_core.corpora import FAMILIES, PRONOUNS, Match, parse, possible_antecedents
from owi_core.errors import ModelFileError, TextError
from owi_core.probes.knockout import Edge, answer_log_probability, knock_out_row
from owi_core.probes.routes import Routes, answer_routes
from owi_core.probes.rows import entropy_nats
from owi_core.record import AttentionRecord
from owi_core.segmentation import names_something
from owi_core.spare_rows import encoded
from owi_core.tokenizer import CharTokenizer, Encoding, WordTokenizer

UNDECIDED_NATS = 2.0
MAX_TOKENS = 128  # what a page may ask of the server itself
CARRIES_NATS, IDLE_NATS = 2.0, 0.1

Reason = Literal[
    "known",
    "next_character",
    "no_pronoun",
    "structure_unknown",
    "clue_hidden",  # what decides comes after the query, where the mask lets it see nothing
    "undecided",
    "not_in_sentence",
]


@dataclass(frozen=True)
class Answer:
    """The likeliest word at the query and the runner-up, with probabilities.

    known: the answer may be shown as reliable; else `reason` says why not.  margin_nats:
    log-probability of the first minus that of the second.  antecedent: the last token that is the
    answer's word.
    """

    known: bool
    reason: Reason
    word: str
    probability: float
    runner_up: str
    runner_up_probability: float
    margin_nats: float
    antecedent: int | None


@dataclass(frozen=True)
class Cut:
    """One edge forbidden in all heads of its layer, and what that does to the answer.

    everywhere_nats: what it does when the query may look at that token in no layer at all.
    """

    edge: Edge
    word: str
    weight: float
    change_nats: float
    everywhere_nats: float

    @property
    def effect(self) -> str:
        """Whether this one edge "carries" or "helps" the answer, is "idle", or "hinders" it."""
        if self.change_nats <= -CARRIES_NATS:
            return "carries"
        if self.change_nats <= -IDLE_NATS:
            return "helps"
        return "idle" if self.change_nats < IDLE_NATS else "hinders"

    @property
    def need(self) -> str:
        """The same with every layer cut too, or "replaced": needed, but not in this layer alone.

        One layer cannot show that a look is not needed: `person` loses nothing without it in
        either layer, and 6 nats without it in both.
        """
        if self.change_nats <= -CARRIES_NATS:
            return "carries"
        helps = self.effect == "helps"
        if self.everywhere_nats <= -(CARRIES_NATS if helps else IDLE_NATS):
            return "replaced"
        if helps:
            return "helps"
        return "idle" if max(self.change_nats, self.everywhere_nats) < IDLE_NATS else "hinders"


@dataclass(frozen=True, eq=False)
class Reading:
    """One sentence in one model, seen from one query token."""

    record: AttentionRecord
    query: int
    answer: Answer
    unknown: tuple[int, ...]
    match: Match | None
    bundle: Bundle
    encoding: Encoding
    answer_id: int

    @property
    def labels(self) -> tuple[str, ...]:
        """The tokens as typed."""
        return self.encoding.labels

    @property
    def unknown_words(self) -> tuple[str, ...]:
        """The words outside the vocabulary, each once, as typed; marks are not words."""
        return self._unknown(names_something)

    @property
    def unknown_marks(self) -> tuple[str, ...]:
        """The marks outside the vocabulary, each once."""
        return self._unknown(lambda label: not names_something(label))

    def _unknown(self, kind: Callable[[str], bool]) -> tuple[str, ...]:
        labels = (self.labels[i] for i in self.unknown)
        return tuple(dict.fromkeys(label for label in labels if kind(label)))

    @property
    def sees_no_later(self) -> bool:
        """Whether the mask hides every token after the query from it."""
        return not self.record.mask[self.query, self.query + 1 :].any()

    @property
    def has_pronoun(self) -> bool:
        """Whether one of the tokens is a pronoun."""
        return not set(PRONOUNS).isdisjoint(self.labels)

    @cached_property
    def effects(self) -> NDArray[np.float32]:
        """The answer's change in nats for each edge of the query, cut in all heads: (L, T)."""
        return knock_out_row(
            self.bundle.model, self.encoding.ids, self.query, self.query, self.answer_id
        )

    def strongest(self, layer: int | None = None) -> Edge | None:
        """Return the query's strongest edge to another token, in one layer or in all.

        None when the query may look at nothing but itself.
        """
        layers = range(self.record.n_layer) if layer is None else [layer]
        rows = {i: self.record.row(self.query, i).copy() for i in layers}
        for row in rows.values():
            row[self.query] = 0.0  # an edge to itself links no two words
        best = max(rows, key=lambda i: float(rows[i].max()))
        key = int(rows[best].argmax())
        return Edge(best, self.query, key) if rows[best][key] > 0 else None

    def control(self, edge: Edge) -> Edge | None:
        """Return an edge of the same layer to compare with: to the first other token it may see."""
        allowed = self.record.mask[self.query]
        keys = [k for k in range(len(allowed)) if allowed[k] and k not in (edge.key, edge.query)]
        return Edge(edge.layer, edge.query, keys[0]) if keys else None

    def cut(self, edge: Edge | None) -> Cut | None:
        """Return what cutting this edge does to the answer."""
        if edge is None or np.isnan(self.effects[edge.layer, edge.key]):
            return None
        weight = float(self.record.row(self.query, edge.layer)[edge.key])
        change = float(self.effects[edge.layer, edge.key])
        everywhere = change if self.record.n_layer == 1 else self._cut_everywhere(edge.key)
        return Cut(edge, self.labels[edge.key], weight, change, everywhere)

    @cached_property
    def routes(self) -> Routes | None:
        """The answer without a direct look at its word, and by that look alone.

        None where no answer is known, or its word is not in the sentence.
        """
        if self.answer.reason != "known":
            return None
        return answer_routes(
            self.bundle.model, self.encoding.ids, self.query, self.answer_id, self.meant
        )

    @property
    def meant(self) -> tuple[int, ...]:
        """The other tokens that are the answer's word."""
        word = self.answer.word
        return tuple(i for i, label in enumerate(self.labels) if label == word and i != self.query)

    @cached_property
    def _everywhere(self) -> dict[int, float]:
        return {}

    def _cut_everywhere(self, key: int) -> float:
        """Return the answer's change in nats when the query may look at `key` in no layer."""
        if key not in self._everywhere:
            cut = [Edge(layer, self.query, key) for layer in range(self.record.n_layer)]
            ids, model = self.encoding.ids, self.bundle.model
            after = answer_log_probability(model, ids, self.query, self.answer_id, cut)
            self._everywhere[key] = after - math.log(self.answer.probability)
        return self._everywhere[key]

    def entropy_nats(self, layer: int) -> float:
        """Return the entropy of the query's row, mean over heads."""
        return entropy_nats(self.record.row(self.query, layer))

    def to_dict(self) -> dict[str, Any]:
        """Return what the command line prints."""
        strongest = self.strongest()
        control = None if strongest is None else self.control(strongest)
        return {
            "text": self.encoding.text,
            "tokens": list(self.labels),
            "spans": [list(span) for span in self.encoding.spans],
            "unknown_words": [self.labels[i] for i in self.unknown],
            "query": {"index": self.query, "token": self.labels[self.query]},
            "pattern": self.record.pattern.tolist(),
            "row": self.record.pattern[:, :, self.query].tolist(),
            "answer": asdict(self.answer),
            "knock_out": _cut_dict(self.cut(strongest)),
            "knock_out_control": _cut_dict(self.cut(control)),
            "routes": None if self.routes is None else self.routes.to_dict(),
            "checks": [asdict(check) for check in self.record.checks()],
        }


def read(
    bundle: Bundle,
    text: str,
    query: str | int | None = None,
    *,
    temperature: float = 1.0,
    limit: int = MAX_TOKENS,
) -> Reading:
    """Run one sentence through one model and return what one query token sees.

    query: a word (its last occurrence), an index, or None for the last pronoun; without a pronoun
    it is the last word that is no mark.
    Raises TextError for a text that is blank, too long, or lacks the query, ModelFileError for a
    model whose numbers overflow.
    """
    bundle, encoding = encoded(bundle, text)
    T = len(encoding.ids)
    limit = min(limit, bundle.model.config.block_size)
    if limit < T:
        raise TextError("text_over_block", tokens=T, block_size=limit, over=T - limit)
    # A character model answers with the next character: its last token looks, mark or not.
    by_characters = isinstance(bundle.tokenizer, CharTokenizer)
    index = _query_index(encoding, query, by_characters=by_characters)
    record, logits = _record(bundle, encoding, temperature)
    if not bool(torch.isfinite(logits).all()):  # finite weights of 1e30 do it
        raise ModelFileError("model_overflows")
    match = _match(bundle, encoding)
    answer, answer_id = _answer(bundle, encoding, index, match, logits[index])
    return Reading(record, index, answer, encoding.unknown, match, bundle, encoding, answer_id)


class Looking(Protocol):
    """Anything with a record and a query token: a reading, or a record from a file."""

    @property
    def record(self) -> AttentionRecord: ...

    @property
    def query(self) -> int: ...


def clearest_layer(readings: Sequence[Looking]) -> int:
    """Return the layer in which the queries' rows have their strongest edges, mean over heads.

    Only layers that all records have are considered.
    """
    layers = range(min(reading.record.n_layer for reading in readings))
    weights = [[float(r.record.row(r.query, i).max()) for i in layers] for r in readings]
    return int(np.mean(weights, axis=0).argmax())


def clearest_head(reading: Looking, layer: int) -> int:
    """Return the head of a layer whose row of the query has the strongest edge."""
    # Of equally strong heads the first, so that a link without a head opens the same one.
    return int(reading.record.pattern[layer, :, reading.query].max(axis=-1).argmax())


@torch.no_grad()
def _record(
    bundle: Bundle, encoding: Encoding, temperature: float
) -> tuple[AttentionRecord, Tensor]:
    model = bundle.model.eval()
    out = model(torch.tensor([encoding.ids]), explicit=True, temperature=temperature)
    assert out.scores is not None
    assert out.pattern is not None
    assert out.z is not None
    record = AttentionRecord(
        text=encoding.text,
        query_tokens=encoding.labels,
        key_tokens=encoding.labels,
        query_spans=encoding.spans,
        key_spans=encoding.spans,
        scores=out.scores[:, 0].numpy(),
        pattern=out.pattern[:, 0].numpy(),
        head_outputs=out.z[:, 0].numpy(),
        mask=model.default_mask(len(encoding.ids)).numpy(),
        training=model.training,
    )
    return record, out.logits[0]


def _query_index(encoding: Encoding, query: str | int | None, *, by_characters: bool) -> int:
    labels = encoding.labels
    if isinstance(query, int):
        if not 0 <= query < len(labels):
            raise TextError("query_out_of_range", query=query, last=len(labels) - 1)
        return query
    # Of several occurrences the last one sees most of the sentence under a causal mask.
    wanted = PRONOUNS if query is None else (query,)
    found = [i for i, label in enumerate(labels) if label in wanted]
    if found:
        return found[-1]
    if query is None:
        # A full stop never looks at anything that was asked for; a lone mark is all there is.
        words = [i for i, label in enumerate(labels) if names_something(label)]
        return words[-1] if words and not by_characters else len(labels) - 1
    raise TextError("query_not_in_text", query=query, tokens=" ".join(labels))


def _match(bundle: Bundle, encoding: Encoding) -> Match | None:
    tokenizer = bundle.tokenizer
    if isinstance(tokenizer, CharTokenizer):
        return None
    classes = [tokenizer.class_of(label) for label in encoding.labels]
    return parse(encoding.labels, classes, _family(bundle))


def _family(bundle: Bundle) -> str | None:
    """Return the family that the note names, if there is one; an uploaded note may name any."""
    params = bundle.note.get("params")
    family = params.get("family") if isinstance(params, dict) else None
    return family if family in FAMILIES else None


def _answer(
    bundle: Bundle, encoding: Encoding, query: int, match: Match | None, logits: Tensor
) -> tuple[Answer, int]:
    # Log-probabilities: the margin of two near-certain answers would vanish in probabilities.
    log_p = logits.log_softmax(dim=-1)  # (V,)
    top, ids = log_p.topk(min(2, log_p.shape[0]))
    words = [_word(bundle, encoding, int(i)) for i in ids]
    p = [float(x) for x in top.exp()]
    margin = float(top[0] - top[-1])
    places = [i for i, label in enumerate(encoding.labels) if label == words[0] and i != query]
    reason = _reason(bundle, encoding, query, match, margin, bool(places))
    known = reason in ("known", "next_character")
    place = places[-1] if places else None
    return Answer(known, reason, words[0], p[0], words[-1], p[-1], margin, place), int(ids[0])


def _reason(
    bundle: Bundle,
    encoding: Encoding,
    query: int,
    match: Match | None,
    margin: float,
    in_sentence: bool,
) -> Reason:
    if isinstance(bundle.tokenizer, CharTokenizer):
        return "next_character"
    if encoding.labels[query] not in PRONOUNS:
        return "no_pronoun"
    if match is None or match.position != query:
        return "structure_unknown"
    if _clue_is_hidden(bundle, encoding, query):
        return "clue_hidden"
    if margin < UNDECIDED_NATS:
        return "undecided"
    return "known" if in_sentence else "not_in_sentence"


def _clue_is_hidden(bundle: Bundle, encoding: Encoding, query: int) -> bool:
    """Return whether the query sees only a beginning that does not decide what it means."""
    if bundle.model.default_mask(len(encoding.ids))[query, query + 1 :].any():
        return False
    seen = encoding.labels[: query + 1]
    assert isinstance(bundle.tokenizer, WordTokenizer)
    classes = [bundle.tokenizer.class_of(label) for label in seen]
    return len(possible_antecedents(seen, classes, _family(bundle))) > 1


def _word(bundle: Bundle, encoding: Encoding, index: int) -> str:
    """Return the word as typed when the sentence has it, else as the vocabulary has it."""
    if isinstance(bundle.tokenizer, WordTokenizer) and index in encoding.ids:
        return encoding.labels[encoding.ids.index(index)]
    return bundle.tokenizer.label(index)


def _cut_dict(cut: Cut | None) -> dict[str, Any] | None:
    return None if cut is None else asdict(cut)
