"""What a connection costs: each part small, against other definitions; no time is asserted."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from owi_core import masks, peers
from owi_core.corpora.recall import N_KEYS, RECALL_VOCABULARY
from owi_core.events import Control, Diverged, Evaluated, Finished, Paused, Started, Stopped
from owi_core.experiments import cost
from owi_core.experiments._kit.params import command
from owi_core.experiments.cost import (
    Params,
    depth,
    ranges,
    recall,
    scale,
)
from owi_core.experiments.cost import (
    outside as cost_outside,
)
from owi_core.experiments.cost import (
    time as cost_time,
)
from owi_core.experiments.cost.models import LoopedRnn, ranged, timed_models, written_out
from owi_core.experiments.cost.unit import Interrupted
from owi_core.masks import Reach
from owi_core.peers import Plan
from owi_core.probes.memory import peak_bytes
from tests.experiments.some import some
from tests.tiny import global_generator_untouched, refused, rng, some_ids, tiny_model, word_bundle

SMALL: dict[str, dict[str, Any]] = {
    "time": {"length": 40, "window": 5, "d_model": 8, "n_layer": 1},
    "ranges": {"length": 58, "window": 5, "d_model": 8},
    "outside": {"length": 16, "window": 3, "d_model": 16, "steps": 60, "lr": 1e-2},
    "scale": {"length": 16, "d_model": 16, "steps": 5},
    "depth": {"d_model": 8, "steps": 2, "batch_size": 8},
}


def small(part: str, **changes: Any) -> Params:
    return Params(part=part, **(SMALL[part] | changes))


@pytest.fixture(scope="module")
def results() -> dict[str, Finished]:
    found = {}
    for part in cost.PARTS:
        *_, last = cost.run(small(part))
        assert isinstance(last, Finished)
        found[part] = last
    return found


# What every part does


@pytest.mark.parametrize("part", list(cost.PARTS))
def test_each_part_ends_in_plain_numbers_and_a_verdict(part, results):
    finished = results[part]
    line = json.loads(json.dumps(finished.result))
    assert cost.RESULTS[part].from_dict(line).to_dict() == line
    assert set(finished.verdict) == {"code", "passed", "values"}


@pytest.mark.parametrize(
    ("part", "size"),
    [
        ("outside", RECALL_VOCABULARY),
        ("scale", RECALL_VOCABULARY),
        ("depth", word_bundle(family=depth.FAMILY).tokenizer.vocab_size),
        ("time", None),
        ("ranges", None),
    ],
)
def test_a_part_that_trains_says_ln_v(part: str, size: int | None) -> None:
    started = next(cost.run(small(part)))
    assert isinstance(started, Started)
    assert started.uniform_nats == (None if size is None else math.log(size))


@pytest.mark.parametrize("part", list(cost.PARTS))
def test_usual_values_fit_the_part_and_the_command_names_it(part):
    assert f"--set part={part}" in command("cost", Params(part=part))
    assert command("cost", Params(part=part)).count("--set") == 2  # part and seed


def test_heads_that_do_not_divide_the_width_are_refused():
    with refused("d_model_not_divisible", d_model=8, n_head=3):
        Params(d_model=8, n_head=3)


def test_each_unit_is_followed_by_what_is_known_so_far():
    events = list(cost.run(small("scale")))
    assert isinstance(events[0], Started)
    told = [e for e in events if isinstance(e, Evaluated)]
    assert [e.step for e in told] == [1, 2, 3] == list(range(1, events[0].steps + 1))
    assert [set(e.metrics) for e in told] == [set(), {"scaled"}, {"scaled", "unscaled"}]


def test_paused_run_keeps_its_units_and_measures_only_the_rest(tmp_path: Path):
    control = Control()
    params = small("ranges")
    for event in cost.run(params, tmp_path, control):
        if isinstance(event, Evaluated) and event.step == 3:
            control.request = "pause"
    assert event == Paused(3)
    kept = json.loads((tmp_path / "units.json").read_text("utf-8"))
    *_, last = cost.run(params, tmp_path, Control(), resume=True)
    by_kind = last.result["by_length"]["29"]
    assert [by_kind[name.split(".")[0]] for name in kept] == list(kept.values())


@pytest.mark.parametrize("part", list(cost.PARTS))
def test_stop_ends_a_run_before_its_next_unit(part):
    *_, last = cost.run(small(part), None, Control("stop"))
    assert last == Stopped(0)


class StopsAtLook(Control):
    """A wish to stop that comes while the work is under way."""

    looks = 0

    @property
    def request(self):
        self.looks += 1
        return "run" if self.looks <= 7 else "stop"

    @request.setter
    def request(self, _):
        pass


def test_stop_is_heard_inside_a_sweep():
    unit, control = cost_time.units(small("time"))[0], StopsAtLook()
    with pytest.raises(Interrupted):
        next(unit.measure(control))
    assert control.looks == 8


def test_stop_is_heard_inside_a_training():
    control = Control()
    training = cost_outside.units(small("outside"))[0].measure(control)
    assert next(training).step == 1
    control.request = "stop"
    with pytest.raises(Interrupted):
        next(training)


def test_training_that_diverges_says_so(monkeypatch):
    def broken(params, **more):
        model = right(params, **more)
        model.embedding.weight.data[0] = math.nan
        return model

    right = recall.transformer
    monkeypatch.setattr(recall, "transformer", broken)
    *_, last = cost.run(small("outside"))
    assert isinstance(last, Diverged)


# Time


def test_lengths_double_and_end_at_the_longest():
    assert cost_time.lengths_up_to(100) == [16, 32, 64, 100]
    assert cost_time.lengths_up_to(2048) == [16, 32, 64, 128, 256, 512, 1024, 2048]


def test_every_model_is_timed_at_every_length_and_says_why_it_stopped(results):
    models = results["time"].result["models"]
    assert set(models) == set(cost_time.KINDS)
    for part in models.values():
        assert set(part["step_seconds_by_length"]) <= {"16", "32", "40"}
        assert part["stopped"] in ("", "time", "memory")
        assert (part["stopped_at"] is None) == (part["stopped"] == "")


def test_attention_written_out_stops_where_its_matrices_pass_the_cap():
    *_, last = cost.run(small("time", length=512, cap_mb=2, cap_seconds=0.2))
    part = last.result["models"]["explicit"]
    assert part["stopped"] in ("memory", "time")
    per_matrix = 512 * 512 * 4 * 2
    assert cost_time.predicted_bytes("explicit", 512, small("time")) > 3 * per_matrix


def test_caps_are_kept(results):
    result = results["time"].result
    assert result["spent_seconds"] <= result["cap_seconds"]


def test_a_matrix_of_4096_tokens_is_64_mebibytes():
    assert cost_time.score_bytes(4096, 1, 1) == 64 * 2**20


@pytest.mark.parametrize(
    ("chain", "at"),
    [([1, 1, 1], 16), ([9, 3, 1], 64), ([9, 1, 9], None), ([9, 9, 9], None)],
)
def test_overtaking_holds_up_to_the_end(chain, at):
    lengths = ["16", "32", "64"]
    fused = dict.fromkeys(lengths, 2.0)
    assert cost_time.overtaken_at(dict(zip(lengths, chain, strict=True)), fused) == at


@pytest.mark.parametrize(
    ("chain", "code", "passed"),
    [
        ({"16": 9.0, "32": 0.5}, "chain_overtakes", True),
        ({"16": 0.5, "32": 0.5}, "chain_always", True),
        ({"16": 0.5, "32": 9.0}, "chain_never", True),
        ({}, "nothing_timed", False),
    ],
)
def test_time_verdict_is_chosen_by_the_times(chain, code, passed):
    times = {"lstm": chain, "transformer": {"16": 1.0, "32": 1.0}}
    models = {k: some(cost_time.Timed, step_seconds_by_length=s) for k, s in times.items()}
    result = some(cost_time.Result, models=models, spent_seconds=1.0, cap_seconds=2.0)
    said = cost_time.verdict(result)
    assert (said.code, said.passed) == (code, passed)


def test_all_timed_models_are_about_equally_large():
    with global_generator_untouched():
        models = dict(timed_models(Plan(64, 64), 32, Reach(8), 0))
    assert set(models) == set(cost_time.KINDS)
    assert peers.largest_difference([model.n_params for model in models.values()]) < 0.1


def test_rnn_in_a_python_loop_is_the_same_rnn():
    rnn = peers.make("rnn", Plan(13, recurrent_layers=2), 7, rng())
    ids = some_ids(3, 11)
    torch.testing.assert_close(LoopedRnn(rnn)(ids).logits, rnn(ids).logits, atol=1e-6, rtol=0)


# Ranges


@pytest.mark.parametrize("kind", ["full", "window", "window_global", "dilated", "shifted"])
def test_model_with_a_kernel_equals_the_model_with_the_mask(kind):
    model, reach = tiny_model(), Reach(3, 2, 2)
    ids = some_ids(2, 19)
    mask = masks.by_layer(kind, 19, 2, reach)[:, None, None]
    sparse = ranged(model, kind, reach)
    torch.testing.assert_close(sparse(ids).logits, model(ids, mask=mask).logits, atol=1e-4, rtol=0)
    assert sparse.n_params == model.n_params


def test_attention_written_out_is_the_same_model():
    model, ids = tiny_model(), some_ids(2, 19)
    torch.testing.assert_close(written_out(model)(ids).logits, model(ids).logits, atol=1e-4, rtol=0)


def test_every_kind_is_exact_and_has_its_time_and_memory(results):
    result = results["ranges"].result
    assert list(result["by_length"]) == ["29", "58"]
    for kinds in result["by_length"].values():
        assert set(kinds) == {*ranges.KINDS, "explicit"}
        for part in kinds.values():
            assert part["peak_bytes"] > 0
            assert part["step_seconds"] > 0
    assert 0 < result["difference_max"] <= 1e-5
    assert 0 < result["gradient_difference_max"] <= 1e-5


def test_a_kernel_that_is_wrong_would_be_seen(monkeypatch):
    right = ranges.ranges.window_attention
    monkeypatch.setattr(
        ranges.ranges, "window_attention", lambda q, k, v, size, g=0: right(q, k, v, size + 1)
    )
    wrong = ranges.differences("window", 29, small("ranges"))
    assert min(wrong.values()) > 1e-2


def test_explicit_attention_beyond_the_memory_cap_is_left_out_and_says_so():
    *_, last = cost.run(small("ranges", length=1024, cap_mb=2, window=64))
    part = last.result["by_length"]["1024"]["explicit"]
    assert part["stopped"] == "memory"
    assert part["needed_bytes"] > 2 * 2**20
    assert last.result["window_share"]["1024"]["memory_of_explicit"] is None
    assert last.verdict["code"] in ("memory_unknown", "window_slower")


@pytest.mark.parametrize(
    ("time", "memory", "difference", "code"),
    [
        (0.5, 0.5, 1e-6, "window_wins"),
        (1.5, 0.5, 1e-6, "window_slower"),
        (0.5, 1.5, 1e-6, "window_larger"),
        (0.5, 0.5, 1e-3, "window_differs"),
        (0.5, None, 1e-6, "memory_unknown"),
    ],
)
def test_ranges_verdict_is_chosen_by_the_numbers(time, memory, difference, code):
    share = ranges.WindowShare(time, memory, 1.0)
    result = some(ranges.Result, difference_max=difference, window_share={"64": share})
    said = ranges.verdict(result)
    assert (said.code, said.passed) == (code, code == "window_wins")


def test_peak_counts_what_is_held_at_one_time():
    def two_at_once():
        a = torch.zeros(1000)
        return a + 1

    def one_after_another():
        for _ in range(5):
            torch.zeros(1000)

    assert 8000 <= peak_bytes(two_at_once) < 9000
    assert 4000 <= peak_bytes(one_after_another) < 5000


def test_predicted_memory_of_explicit_attention_is_about_what_it_held():
    q, k, v = (torch.randn(1, 2, 512, 8, requires_grad=True) for _ in range(3))
    mask = masks.causal(512)
    held = peak_bytes(lambda: ranges.ranges.explicit_attention(q, k, v, mask).sum().backward())
    assert held == pytest.approx(ranges.MATRICES_HELD * 2 * 512 * 512 * 4, rel=0.15)


# Outside the window


def test_training_shows_every_distance_about_equally_often():
    data = recall.training_data(small("outside"))
    is_word = data.ids < N_KEYS
    assert (is_word.sum(dim=1) == 1).all()
    assert data.ids[is_word].tolist() == data.targets.flatten().tolist()
    counts = is_word.sum(dim=0)[:-1]  # (T − 1,), the last position asks
    assert counts.min() > 0.8 * counts.max()


def test_word_that_nothing_links_changes_not_one_bit(results):
    for kind, part in results["outside"].result["kinds"].items():
        assert part["outside_change_max"] == 0.0, kind


def test_a_word_within_reach_does_change_the_answer():
    params = small("outside")
    model = ranged(recall.transformer(params), "full", params.reach)
    # The full model asked as if it had a window: what it sees outside must be noticed.
    assert cost_outside.ask(model, "window", params)["outside_change_max"] > 0


def test_accuracy_is_told_for_every_distance_and_linked_as_the_masks_say(results):
    window = results["outside"].result["kinds"]["window"]
    assert list(window["accuracy_by_distance"]) == [str(d) for d in range(1, 16)]
    assert window["linked_by_distance"] == [d <= 2 * (3 - 1) for d in range(1, 16)]
    assert results["outside"].result["kinds"]["full"]["accuracy_outside"] is None


@pytest.mark.parametrize(
    ("full", "inside", "outside", "change", "code"),
    [
        (1.0, 1.0, 0.06, 0.0, "stops_dead"),
        (1.0, 1.0, 0.5, 0.0, "luckier_than_chance"),
        (0.5, 1.0, 0.06, 0.0, "not_learned_yet"),
        (1.0, 1.0, None, 0.0, "nothing_outside"),
        (1.0, 1.0, 0.06, 0.1, "leaks"),
    ],
)
def test_outside_verdict_is_chosen_by_the_numbers(full, inside, outside, change, code):
    window = some(
        cost_outside.Kind,
        accuracy_one_layer=inside,
        accuracy_outside=outside,
        outside_change_max=change,
    )
    kinds = {"full": some(cost_outside.Kind, accuracy_all=full), "window": window}
    said = cost_outside.verdict(some(cost_outside.Result, kinds=kinds))
    assert (said.code, said.passed) == (code, code == "stops_dead")


# √d_k


def test_undivided_scores_spread_as_the_root_of_the_width(results):
    spread = results["scale"].result["by_d_head"]
    for D in scale.D_HEADS:
        both = spread[str(D)]
        assert both["unscaled"]["std"] == pytest.approx(math.sqrt(D), rel=0.1)
        assert both["unscaled"]["std"] / both["scaled"]["std"] == pytest.approx(math.sqrt(D))
    entropies = [spread[str(D)]["unscaled"]["entropy_nats"] for D in scale.D_HEADS]
    assert entropies == sorted(entropies, reverse=True)


def test_gradient_through_the_softmax_is_its_jacobian():
    q = torch.randn(1, 1, 3, 8, generator=rng()).requires_grad_()
    k = torch.randn(1, 1, 64, 8, generator=rng(2))
    scores = q @ k.transpose(-1, -2) / 8**0.5
    upstream = torch.randn(1, 1, 3, 64, generator=rng(1))
    p = scores.detach().softmax(dim=-1)
    through = p * (upstream - (p * upstream).sum(dim=-1, keepdim=True))
    at_q = through @ k / 8**0.5
    found = scale._of_rows(scores, upstream, q)
    assert found["gradient_norm"] == pytest.approx(float(through.norm(dim=-1).mean()), rel=1e-5)
    assert found["gradient_at_q_median"] == pytest.approx(float(at_q.norm(dim=-1).median()))


def test_without_the_division_scores_get_less_gradient_and_q_gets_more():
    for seed in range(8):
        both = scale.spread_of(128, seed)
        scores, q = (
            both["unscaled"][name] / both["scaled"][name]
            for name in ("gradient_norm_median", "gradient_at_q_median")
        )
        assert scores < 0.5
        assert q > 2


def test_both_models_of_the_scale_begin_from_the_same_weights():
    params = small("scale")
    on, off = (recall.transformer(params, scale_scores=s) for s in (True, False))
    assert all(a.equal(b) for a, b in zip(on.parameters(), off.parameters(), strict=True))


@pytest.mark.parametrize(
    ("entropy", "losses", "code"),
    [
        (0.4, [3.0, 2.0], "sharp_slower"),
        (0.4, [1.0, 1.0], "sharp_no_slower"),
        (3.6, [3.0, 2.0], "alike_slower"),
        (3.6, [1.0, 1.0], "alike_no_slower"),
    ],
)
def test_scale_verdict_is_chosen_by_the_numbers(entropy, losses, code):
    largest = {
        "scaled": some(scale.Rows, entropy_nats=3.7),
        "unscaled": some(scale.Rows, entropy_nats=entropy),
    }
    result = some(
        scale.Result,
        by_d_head={"128": largest},
        scaled=scale.Trained([1.0, 1.0], 1.0),
        unscaled=scale.Trained(losses, 1.0),
    )
    said = scale.verdict(result)
    assert (said.code, said.passed) == (code, code == "sharp_slower")


# The claims at full size


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_window_stops_dead_outside_its_reach_while_full_range_answers(seed):
    *_, last = cost.run(Params(part="outside", seed=seed))
    assert last.verdict["code"] == "stops_dead"
    kinds = last.result["kinds"]
    assert kinds["window"]["accuracy_relayed"] > 0.5
    assert kinds["linear"]["accuracy_all"] >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_windows_at_4096_positions_are_exact_and_smaller_than_explicit_attention(seed):
    *_, last = cost.run(Params(part="ranges", seed=seed))
    assert last.result["difference_max"] <= 1e-5
    assert last.result["gradient_difference_max"] <= 1e-5
    for share in last.result["window_share"].values():
        assert share["memory_of_explicit"] < 1


# Depth and heads


def test_each_size_of_the_grid_is_a_model_of_its_own(results):
    sizes = results["depth"].result["sizes"]
    assert list(sizes) == [depth.name_of(*size) for size in depth.GRID]
    for layers in depth.LAYERS:
        # Heads part the same width among them: they cost no parameters.
        counts = {sizes[depth.name_of(layers, h)]["n_params"] for h in depth.HEADS}
        assert len(counts) == 1
    assert sizes["2x1"]["n_params"] > sizes["1x1"]["n_params"]
    assert len(sizes["2x8"]["attention_by_layer"]) == 2


@pytest.mark.parametrize(
    ("one", "two", "code", "least"),
    [
        ((0.5, 0.5, 0.48, 0.51), (1.0, 1.0, 1.0, 1.0), "depth_and_one_head", 1),
        ((0.5, 0.5, 0.48, 0.51), (0.6, 0.99, 1.0, 1.0), "depth_and_heads", 2),
        ((0.5, 0.7, 0.8, 0.8), (1.0, 1.0, 1.0, 1.0), "depth_helps", 1),
        ((0.5, 0.5, 0.5, 0.96), (1.0, 1.0, 1.0, 1.0), "depth_not_needed", 1),
        ((0.5, 0.5, 0.5, 0.5), (0.6, 0.7, 0.8, 0.9), "depth_not_learned", 8),
    ],
)
def test_what_is_said_of_depth_follows_the_accuracies(one, two, code, least):
    accuracies = dict(zip(depth.GRID, [*one, *two], strict=True))
    sizes = {
        depth.name_of(*size): some(depth.Size, accuracy_heldout=share)
        for size, share in accuracies.items()
    }
    said = depth.verdict(some(depth.Result, sizes=sizes))
    assert (said.code, said.values["least_heads"]) == (code, least)


@pytest.mark.slow
def test_two_layers_learn_what_one_cannot():
    *_, last = cost.run(Params(part="depth"))
    assert last.verdict["values"]["one_layer"] <= 0.65
    assert last.verdict["values"]["two_layers"] >= 0.95
