"""The feedback lab: what a cache changes and costs, when it may be kept, and what repeats."""

from pathlib import Path
from typing import Any

import pytest
import torch

from owi_core.checkpoints import load
from owi_core.events import Control, Evaluated, Event, Finished, Paused, Started, Stopped, to_json
from owi_core.experiments import feedback
from owi_core.experiments.feedback import TEMPERATURES, Params, Result, lengths, verdict
from owi_core.probes.cache import (
    cached_logits,
    past_moves,
    recomputed_logits,
    relative_difference,
    repeated_share,
)
from tests.experiments.some import some
from tests.tiny import global_generator_untouched, some_ids, tiny_model

SMALL: dict[str, Any] = {
    "longest": 16, "rounds": 2, "d_model": 8, "n_layer": 1, "n_written": 8, "steps": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Event], Path]:
    folder = tmp_path_factory.mktemp("feedback")
    with global_generator_untouched():
        return list(feedback.run(Params(**SMALL), folder)), folder


def result_of(events: list[Event]) -> dict[str, Any]:
    assert isinstance(events[-1], Finished)
    return events[-1].result


def test_a_run_tells_each_round_and_its_result_is_json(finished: tuple[list[Event], Path]) -> None:
    events, _ = finished
    assert isinstance(events[0], Started)
    assert [e.step for e in events if isinstance(e, Evaluated)] == [1, 2]
    assert all(to_json(event) for event in events)
    result = result_of(events)
    assert len(result["seconds_full"]) == len(result["seconds_kv_cache"]) == 1
    assert list(result["repeated_share"]) == [str(t) for t in TEMPERATURES]
    assert result["recited"][0] == "0.1"  # the shipped model knows its text


def test_within_the_block_nothing_differs_and_past_it_something_does(
    finished: tuple[list[Event], Path],
) -> None:
    result = result_of(finished[0])
    assert 0 < result["kv_cache_max_diff"] <= 1e-5
    assert result["same_text"]
    assert len(result["past_block_diff"]) == result["block_size"] == 64
    assert min(result["past_block_diff"]) > 1e-3
    assert result["past_moves_masked"] < 1e-5 < 1e-3 < result["past_moves_unmasked"]


def test_the_unfinished_model_is_left_in_the_folder(finished: tuple[list[Event], Path]) -> None:
    bundle = load(finished[1])
    assert bundle.note["params"]["steps"] == 1
    assert bundle.model.config.d_model == 8


def test_the_same_seed_measures_the_same_but_for_the_clock(
    finished: tuple[list[Event], Path],
) -> None:
    clock = {"seconds_full", "seconds_kv_cache", "speedup"}
    again = result_of(list(feedback.run(Params(**SMALL))))
    first = result_of(finished[0])
    assert {k: v for k, v in again.items() if k not in clock} == {
        k: v for k, v in first.items() if k not in clock
    }


@pytest.mark.parametrize(("request_", "kind"), [("stop", Stopped), ("pause", Paused)])
def test_a_run_can_be_ended_after_any_round(request_: Any, kind: type[Event]) -> None:
    events = list(feedback.run(Params(**SMALL), control=Control(request_)))
    assert [type(e) for e in events] == [Started, Evaluated, kind]


def test_lengths_double_up_to_the_longest() -> None:
    assert lengths(16) == [16]
    assert lengths(100) == [16, 32, 64, 100]
    assert lengths(256) == [16, 32, 64, 128, 256]


@pytest.mark.parametrize(
    ("change", "code", "passed"),
    [
        ({}, "agrees_and_faster", True),
        ({"speedup": [1.0, 2.9]}, "agrees_hardly_faster", False),
        ({"kv_cache_max_diff": 1.1e-5}, "differs", False),
        ({"same_text": False}, "differs", False),
    ],
)
def test_the_verdict_is_chosen_by_what_was_measured(
    change: dict[str, Any], code: str, passed: bool
) -> None:
    usual = {
        "kv_cache_max_diff": 1e-6, "same_text": True, "speedup": [1.0, 3.0], "lengths": [16, 32],
        "past_block_max_diff": 0.4, "block_size": 64,
    }  # fmt: skip
    found = verdict(some(Result, **(usual | change)))
    assert (found.code, found.passed) == (code, passed)


def test_a_run_of_tokens_repeats_when_it_stood_there_before() -> None:
    assert repeated_share("abcdefgh") == 0
    assert repeated_share("aaaaaaaa") == pytest.approx(4 / 5)
    assert repeated_share("abcdabcd") == pytest.approx(1 / 5)
    assert repeated_share("abc") == 0
    assert repeated_share([1, 1, 1], n=2) == 0.5


def test_recomputed_logits_are_each_windows_last() -> None:
    model, text = tiny_model(), some_ids(29).tolist()  # block 23
    logits = recomputed_logits(model, text)
    with torch.no_grad():
        for t in (0, 10, 22, 23, 28):
            window = text[max(0, t - 22) : t + 1]
            assert torch.allclose(logits[t], model(torch.tensor([window])).logits[0, -1], atol=1e-5)


def test_a_rolling_cache_parts_past_the_block_and_not_before() -> None:
    model, text = tiny_model(), some_ids(29).tolist()
    apart = relative_difference(cached_logits(model, text), recomputed_logits(model, text))
    assert float(apart[:23].max()) < 1e-5
    assert float(apart[23:].min()) > 1e-4


def test_one_layer_without_positions_parts_nowhere() -> None:
    """Nothing kept then holds a place or what was read of a dropped token: keys are the words'."""
    model, text = tiny_model(n_layer=1, positions="none"), some_ids(29).tolist()
    apart = relative_difference(cached_logits(model, text), recomputed_logits(model, text))
    assert float(apart.max()) < 1e-5


def test_without_a_mask_a_new_token_moves_the_results_before_it() -> None:
    model, text = tiny_model(), some_ids(9).tolist()
    assert past_moves(model, text, masked=True) < 1e-5
    assert past_moves(model, text, masked=False) > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_at_full_size_the_cache_changes_nothing_and_the_cold_text_repeats(seed: int) -> None:
    result = result_of(list(feedback.run(Params(seed=seed))))
    assert result["kv_cache_max_diff"] <= 1e-5
    assert result["same_text"]
    assert result["lengths"][-1] == 256
    share = result["repeated_share"]
    assert share["0.1"] >= 0.3
    assert share["0.1"] > share["1.0"] + 0.2
