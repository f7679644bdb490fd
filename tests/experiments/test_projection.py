"""Heads cut, sums taken apart, mistakes made on purpose: against loops and against each other."""

import json
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from owi_core import checkpoints
from owi_core.checkpoints import Bundle, shipped
from owi_core.errors import SettingError
from owi_core.events import Control, Evaluated, Event, Finished, Paused, StepDone, to_json
from owi_core.experiments import altered, projection
from owi_core.experiments.faults import residual
from owi_core.experiments.projection import AGAINST, WITH, WITHOUT, Params, SideResult
from owi_core.model import Transformer
from owi_core.probes.ablation import how_shared, layer_heads, without_heads
from owi_core.probes.contributions import Part, contributions, head_work, sum_errors
from owi_core.probes.walk import walk
from owi_core.readings import Reading, read
from tests import tiny
from tests.experiments.some import some

SMALL: dict[str, Any] = {
    "d_model": 16, "d_mlp": 16, "n_head": 2, "steps": 4, "batch_size": 8, "n_train": 100,
}  # fmt: skip
APPLE = "小明把苹果放在桌子上，小红拿走了它"


def biased_model(**changes: Any) -> Transformer:
    """A tiny model whose biases are not the zeros that a fresh one has."""
    model = tiny.tiny_model(**changes)
    generator = torch.Generator().manual_seed(3)
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            torch.nn.init.normal_(parameter, generator=generator)
    return model


def weights(model: Transformer) -> list[torch.Tensor]:
    return [p.detach().clone() for p in model.parameters()]


def same(before: list[torch.Tensor], model: Transformer) -> bool:
    return all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


def logits(model: Transformer, ids: list[int]) -> torch.Tensor:
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0]  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def ids() -> list[int]:
    return tiny.some_ids(tiny.QUERIES).tolist()  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def swap() -> Bundle:
    return shipped("swap")


@pytest.fixture(scope="module")
def apple(swap: Bundle) -> Reading:
    return read(swap, APPLE)


@pytest.fixture(scope="module")
def events() -> list[Event]:
    return list(projection.run(Params(**SMALL)))


@pytest.fixture(scope="module")
def small(events: list[Event]) -> Finished:
    assert isinstance(events[-1], Finished)
    return events[-1]


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("output_projection", [True, False])
def test_the_heads_slices_and_the_bias_sum_to_the_layers_output(
    ids: list[int], norm: str, output_projection: bool
) -> None:
    model = biased_model(norm=norm, output_projection=output_projection)
    errors = sum_errors(model, ids)
    assert len(errors) == tiny.LAYERS
    assert max(max(error) for error in errors) <= 1e-5


def test_a_sum_that_forgets_the_bias_is_found_out(
    ids: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny.tiny_model()
    torch.nn.init.ones_(model.blocks[1].attention.w_o.bias)  # type: ignore[union-attr, arg-type]
    monkeypatch.setattr("owi_core.probes.contributions._bias", lambda _: torch.zeros(tiny.D_MODEL))
    first, second = sum_errors(model, ids)
    assert first.absolute <= 1e-5
    assert second.absolute == pytest.approx(1.0, abs=1e-5)


def test_walking_through_the_layers_ends_where_the_model_ends(ids: list[int]) -> None:
    model = biased_model()
    with torch.no_grad():
        last = model.lm_head(model.norm_final(walk(model, ids)[-1].after))
    torch.testing.assert_close(last, logits(model, ids))


@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "none"])
@pytest.mark.parametrize("output_projection", [True, False])
def test_all_parts_sum_to_the_stream_and_to_every_logit(
    ids: list[int], positions: str, output_projection: bool
) -> None:
    settings = {"d_model": 40, "positions": positions, "embedding_scale": 3.0, "head_bias": True}
    model = biased_model(output_projection=output_projection, **settings)
    found = contributions(model, ids, 4)
    stream = walk(model, ids)[-1].after[4].numpy()
    np.testing.assert_allclose(found.written.sum(axis=0), stream, atol=1e-5)
    for word in range(tiny.VOCABULARY):
        shares = found.shares(word)
        assert shares.logit == pytest.approx(float(logits(model, ids)[4, word]))
        assert shares.error <= 1e-4
    heads = [part for part in found.parts if part.kind == "head"]
    assert len(heads) == tiny.LAYERS * tiny.HEADS


def test_a_share_is_what_the_logit_loses_when_the_part_is_taken_out_under_a_frozen_norm(
    ids: list[int],
) -> None:
    model, part = (
        biased_model(),
        Part("head", 1, 3),
    )  # the last layer: nothing reads it but the norm
    found = contributions(model, ids, 6)
    before = walk(model, ids)[-1].after[6].double()
    taken = before - torch.from_numpy(found.written[found.parts.index(part)])
    spread = (before.var(correction=0) + model.norm_final.eps).sqrt()
    weight = model.lm_head.weight.double()
    moved = weight @ ((before - before.mean()) / spread) - weight @ (
        (taken - taken.mean()) / spread
    )
    here = found.to_logits[found.parts.index(part)]
    np.testing.assert_allclose(here, moved.detach().numpy(), atol=1e-9)


def test_words_are_promoted_by_what_stands_above_the_mean_of_all(ids: list[int]) -> None:
    found, part = contributions(biased_model(), ids, 5), Part("head", 0, 2)
    lifts = found.to_logits[found.parts.index(part)]
    (first, lift), *_ = found.promoted(part, 3)
    assert first == int(lifts.argmax())
    assert lift == pytest.approx(float(lifts.max() - lifts.mean()))


@torch.no_grad()
def shares_of_heads(model: Transformer, ids: list[int]) -> Tensor:
    """What each head writes into the stream, (L, H, T, d_model)."""
    layers: Any = zip(model.blocks, walk(model, ids), strict=True)
    return torch.stack([b.attention.head_shares(p.attended.z)[0] for b, p in layers])


def test_a_logit_of_a_post_norm_model_is_not_taken_apart(ids: list[int]) -> None:
    with tiny.refused("attribution_needs_pre_norm", SettingError, norm="post"):
        contributions(biased_model(norm="post"), ids, 2)


@pytest.mark.parametrize("output_projection", [True, False])
def test_what_a_head_reads_from_each_token_sums_to_what_it_writes(
    ids: list[int], output_projection: bool
) -> None:
    model, layer, position = biased_model(output_projection=output_projection), 1, 7
    work = head_work(model, ids, layer, position)
    shares = shares_of_heads(model, ids)[layer, :, position]  # (H, d_model)
    np.testing.assert_allclose(work.writes, shares.norm(dim=-1), rtol=1e-5)
    assert work.looks.shape == work.reads.shape == (tiny.HEADS, tiny.QUERIES)
    np.testing.assert_allclose(work.looks.sum(axis=1), 1.0, atol=1e-6)
    assert not work.reads[:, position + 1 :].any()  # the future is not read
    assert (work.reads.sum(axis=1) >= work.writes - 1e-6).all()  # the triangle of the parts


@pytest.mark.parametrize("output_projection", [True, False])
def test_a_head_switched_off_writes_nothing_and_the_model_itself_stays(
    ids: list[int], output_projection: bool
) -> None:
    model = biased_model(output_projection=output_projection)
    before, cut = weights(model), without_heads(model, [(0, 1), (1, 4)])
    heads = shares_of_heads(cut, ids)
    silent = {
        (layer, h)
        for layer in range(tiny.LAYERS)
        for h in range(tiny.HEADS)
        if not heads[layer, h].any()
    }
    assert silent == {(0, 1), (1, 4)}
    assert same(before, model)
    assert not torch.equal(logits(cut, ids), logits(model, ids))


def test_a_head_cut_by_its_values_is_a_head_cut_by_its_columns_of_w_o(ids: list[int]) -> None:
    model, D = biased_model(), tiny.D_MODEL // tiny.HEADS
    cut = without_heads(model, [(1, 2)])
    with torch.no_grad():
        model.blocks[1].attention.w_o.weight[:, 2 * D : 3 * D] = 0.0  # type: ignore[union-attr, index]
    torch.testing.assert_close(logits(cut, ids), logits(model, ids))


def test_a_layer_without_its_heads_adds_its_bias_alone(ids: list[int]) -> None:
    model = biased_model()
    cut = without_heads(model, layer_heads(model, 0))
    bias = model.blocks[0].attention.w_o.bias  # type: ignore[union-attr]
    torch.testing.assert_close(
        walk(cut, ids)[0].attended.resid[0],
        bias.expand(tiny.QUERIES, -1),  # type: ignore[operator]
    )


@pytest.mark.parametrize(
    ("singles", "together", "how"),
    [
        ([-0.06, -0.05, -0.01, 0.0], -6.0, "redundant"),
        ([-5.0, -0.1, 0.0, 0.0], -6.0, "one_carries"),
        ([-2.0, -2.0, -0.1, 0.0], -6.0, "shared"),
        ([-0.1, 0.0, 0.05, 0.0], -0.2, "idle"),
        ([-0.9, 0.3, 0.2, 0.0], -0.4, "opposed"),
        ([0.2, 0.2, 0.2, 0.2], 0.6, "worse_with"),
    ],
)
def test_what_is_said_of_a_layers_heads_follows_their_numbers(
    singles: list[float], together: float, how: str
) -> None:
    assert how_shared(singles, together) == how


def test_an_identity_in_place_of_w_o_is_a_model_without_w_o(ids: list[int]) -> None:
    model = biased_model()
    bare = biased_model(output_projection=False)
    bare.load_state_dict({k: v for k, v in model.state_dict().items() if "w_o" not in k})
    wrong = residual.broken(model, "identity")
    torch.testing.assert_close(logits(wrong, ids), logits(bare, ids))
    assert torch.equal(logits(residual.broken(bare, "identity"), ids), logits(bare, ids))


@pytest.mark.parametrize(("fault", "times"), [("no_residual", 0), ("doubled_residual", 2)])
def test_a_wrong_residual_holds_the_stream_so_many_times(
    ids: list[int], fault: str, times: int
) -> None:
    model = biased_model()
    before = weights(model)
    wrong = residual.broken(model, fault)
    right = walk(model, ids)[0]
    block: Any = wrong.blocks[0]
    resid = times * right.before + right.attended.resid[0]
    expected = resid + block.mlp_out(block.activation(block.mlp_in(block.norm_mlp(resid))))
    torch.testing.assert_close(walk(wrong, ids)[0].after, expected)
    assert same(before, model)
    assert not torch.equal(logits(wrong, ids), logits(model, ids))


def test_heads_of_the_shipped_model_are_redundant(apple: Reading) -> None:
    effects = altered.head_effects(apple)
    assert effects.sharing[1] == "redundant"
    assert -0.1 < effects.singles[1].min() < 0
    assert effects.together[1] < -4.0
    cut = altered.without(apple, layer_heads(apple.bundle.model, 1))
    assert cut.change_nats == pytest.approx(effects.together[1])
    assert cut.before.answer.word == "苹果" != cut.after.answer.word
    assert altered.without(apple, []).change_nats == 0.0


def test_each_head_of_the_last_layer_raises_the_word_it_looks_at(apple: Reading) -> None:
    found = contributions(apple.bundle.model, apple.encoding.ids, apple.query)
    for head in range(4):
        (word, lift), *_ = found.promoted(Part("head", 1, head), 1)
        assert (word, lift > 1.0) == (apple.answer_id, True)
    assert found.shares(apple.answer_id).error <= 1e-5


def test_a_doubled_residual_hurts_the_shipped_model_least(apple: Reading) -> None:
    changes = {f: altered.with_mistake(apple, f).change_nats for f in residual.FAULTS}
    assert changes["identity"] < -4.0
    assert changes["no_residual"] < -4.0
    assert -4.0 < changes["doubled_residual"] < 0


def test_the_result_holds_both_models_and_the_equality(small: Finished) -> None:
    result = small.result
    assert result["sum_error_max"] <= projection.SUM_TOLERANCE
    assert result["sum_error_relative_max"] <= projection.SUM_TOLERANCE
    assert np.shape(result["head_effect"]) == (2, 2)
    assert np.shape(result["heads_together"]) == (2,)
    d = SMALL["d_model"]
    assert result[WITH]["n_params"] - result[WITHOUT]["n_params"] == 2 * (d * d + d)
    assert np.shape(result[WITH]["accuracy_without_head"]) == (2, 2)
    for cost, without in zip(result["heads_together"], result[WITH]["without_layer"], strict=True):
        change = result[WITH]["loss_heldout_nats"] - without["loss_heldout_nats"]
        assert cost == pytest.approx(change, abs=2e-4)
    assert set(result["faults"]) == set(residual.FAULTS)
    assert small.verdict["code"] == "not_learned"
    json.loads(to_json(small))


def test_both_models_take_every_step_together(events: list[Event]) -> None:
    assert [e.step for e in events if isinstance(e, StepDone)] == [1, 2, 3, 4]
    last = [e for e in events if isinstance(e, Evaluated)][-1].metrics
    for name in (WITH, WITHOUT):
        assert {f"{name}.train_loss_nats", f"{name}.accuracy_heldout"} <= set(last)


def test_a_paused_run_ends_as_one_that_was_not(small: Finished, tmp_path: Any) -> None:
    control = Control()
    for event in projection.run(Params(**SMALL), tmp_path, control):
        if isinstance(event, StepDone) and event.step == 2:
            control.request = "pause"
    assert isinstance(event, Paused)
    *_, finished = projection.run(Params(**SMALL), tmp_path, resume=True)
    assert isinstance(finished, Finished)
    assert finished.result["head_effect"] == small.result["head_effect"]
    bare = checkpoints.load(tmp_path / WITHOUT)
    assert bare.model.blocks[0].attention.w_o is None  # type: ignore[union-attr]
    assert bare.note["experiment"] == "projection"


@pytest.mark.parametrize("against", AGAINST[1:])
def test_a_model_may_be_trained_with_a_mistake_in_it(against: str) -> None:
    prepared = projection.prepare(Params(**SMALL, against=against))
    other = prepared.sides[1].bundle.model
    assert type(other.blocks[0]) is residual.BLOCKS[against]
    assert same(weights(prepared.sides[0].bundle.model), other)  # the same draws


def code_of(accuracy: float, other: float, mass: float, other_mass: float) -> str:
    def side(a: float, m: float) -> SideResult:
        return some(SideResult, accuracy_heldout=a, attention_on_antecedent=[[0.1], [m]])

    sides = {WITH: side(accuracy, mass), WITHOUT: side(other, other_mass)}
    return projection.verdict(some(projection.Result, sides=sides)).code


def test_the_verdict_follows_the_numbers_also_against_the_textbook() -> None:
    assert code_of(1.0, 0.7, 1.0, 1.0) == "needed"
    assert code_of(1.0, 1.0, 1.0, 0.99) == "both_learn"
    assert code_of(1.0, 1.0, 1.0, 0.6) == "both_learn_less_direct"
    assert code_of(0.7, 1.0, 1.0, 1.0) == "better_without"
    assert code_of(0.7, 0.7, 1.0, 1.0) == "not_learned"


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_heads_are_redundant_and_w_o_is_not_needed_to_answer(seed: int) -> None:
    *_, finished = projection.run(Params(seed=seed))
    assert isinstance(finished, Finished)
    result = finished.result
    assert result["sum_error_max"] <= 1e-5
    assert result["sharing"][1] == "redundant"
    assert min(result["head_effect"][1]) > -0.1
    assert result["heads_together"][1] < -4.0
    assert result[WITH]["accuracy_heldout"] >= 0.99
    assert result[WITHOUT]["accuracy_heldout"] >= 0.99
    assert finished.verdict["code"] == "both_learn_less_direct"
    assert min(result[WITH]["accuracy_without_head"][1]) >= 0.99
    assert result[WITH]["without_layer"][1]["accuracy_heldout"] <= 0.5
    assert result["faults"]["identity"]["accuracy_heldout"] <= 0.1
    assert result["faults"]["no_residual"]["accuracy_heldout"] <= 0.1
