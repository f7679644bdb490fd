"""The translation lab's engine: its events, its result, and what a full training reaches."""

from pathlib import Path
from typing import Any

import pytest

from owi_core.corpora.translation import sentence_pairs
from owi_core.events import Control, Evaluated, Event, Finished, Paused, Snapshot, Started, StepDone
from owi_core.experiments.translation import N_LIVE, Params, Result, by_length, run
from owi_core.experiments.translation.results import verdict
from owi_core.translator_file import load

SMALL = {"steps": 12, "batch_size": 4, "n_train": 100, "d_model": 16}


def of_kind(kind: type[Any], events: list[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def finished(params: Params, folder: Path | None = None) -> Result:
    *_, last = run(params, folder)
    assert isinstance(last, Finished)
    return Result.from_dict(last.result)


def made(**values: object) -> Result:
    usual = {
        "exact_heldout": 1.0, "exact_heldout_frame": 0.0, "exact_by_length": {"5": 1.0},
        "alignment_argmax": [0.8, 0.98], "alignment_mass": [0.7, 0.9],
        "cut_gold_nats_median": 6.0, "cut_other_nats_median": 0.0, "cross_keys_bytes": 1,
        "self_keys_bytes_per_word": 1, "n_params": 1, "steps": 1, "train_seconds": 1.0,
    }  # fmt: skip
    return Result(**(usual | values))  # type: ignore[arg-type]


def test_a_run_reports_its_alignment_on_the_way_and_leaves_the_model(tmp_path: Path) -> None:
    events = list(run(Params(**SMALL), tmp_path))  # type: ignore[arg-type]
    assert isinstance(events[0], Started)
    shots = of_kind(Snapshot, events)
    assert [shot.step for shot in shots] == [0, 10, 12]
    for shot in shots:
        (first, *_), *_ = shot.pattern
        assert len(first) == len(shot.tokens)
        assert len(first[0]) == len(shot.keys)
        assert sum(first[0]) == pytest.approx(1, abs=1e-3)
    assert len(of_kind(StepDone, events)) == 12
    assert of_kind(Evaluated, events)[-1].metrics["transformer.exact_heldout"] == 0.0
    last = events[-1]
    assert isinstance(last, Finished)
    assert load(tmp_path).note["result"] == last.result
    assert Result.from_dict(last.result).exact_heldout == 0.0
    assert last.verdict["code"] == "not_learned"


def test_a_paused_run_goes_on_to_the_same_end(tmp_path: Path) -> None:
    params = Params(**SMALL)  # type: ignore[arg-type]
    whole = [e.loss_nats for e in of_kind(StepDone, list(run(params)))]
    control, losses = Control(), []
    for event in run(params, tmp_path, control):
        if isinstance(event, StepDone):
            losses.append(event.loss_nats)
            if event.step == 5:
                control.request = "pause"
    assert isinstance(event, Paused)
    rest = of_kind(StepDone, list(run(params, tmp_path, resume=True)))
    assert losses + [e.loss_nats for e in rest] == whole


def test_the_road_before_is_trained_on_the_same_pairs_and_changes_nothing() -> None:
    alone = finished(Params(**SMALL))  # type: ignore[arg-type]
    both = finished(Params(**SMALL, against="gru"))  # type: ignore[arg-type]
    assert set(alone.sides) == {"transformer"}
    assert set(both.sides) == {"transformer", "gru", "gru_no_attention"}
    assert both.alignment_mass == alone.alignment_mass
    for side in both.sides.values():
        assert set(side.exact_by_length) == {str(n) for n in range(4, 8)}
        assert side.n_params == pytest.approx(alone.n_params, rel=0.1)


@pytest.mark.parametrize("corpus", ["numbers", "dates"])
def test_numbers_and_dates_run_without_a_held_out_frame(corpus: str) -> None:
    assert finished(Params(**SMALL, corpus=corpus)).exact_heldout_frame is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({}, "aligned"),
        ({"exact_heldout": 0.98}, "not_learned"),
        ({"alignment_argmax": [0.8, 0.96]}, "right_not_aligned"),
        ({"alignment_mass": [0.7, 0.8]}, "right_not_aligned"),
    ],
)
def test_the_verdict_is_chosen_by_the_numbers(values: dict[str, object], code: str) -> None:
    found = verdict(made(**values))
    assert found.code == code
    assert found.values["layer"] == 2


def test_exact_translations_are_counted_by_the_length_of_the_source() -> None:
    pairs = sentence_pairs(0, N_LIVE, "heldout")
    right = [len(pair.source) > 5 for pair in pairs]
    assert by_length(pairs, right) == {"4": 0.0, "5": 0.0, "6": 1.0, "7": 1.0}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_held_out_sentences_are_translated_and_their_rows_point_at_the_source(seed: int) -> None:
    result = finished(Params(seed=seed))
    assert result.exact_heldout >= 0.99
    assert max(result.alignment_argmax) >= 0.97
    assert max(result.alignment_mass) >= 0.85
    assert result.cut_gold_nats_median >= 2
    assert result.cut_other_nats_median <= 0.5


@pytest.mark.slow
@pytest.mark.parametrize("corpus", ["numbers", "dates"])
def test_numbers_and_dates_never_seen_are_written(corpus: str) -> None:
    result = finished(Params(corpus=corpus))
    assert result.exact_heldout >= 0.98
    assert max(result.alignment_argmax) >= 0.9
