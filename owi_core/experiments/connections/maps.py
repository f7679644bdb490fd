"""The maps of the connections lab: which word moves which, in two sentences of any words."""

import dataclasses
from collections.abc import Mapping

import torch
from torch import Tensor

from owi_core import peers
from owi_core.cleaning import clean
from owi_core.errors import TextError
from owi_core.experiments.connections.settings import (
    MAX_WORDS,
    Found,
    Params,
    about,
)
from owi_core.peers import AnyModel
from owi_core.probes.influence import (
    InfluenceRecord,
    influence_record,
    input_dependence,
    mixing_change,
)
from owi_core.segmentation import check_text, clusters, cut_words
from owi_core.tokenizer import MAX_SENTENCE_CHARACTERS

LINEAR = "linear_cnn"
MAP_VOCABULARY = 2 * MAX_WORDS


def maps_of_fresh_models(params: Params) -> Found:
    """Return the influence maps of both sentences in freshly drawn models, and how they differ."""
    words = [words_of(text) for text in (params.a, params.b)]
    a, b = ids_of(words)
    plan = params.plan(MAP_VOCABULARY)
    models = params.models(peers.KINDS, plan)
    width = models["cnn"].config.d_model
    # Without its nonlinearity the convolution's map cannot depend on the sentence: a control.
    models[LINEAR] = peers.make(
        "cnn", dataclasses.replace(plan, linear=True), width, peers.rng_of(params.seed)
    )
    return compare_maps(models, (a, b), (words[0], words[1]), "fresh")


def compare_maps(
    models: Mapping[str, AnyModel],
    ids: tuple[Tensor, Tensor],
    words: tuple[list[str], list[str]],
    name: str,
) -> Found:
    """Return the maps of two sentences under `name`, and by model what they show.

    The newest numbers are beside the model's size, and again under `name`.
    Sentences of unequal length have maps that cannot be laid over each other: their changes are
    None.
    """
    maps, shown = {}, {}
    for kind, model in models.items():
        pair = [influence_record(kind, model, x, w) for x, w in zip(ids, words, strict=True)]
        maps[kind] = {side: _rounded(r) for side, r in zip(("a", "b"), pair, strict=True)}
        numbers = _map_numbers(model, ids, pair)
        shown[kind] = about(model) | numbers | {"maps_of": name, name: numbers}
    return {"models": shown, "maps": {name: maps}}


def words_of(text: str) -> list[str]:
    """Return the words of any text; blanks separate words and are not words.

    Raises TextError for a text that is empty, no text, or has too few or too many words.
    """
    text = clean(text).text
    check_text(text, MAX_SENTENCE_CHARACTERS)
    # Blanks only separate; as tokens of their own they would fill the map.
    words = [word for word in cut_words(clusters(text)) if word.strip()]
    if len(words) < 2:
        raise TextError("sentence_of_one_token", tokens=len(words), least=2)
    if len(words) > MAX_WORDS:
        over = len(words) - MAX_WORDS
        raise TextError("text_over_block", tokens=len(words), block_size=MAX_WORDS, over=over)
    return words


def ids_of(sentences: list[list[str]]) -> list[Tensor]:
    """Return ids that count the different words in order: any word in any language has one."""
    # One numbering for both sentences: the same word has the same id in each.
    known = {word: i for i, word in enumerate(dict.fromkeys(w for s in sentences for w in s))}
    return [torch.tensor([known[word] for word in sentence]) for sentence in sentences]


def _map_numbers(model: AnyModel, ids: tuple[Tensor, Tensor], pair: list[InfluenceRecord]) -> Found:
    return {
        "influence_outside_window_max": max(record.outside_max for record in pair),
        "influence_future_max": max(record.future_max for record in pair),
        "checks_passed": all(check.passed for record in pair for check in record.checks()),
        **_changes(model, ids, pair),
    }


def _changes(
    model: AnyModel, ids: tuple[Tensor, Tensor], pair: list[InfluenceRecord]
) -> dict[str, float | None]:
    first, second = (record.shares for record in pair)
    # A difference of maps is defined only where each cell has a partner.
    if first.shape != second.shape:
        return dict.fromkeys(("input_dependence", "last_row_dependence", "mixing_change"))
    return {
        "input_dependence": input_dependence(first, second),
        "last_row_dependence": input_dependence(first[-1], second[-1]),
        "mixing_change": mixing_change(model, *ids),
    }


def _rounded(record: InfluenceRecord) -> Found:
    """Return four significant digits; an exact 0 stays one and nothing else becomes one."""
    values = record.to_dict()
    # Four significant digits keep an exact 0 apart from a very small number.
    values["influence"] = [[float(f"{v:.4g}") for v in row] for row in values["influence"]]
    return values
