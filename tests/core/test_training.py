"""Training: the same numbers each time, also through a pause; rates by hand; and how it ends."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from owi_core.config import TrainConfig
from owi_core.errors import RunError
from owi_core.events import Control, Diverged, Event, StepDone
from owi_core.model import Transformer
from owi_core.muon import Muon
from owi_core.training import (
    IGNORED,
    Batch,
    Dataset,
    Trainer,
    _seed_of_step,
    loss_nats,
    lr_factor,
    windows,
)
from tests import tiny

BLOCK = 7


def text() -> Tensor:
    return tiny.some_ids(59)


def trainer(model: dict[str, Any] | None = None, **settings: Any) -> Trainer:
    config = TrainConfig(**({"steps": 6, "batch_size": 5, "warmup_steps": 2} | settings))
    transformer = Transformer(tiny.tiny_config(n_head=2, d_model=8, **(model or {})), tiny.rng(3))
    return Trainer(transformer, windows(text(), BLOCK), config)


def finished(one: Trainer) -> Trainer:
    for _ in one.steps():
        pass
    return one


def weights(one: Trainer) -> Tensor:
    return torch.cat([p.detach().flatten() for p in one.model.parameters()])


KINDS = [
    {"optimizer": "adamw"},
    {"optimizer": "adam", "schedule": "cosine", "clip_norm": 0.0},
    {"optimizer": "muon", "lr": 1e-2},
    {"optimizer": "adamw", "schedule": "noam", "lr": 1.0, "weight_decay": 0.1},
]


@pytest.mark.parametrize("settings", KINDS)
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_same_recipe_gives_the_same_numbers_bit_for_bit(
    settings: dict[str, Any], dropout: float
) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        one = finished(trainer({"dropout": dropout}, **settings))
        torch.manual_seed(2)
        two = finished(trainer({"dropout": dropout}, **settings))
    assert one.losses == two.losses
    assert torch.equal(weights(one), weights(two))


def test_dropout_stays_on_after_a_measurement_between_two_steps() -> None:
    undisturbed, measured = (trainer({"dropout": 0.5}) for _ in range(2))
    finished(undisturbed)
    for _ in measured.steps():
        measured.model.eval()
    assert measured.losses == undisturbed.losses


def test_no_two_steps_of_neighbouring_seeds_draw_the_same_batch() -> None:
    seeds = {_seed_of_step(seed, step) for seed in range(50) for step in range(200)}
    assert len(seeds) == 50 * 200


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "muon"])
def test_every_parameter_gets_the_configured_rate_and_decay(optimizer: str) -> None:
    one = trainer(optimizer=optimizer, lr=0.02, weight_decay=0.3)
    groups = [group for each in one._optimizers for group in each.param_groups]
    assert {(group["lr"], group["weight_decay"]) for group in groups} == {(0.02, 0.3)}
    reached = sum(p.numel() for group in groups for p in group["params"])
    assert reached == one.model.n_params


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_decay_is_decoupled_from_the_gradient_but_not_in_adam(optimizer: str) -> None:
    """With a gradient of 0 decoupled decay shrinks each weight by lr · decay, as a share of it."""
    for name, decoupled in ((optimizer, True), ("adam", False)):
        one = trainer(optimizer=name, lr=0.02, weight_decay=0.3)
        before = weights(one)
        for parameter in one.model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        for each in one._optimizers:
            each.step()
        shrunk = torch.allclose(weights(one), before * (1 - 0.02 * 0.3), atol=1e-7)
        assert shrunk == decoupled


@pytest.mark.parametrize(("decay", "equal"), [(0.0, True), (0.3, False)])
def test_adam_and_adamw_are_the_same_to_the_last_bit_without_decay(
    decay: float, equal: bool
) -> None:
    losses = [
        finished(trainer(optimizer=name, lr=0.02, weight_decay=decay)).losses
        for name in ("adam", "adamw")
    ]
    assert (losses[0] == losses[1]) == equal


def test_another_seed_draws_other_batches() -> None:
    assert finished(trainer(seed=0)).losses != finished(trainer(seed=1)).losses


def test_dropout_differs_from_step_to_step() -> None:
    frozen = trainer({"dropout": 0.5}, lr=1e-7, schedule="constant", batch_size=1)
    # One window only: only the dropout differs from step to step.
    frozen.data = Dataset(frozen.data.ids[:1], frozen.data.targets[:1])
    assert len({round(loss, 4) for loss in finished(frozen).losses}) == 6


def stops_after(one: Trainer, n: int) -> Iterator[Event]:
    control = Control()
    for event in one.steps(control):
        yield event
        if one.step == n:
            control.request = "pause"


@pytest.mark.parametrize("settings", KINDS)
@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("n", [1, 4])
def test_paused_and_resumed_run_is_the_uninterrupted_one_bit_for_bit(
    tmp_path: Path, settings: dict[str, Any], dropout: float, n: int
) -> None:
    model = {"dropout": dropout}
    whole = finished(trainer(model, **settings))
    first = trainer(model, **settings)
    assert len(list(stops_after(first, n))) == n
    first.save_state(tmp_path)
    second = trainer(model, **settings)
    second.load_state(tmp_path)
    assert second.step == n
    assert second.seconds == first.seconds
    finished(second)
    assert second.losses == whole.losses
    assert torch.equal(weights(second), weights(whole))


def test_run_paused_before_its_first_step_can_go_on(tmp_path: Path) -> None:
    trainer().save_state(tmp_path)
    second = trainer()
    second.load_state(tmp_path)
    assert finished(second).losses == finished(trainer()).losses


def test_run_paused_twice_can_go_on(tmp_path: Path) -> None:
    one = trainer()
    for n in (2, 4):
        list(stops_after(one, n))
        one.save_state(tmp_path)
        one = trainer()
        one.load_state(tmp_path)
    assert finished(one).losses == finished(trainer()).losses


def saved(folder: Path, n: int = 3, **settings: Any) -> Path:
    one = trainer(**settings)
    list(stops_after(one, n))
    one.save_state(folder)
    return folder


@pytest.mark.parametrize("name", ["state.json", "state.safetensors"])
@pytest.mark.parametrize("content", [None, b"", b"\x00\xff", b"[]", b"{}", b'{"version": 2}'])
def test_damaged_state_is_refused(tmp_path: Path, name: str, content: bytes | None) -> None:
    path = saved(tmp_path) / name
    path.unlink() if content is None else path.write_bytes(content)
    with tiny.refused("state_unreadable", RunError):
        trainer().load_state(tmp_path)


@pytest.mark.parametrize(
    "spoil",
    [
        {"version": 2},
        {"step": 9, "losses": [1.0] * 9},
        {"step": 2, "losses": [1.0]},
        {"step": -1, "losses": []},
        {"losses": [None, 1.0, 1.0]},
        {"losses": None},
        {"seconds": []},
        {"step": "x"},
        {"settings": {}},
    ],
)
def test_state_that_contradicts_itself_is_refused(tmp_path: Path, spoil: dict[str, Any]) -> None:
    path = saved(tmp_path) / "state.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | spoil))
    with tiny.refused("state_unreadable", RunError):
        trainer().load_state(tmp_path)


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ({"n_layer": 1}, {}),
        ({"d_mlp": 1}, {}),
        ({"tie_weights": False}, {}),
        ({}, {"optimizer": "muon"}),
        ({}, {"steps": 2}),
        ({}, {"lr": 1e-4}),
    ],
)
def test_state_of_another_run_is_refused(
    tmp_path: Path, model: dict[str, Any], settings: dict[str, Any]
) -> None:
    saved(tmp_path, optimizer="adamw")
    with tiny.refused("state_unreadable", RunError):
        trainer(model, **settings).load_state(tmp_path)


def test_state_of_muon_is_refused_by_adam(tmp_path: Path) -> None:
    saved(tmp_path, optimizer="muon")
    with tiny.refused("state_unreadable", RunError):
        trainer(optimizer="adam").load_state(tmp_path)


def test_training_leaves_the_global_generator_as_it_was() -> None:
    one = trainer({"dropout": 0.3})
    with tiny.global_generator_untouched():
        finished(one)


def test_each_step_is_reported_with_its_rate_and_its_end_in_sight() -> None:
    one = trainer(steps=4, lr=0.5, schedule="linear", warmup_steps=2)
    events = list(one.steps())
    assert all(isinstance(event, StepDone) for event in events)
    assert [event.step for event in events] == [1, 2, 3, 4]
    assert [event.lr for event in events] == pytest.approx([0.25, 0.5, 1 / 3, 1 / 6])
    assert [event.loss_nats for event in events] == one.losses
    last = events[-1]
    assert last.seconds_left == 0
    assert last.tokens_per_second == pytest.approx(5 * BLOCK * 4 / last.seconds)
    assert one.finished


@pytest.mark.parametrize("request_", ["pause", "stop"])
def test_a_request_ends_the_run_at_the_next_step(request_: Any) -> None:
    one, control = trainer(), Control()
    events = one.steps(control)
    next(events)
    control.request = request_
    assert list(events) == []
    assert one.step == 1
    assert not one.finished


def test_training_lowers_the_loss() -> None:
    one = finished(trainer(steps=60, lr=1e-2))
    assert one.recent_loss_nats() < sum(one.losses[:5]) / 5 - 0.3


@pytest.mark.parametrize(
    ("settings", "remedy"),
    [
        ({"clip_norm": 0.0}, "clip_gradient"),
        ({"clip_norm": 1.0}, "lower_lr"),
        ({"clip_norm": 1.0, "lr": 1e-3}, "longer_warmup"),
        ({"clip_norm": 1.0, "lr": 1e-3, "schedule": "noam"}, "lower_lr"),
    ],
)
def test_loss_that_is_not_finite_ends_the_run_and_says_what_to_try(
    settings: dict[str, Any], remedy: str
) -> None:
    one = trainer(**({"lr": 0.1} | settings))
    events = one.steps()
    assert isinstance(next(events), StepDone)
    with torch.no_grad():
        one.model.embedding.weight[0, 0] = math.inf
    (last,) = events
    assert isinstance(last, Diverged)
    assert (last.step, last.remedy) == (2, remedy)
    assert last.settings["lr"] == one.config.lr
    assert len(one.losses) == 1
    assert not one.finished


def test_rate_that_is_far_too_high_diverges() -> None:
    events = list(trainer(steps=400, lr=100.0, schedule="constant", weight_decay=10.0).steps())
    assert isinstance(events[-1], Diverged)
    assert len(events) < 400


def test_gradient_that_is_not_finite_does_not_reach_the_weights() -> None:
    one = trainer(clip_norm=0.0)
    before = weights(one)
    one.model.lm_head.weight.register_hook(lambda gradient: gradient * math.inf)
    (event,) = one.steps()
    assert isinstance(event, Diverged)
    assert torch.equal(weights(one), before)


def factors(**settings: Any) -> list[float]:
    config = TrainConfig(**settings)
    return [lr_factor(config, step, d_model=64) for step in range(config.steps)]


def test_constant_rate_after_warm_up() -> None:
    by_hand = [0.25, 0.5, 0.75, 1, 1, 1]
    assert factors(steps=6, schedule="constant", warmup_steps=4) == pytest.approx(by_hand)
    assert factors(steps=3, schedule="constant", warmup_steps=0) == [1, 1, 1]


def test_linear_rate_falls_to_just_above_nothing() -> None:
    by_hand = [0.5, 1, 0.75, 0.5, 0.25]
    assert factors(steps=5, schedule="linear", warmup_steps=2) == pytest.approx(by_hand)


def test_cosine_rate_is_half_way_at_the_middle() -> None:
    by_hand = [1, 0.5 + math.sqrt(2) / 4, 0.5, 0.5 - math.sqrt(2) / 4]
    assert factors(steps=4, schedule="cosine", warmup_steps=1) == pytest.approx(by_hand)


def test_noam_rate_is_that_of_the_paper() -> None:
    by_hand = [1 / 8 * s / 8 for s in (1, 2, 3, 4)] + [1 / 8 / math.sqrt(s) for s in (5, 6)]
    assert factors(steps=6, schedule="noam", warmup_steps=4) == pytest.approx(by_hand)


def test_gradient_is_clipped_to_its_largest_norm() -> None:
    # Adam divides by the gradient's size plus 1e-8: a gradient far below that moves nothing.
    still = trainer(steps=1, lr=1e-2, clip_norm=1e-14, warmup_steps=0)
    moved = trainer(steps=1, lr=1e-2, clip_norm=0.0, warmup_steps=0)
    before = weights(still)
    assert (weights(finished(still)) - before).abs().max() < 1e-6
    assert (weights(finished(moved)) - before).abs().max() > 5e-3


def test_muon_takes_the_matrices_of_the_blocks_and_adamw_the_rest() -> None:
    one = trainer(optimizer="muon")
    muon, adamw = one._optimizers
    assert type(muon) is Muon
    of_muon = {id(p) for group in muon.param_groups for p in group["params"]}
    of_adamw = {id(p) for group in adamw.param_groups for p in group["params"]}
    names = {id(p): name for name, p in one.model.named_parameters()}
    assert {names[i].split(".")[-2] for i in of_muon} == {
        "w_q", "w_k", "w_v", "w_o", "mlp_in", "mlp_out"
    }  # fmt: skip
    assert of_muon | of_adamw == set(names)
    assert not of_muon & of_adamw


def minus_log_p(model: Transformer, ids: Tensor, at: int, target: int) -> float:
    powers = model(ids[None]).logits[0, at].double().exp()
    return -math.log(float(powers[target] / powers.sum()))


@torch.no_grad()
def test_loss_on_the_answer_is_its_own_surprise_alone() -> None:
    # Bidirectional, or the padding behind a token could not reach it anyway.
    model = trainer({"mask": "bidirectional"}).model.eval()
    ids, targets = tiny.some_ids(3, BLOCK), torch.tensor([[4], [0], [12]])
    read_at, lengths = torch.tensor([2, 6, 0]), torch.tensor([4, 7, 1])
    by_hand = [
        minus_log_p(model, ids[b, : lengths[b]], int(read_at[b]), int(targets[b, 0]))
        for b in range(3)
    ]
    loss = loss_nats(model, Batch(ids, targets, lengths, read_at))
    assert loss.item() == pytest.approx(sum(by_hand) / 3, abs=1e-5)


@torch.no_grad()
def test_loss_on_all_is_the_mean_surprise_of_what_is_asked() -> None:
    model = trainer().model.eval()
    ids, targets = tiny.some_ids(2, BLOCK), tiny.some_ids(2, BLOCK, seed=9)
    targets[0, 3:] = IGNORED
    by_hand = [
        minus_log_p(model, ids[b], t, int(targets[b, t]))
        for b in range(2)
        for t in range(BLOCK)
        if targets[b, t] != IGNORED
    ]
    assert len(by_hand) == 10
    loss = loss_nats(model, Batch(ids, targets))
    assert loss.item() == pytest.approx(sum(by_hand) / 10, abs=1e-5)


def test_windows_are_every_block_of_the_text_and_what_follows_each_token() -> None:
    data = windows(torch.arange(6), 4)
    assert data.ids.tolist() == [[0, 1, 2, 3], [1, 2, 3, 4]]
    assert data.targets.tolist() == [[1, 2, 3, 4], [2, 3, 4, 5]]
    assert len(data) == 2


def test_parts_are_all_samples_in_order() -> None:
    data = Dataset(torch.arange(14).view(7, 2), torch.zeros(7, 2), torch.arange(7), torch.arange(7))
    parts = list(data.parts(3))
    assert [len(part.ids) for part in parts] == [3, 3, 1]
    assert torch.equal(torch.cat([part.ids for part in parts]), data.ids)
    assert torch.cat([part.lengths for part in parts]).tolist() == list(range(7))
    assert torch.cat([part.read_at for part in parts]).tolist() == list(range(7))


def test_vocabulary_of_the_tests_is_that_of_the_model() -> None:
    assert int(text().max()) < tiny.VOCABULARY
