"""An encoder–decoder learns to translate; which source word each word comes from is known.

On the same pairs, by wish, two GRU encoder–decoders of about the same size: one with additive
attention, one without.
"""

import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from owi_core.corpora.translation import Pair
from owi_core.encoder_decoder import EncoderDecoder
from owi_core.events import Control, Event, Finished, Snapshot, Started, StepDone
from owi_core.experiments._kit.params import note_of, recipe
from owi_core.experiments._kit.race import Race, load_races, run_races
from owi_core.experiments.translation.results import Result, Side, verdict
from owi_core.experiments.translation.settings import (
    CORPORA,
    GRU,
    GRU_NO_ATTENTION,
    Params,
    languages_of,
)
from owi_core.recurrent_translation import RecurrentConfig, RecurrentTranslator, width_for
from owi_core.training import Trainer
from owi_core.translating import (
    Languages,
    Translator,
    alignment,
    cross_keys_bytes,
    cut_changes,
    encode_pairs,
    exact,
    self_keys_bytes,
    share,
)
from owi_core.translator_file import TranslatorBundle, save

NAME = "translation"
OURS = "transformer"
N_HELDOUT, N_FRAME, N_LIVE, N_CUT = 400, 100, 60, 60
LIVE_EVERY, SNAPSHOT_EVERY = 25, 10
__all__ = ["NAME", "Params", "Result", "run"]


@dataclass(frozen=True)
class Prepared:
    """A run before its first step: models and trainers by name, ours first."""

    languages: Languages
    heldout: tuple[Pair, ...]
    models: dict[str, Any]
    trainers: dict[str, Trainer]

    @property
    def model(self) -> EncoderDecoder:
        """The encoder–decoder with attention."""
        model = self.models[OURS]
        assert isinstance(model, EncoderDecoder)
        return model


def run(
    params: Params,
    folder: Path | None = None,
    control: Control | None = None,
    resume: bool = False,
) -> Iterator[Event]:
    """Train, with the alignment of one held-out pair on the way; then measure."""
    prepared = prepare(params)
    race = Race(OURS, prepared.trainers, lambda: live(prepared), LIVE_EVERY)
    if resume and folder is not None:
        load_races([race], folder)
    yield Started(NAME, asdict(params), recipe(NAME, params), race.steps, prepared.model.n_params)
    if prepared.trainers[OURS].step == 0:
        yield watched(prepared, 0)
    for event in run_races([race], folder, control or Control()):
        yield event
        if isinstance(event, StepDone) and _is_shown(event):
            yield watched(prepared, event.step)
    if not race.finished:
        return
    result = measure(params, prepared)
    if folder is not None:
        note = note_of(NAME, params, private=False) | {"result": result.to_dict()}
        save(TranslatorBundle(prepared.model, prepared.languages, note), folder)
    yield Finished(NAME, asdict(params), result.to_dict(), verdict(result).to_dict())


def prepare(params: Params) -> Prepared:
    """Generate the pairs, draw the models; all from params.seed."""
    corpus, languages = CORPORA[params.corpus], languages_of(params.corpus)
    data = encode_pairs(corpus.pairs(params.seed, params.n_train, "train"), languages)
    ours = EncoderDecoder(params.model_config(languages), _rng(params))
    models: dict[str, Any] = {OURS: ours}
    if params.against == GRU:
        for name in (GRU, GRU_NO_ATTENTION):
            models[name] = _recurrent(params, languages, ours.n_params, attention=name == GRU)
    trainers = {name: Trainer(m, data, params.train_config()) for name, m in models.items()}
    heldout = corpus.pairs(params.seed, N_HELDOUT, "heldout")
    return Prepared(languages, heldout, models, trainers)


def live(prepared: Prepared) -> dict[str, float]:
    """Return what is measured while the models train, on some held-out pairs."""
    some = prepared.heldout[:N_LIVE]
    found = {
        f"{name}.exact_heldout": share(exact(model, some, prepared.languages))
        for name, model in prepared.models.items()
    }
    found["alignment"] = max(alignment(prepared.model, some, prepared.languages).argmax)
    return found | {"accuracy_heldout": found[f"{OURS}.exact_heldout"]}


@torch.no_grad()
def watched(prepared: Prepared, step: int) -> Snapshot:
    """Return the cross-attention of the first held-out pair, its right words being given."""
    pair = prepared.heldout[0]
    data = encode_pairs([pair], prepared.languages)
    assert data.source is not None
    model = prepared.model.eval()
    pattern = model(data.ids, source=data.source, explicit=True).cross_pattern[:, 0]
    # The last row, of the last word, chooses the end mark: no gold belongs to it.
    rows = pattern[:, :, : len(pair.target)].double().numpy().round(4).tolist()
    return Snapshot(step, list(pair.target), 0, rows, list(pair.source))


def measure(params: Params, prepared: Prepared) -> Result:
    """Return what the finished run is worth, on held-out pairs."""
    model, languages, heldout = prepared.model, prepared.languages, prepared.heldout
    frame = CORPORA[params.corpus].pairs(params.seed, N_FRAME, "frame")
    new_frame = share(exact(model, frame, languages)) if params.corpus == "sentences" else None
    looked = alignment(model, heldout, languages)
    cuts = [cut_changes(model, pair, languages) for pair in heldout[:N_CUT]]
    own = [value for lost, _ in cuts for value in lost]
    others = [abs(value) for _, lost in cuts for value in lost]
    sides = {
        name: _side(each, prepared.trainers[name], prepared)
        for name, each in prepared.models.items()
    }
    ours = sides.pop(OURS)
    return Result(
        exact_heldout=ours.exact_heldout,
        exact_heldout_frame=new_frame,
        exact_by_length=ours.exact_by_length,
        alignment_argmax=_rounded(looked.argmax),
        alignment_mass=_rounded(looked.mass),
        cut_gold_nats_median=round(statistics.median(own), 4),
        cut_other_nats_median=round(statistics.median(others), 4),
        cross_keys_bytes=cross_keys_bytes(model, len(heldout[0].source)),
        self_keys_bytes_per_word=self_keys_bytes(model),
        n_params=ours.n_params,
        steps=prepared.trainers[OURS].config.steps,
        train_seconds=ours.train_seconds,
        **sides,
    )


def by_length(pairs: Sequence[Pair], right: Sequence[bool]) -> dict[str, float]:
    """Return the share of exact translations by the number of source words."""
    groups: defaultdict[int, list[bool]] = defaultdict(list)
    for pair, each in zip(pairs, right, strict=True):
        groups[len(pair.source)].append(each)
    return {str(length): round(share(groups[length]), 4) for length in sorted(groups)}


def _side(model: Translator, trainer: Trainer, prepared: Prepared) -> Side:
    right = exact(model, prepared.heldout, prepared.languages)
    return Side(
        exact_heldout=round(share(right), 4),
        exact_by_length=by_length(prepared.heldout, right),
        n_params=trainer.model.n_params,  # type: ignore[attr-defined]
        train_seconds=round(trainer.seconds, 2),
    )


def _recurrent(
    params: Params, languages: Languages, n_params: int, *, attention: bool
) -> RecurrentTranslator:
    sizes = (languages.source.vocab_size, languages.target.vocab_size)
    width = width_for(*sizes, n_params, attention=attention)
    return RecurrentTranslator(RecurrentConfig(*sizes, width, attention), _rng(params))


def _rng(params: Params) -> torch.Generator:
    # A new one for each model, so that ours is the same whether or not others train beside it.
    return torch.Generator().manual_seed(params.seed)


def _is_shown(event: StepDone) -> bool:
    # At most 60 snapshots of a run are kept.
    every = max(SNAPSHOT_EVERY, -(-event.steps // 58))
    return event.step % every == 0 or event.step == event.steps


def _rounded(values: Sequence[float]) -> list[float]:
    return [round(value, 4) for value in values]
