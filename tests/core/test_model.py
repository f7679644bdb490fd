"""The whole model: its formula, its causality, its padding, its size, and where it draws from."""

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from owi_core import masks
from owi_core.config import ModelConfig
from owi_core.model import Block, Transformer, sinusoidal_positions
from pages._ui.base.i18n import translator
from tests.tiny import (
    BATCH,
    D_HEAD,
    D_MODEL,
    HEADS,
    LAYERS,
    QUERIES,
    VOCABULARY,
    global_generator_untouched,
    refused,
    rng,
    some_ids,
    tiny_config,
    tiny_model,
)


def test_shapes_of_what_is_returned() -> None:
    out = tiny_model()(some_ids(BATCH, QUERIES), explicit=True)
    assert out.logits.shape == (BATCH, QUERIES, VOCABULARY)
    assert out.scores.shape == out.pattern.shape == (LAYERS, BATCH, HEADS, QUERIES, QUERIES)
    assert out.z.shape == (LAYERS, BATCH, HEADS, QUERIES, D_HEAD)


@torch.no_grad()
@pytest.mark.parametrize("mask", ["causal", "bidirectional"])
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_both_paths_give_the_same_logits(mask: str, norm: str, dropout: float) -> None:
    model = tiny_model(mask=mask, norm=norm, dropout=dropout)
    ids, lengths = some_ids(BATCH, QUERIES), torch.tensor([11, 2, 7])
    for each in (None, lengths):
        explicit = model(ids, lengths=each, explicit=True).logits
        torch.testing.assert_close(explicit, model(ids, lengths=each).logits, atol=1e-5, rtol=0)


def noisy(model: Transformer) -> Transformer:
    """Move every number off its start, so that no term of a formula is 0 or 1 by chance."""
    generator = rng(8)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn(parameter.shape, generator=generator)
    return model


@torch.no_grad()
@pytest.mark.parametrize("activation", ["gelu", "relu"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_norm_is_named_as_in_the_literature(norm: str, activation: str) -> None:
    model = noisy(tiny_model(norm=norm, activation=activation))
    ids, mask = some_ids(BATCH, QUERIES), masks.causal(QUERIES)

    def normed(x: Tensor, layer: torch.nn.LayerNorm) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        return (
            centred / (x.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt() * (layer.weight)
            + layer.bias
        )

    def mlp(x: Tensor, block: Block) -> Tensor:
        inner = x @ block.mlp_in.weight.T + block.mlp_in.bias
        shaped = inner.clamp(min=0) if activation == "relu" else F.gelu(inner)
        return shaped @ block.mlp_out.weight.T + block.mlp_out.bias

    x = model.embedding.weight[ids] + model.positions[:QUERIES]
    for block in model.blocks:
        n1, n2, attend = block.norm_attention, block.norm_mlp, block.attention
        if norm == "pre":
            inner = normed(x, n1)
            x = x + attend(inner, inner, mask).resid
            x = x + mlp(normed(x, n2), block)
        else:
            x = normed(x + attend(x, x, mask).resid, n1)
            x = normed(x + mlp(x, block), n2)
    logits = normed(x, model.norm_final) @ model.embedding.weight.T
    torch.testing.assert_close(model(ids).logits, logits, atol=1e-4, rtol=1e-4)


@torch.no_grad()
def test_post_norm_block_ends_normalised_and_pre_norm_block_does_not() -> None:
    x, mask = 3 * torch.randn(BATCH, QUERIES, D_MODEL, generator=rng(4)), masks.causal(QUERIES)
    ends = {}
    for norm in ("post", "pre"):
        block = tiny_model(norm=norm).blocks[1]
        ends[norm], _ = block(x, mask, explicit=False, temperature=1.0)
    assert ends["post"].mean(-1).abs().max() < 1e-5
    var = ends["post"].var(-1, unbiased=False)
    assert (var - 1).abs().max() < 1e-3
    assert ends["pre"].var(-1, unbiased=False).min() > 2


@torch.no_grad()
@pytest.mark.parametrize("place", ["attention", "mlp"])
def test_dropout_covers_what_each_half_of_a_block_writes(place: str) -> None:
    """With everything dropped neither half may move the stream; the other half writes 0 anyway."""
    block: Any = tiny_model(dropout=0.5).blocks[0].train()
    silent = block.mlp_out if place == "attention" else block.attention.w_o
    silent.weight.zero_()
    silent.bias.zero_()
    x, mask = torch.randn(BATCH, QUERIES, D_MODEL, generator=rng(4)), masks.causal(QUERIES)
    block.dropout.p = 0.0
    written, _ = block(x, mask, explicit=False, temperature=1.0)
    assert not torch.equal(written, x)
    block.dropout.p = 1.0
    dropped, _ = block(x, mask, explicit=False, temperature=1.0)
    assert torch.equal(dropped, x)


@torch.no_grad()
def test_dropout_covers_the_embedding_and_its_positions() -> None:
    model = tiny_model(dropout=0.5).train()
    model.dropout.p = 1.0
    for block in model.blocks:
        block.eval()
    one, other = (model(some_ids(BATCH, QUERIES, seed=seed)).logits for seed in (1, 2))
    assert torch.equal(one, other)
    assert torch.equal(one[:, 0], one[:, 1])  # the positions are dropped too


@torch.no_grad()
@pytest.mark.parametrize("explicit", [True, False])
def test_causal_mask_leaves_the_past_exactly_as_it_was_and_moves_the_future(explicit: bool) -> None:
    model, ids, at = tiny_model(), some_ids(BATCH, QUERIES), 6
    changed = ids.clone()
    changed[:, at] = (ids[:, at] + 1) % VOCABULARY
    before, after = (model(x, explicit=explicit).logits for x in (ids, changed))
    assert torch.equal(before[:, :at], after[:, :at])
    assert (before[:, at:] - after[:, at:]).abs().amax(-1).min() > 1e-4


@torch.no_grad()
def test_bidirectional_mask_lets_the_past_see_the_future() -> None:
    model, ids = tiny_model(mask="bidirectional"), some_ids(BATCH, QUERIES)
    changed = ids.clone()
    changed[:, -1] = (ids[:, -1] + 1) % VOCABULARY
    assert (model(ids).logits - model(changed).logits)[:, 0].abs().amax(-1).min() > 1e-4


@torch.no_grad()
@pytest.mark.parametrize("mask", ["causal", "bidirectional"])
@pytest.mark.parametrize("explicit", [True, False])
def test_padding_on_the_right_does_not_change_real_tokens(mask: str, explicit: bool) -> None:
    model, ids, lengths = tiny_model(mask=mask), some_ids(BATCH, QUERIES), torch.tensor([11, 2, 7])
    other = torch.where(torch.arange(QUERIES) < lengths[:, None], ids, (ids + 5) % VOCABULARY)
    one = model(ids, lengths=lengths, explicit=explicit).logits
    two = model(other, lengths=lengths, explicit=explicit).logits
    for b, n in enumerate(lengths.tolist()):
        assert torch.equal(one[b, :n], two[b, :n])
        alone = model(ids[b : b + 1, :n], explicit=explicit).logits[0]
        torch.testing.assert_close(one[b, :n], alone, atol=1e-5, rtol=0)


@torch.no_grad()
def test_reading_at_a_position_gives_the_logits_of_that_position() -> None:
    model, ids, at = tiny_model(), some_ids(BATCH, QUERIES), torch.tensor([0, 10, 4])
    picked = model(ids, read_at=at).logits
    assert picked.shape == (BATCH, 1, VOCABULARY)
    torch.testing.assert_close(picked[:, 0], model(ids).logits[torch.arange(BATCH), at])


@torch.no_grad()
def test_a_mask_belongs_to_the_call_and_may_differ_by_layer_and_head() -> None:
    model, ids = tiny_model(), some_ids(BATCH, QUERIES)
    before = model(ids).logits
    cut = masks.causal(QUERIES).expand(LAYERS, 1, HEADS, QUERIES, QUERIES).clone()
    cut[1, 0, 3, 8, 2] = False
    out = model(ids, mask=cut, explicit=True)
    assert out.pattern[1, :, 3, 8, 2].abs().sum() == 0
    assert (out.pattern[0, :, 3, 8, 2] > 0).all()
    assert (out.pattern[1, :, 2, 8, 2] > 0).all()
    assert (out.logits - before)[:, 8].abs().max() > 1e-5
    assert torch.equal(model(ids).logits, before)


def test_article_preset_has_the_parameters_that_it_has_and_not_those_it_claims() -> None:
    from owi_core.experiments import language

    text = "abcdefghijklmnopqrstuvwxy"
    prepared = language.prepare(language.Params(preset="article", own_text=text))
    config = prepared.bundle.model.config
    assert prepared.bundle.tokenizer.vocab_size == len(text) == 25
    assert prepared.bundle.model.n_params == 400_896
    assert (config.n_layer, config.d_model, config.n_head, config.d_mlp) == (3, 128, 4, 256)
    assert (config.block_size, config.dropout, config.norm) == (64, 0.1, "post")
    assert (config.positions, config.tie_weights, config.head_bias) == ("sinusoidal", True, False)
    assert (config.activation, prepared.trainer.config.optimizer) == ("gelu", "adamw")
    for lang in ("zh", "en"):
        help_ = translator(lang, "train")("setting_help.preset")
        assert "174,838" in help_
        assert "400,896" in help_


def test_parameters_are_counted_by_hand_and_a_shared_matrix_once() -> None:
    attention = 4 * (D_MODEL * D_MODEL + D_MODEL)
    mlp = D_MODEL * 17 + 17 + 17 * D_MODEL + D_MODEL
    rest = VOCABULARY * D_MODEL + 23 * D_MODEL + 2 * D_MODEL
    tied = rest + LAYERS * (attention + mlp + 4 * D_MODEL)
    assert tiny_model().n_params == tied
    loose = tiny_model(tie_weights=False, head_bias=True)
    assert loose.n_params == tied + VOCABULARY * D_MODEL + VOCABULARY


@torch.no_grad()
def test_sinusoidal_table_has_the_values_of_the_paper() -> None:
    table = sinusoidal_positions(5, 6)
    for position in range(5):
        for i in range(3):
            angle = position / 10_000 ** (2 * i / 6)
            assert table[position, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[position, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)
    assert table[0].tolist() == [0, 1, 0, 1, 0, 1]


@torch.no_grad()
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "none"])
def test_order_is_known_from_positions_alone(positions: str) -> None:
    model = tiny_model(positions=positions, d_model=20, mask="bidirectional")
    ids = some_ids(1, QUERIES)
    reversed_back = model(ids.flip(1)).logits.flip(1)
    same = torch.allclose(model(ids).logits, reversed_back, atol=1e-5)
    assert same == (positions == "none")


@torch.no_grad()
def test_embedding_scale_multiplies_the_input_and_leaves_the_tied_head_alone() -> None:
    plain, scaled = (tiny_model(embedding_scale=s, positions="none") for s in (1.0, 3.0))
    big = tiny_model(positions="none", tie_weights=False)
    big.load_state_dict(plain.state_dict())
    big.embedding.weight *= 3.0
    ids = some_ids(BATCH, QUERIES)
    torch.testing.assert_close(scaled(ids).logits, big(ids).logits, atol=1e-5, rtol=1e-5)


def test_initial_weights_come_from_the_given_generator_alone() -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        one = tiny_model(seed=4)
        torch.manual_seed(2)
        two = tiny_model(seed=4)
    other = tiny_model(seed=5)
    for (name, a), b, c in zip(
        one.named_parameters(), two.parameters(), other.parameters(), strict=True
    ):
        assert torch.equal(a, b)
        assert "norm" in name or name.endswith("bias") or not torch.equal(a, c)


def test_building_a_model_leaves_the_global_generator_as_it_was() -> None:
    with global_generator_untouched():
        tiny_model()


def test_initial_weights_have_the_standard_deviations_of_the_config() -> None:
    model = Transformer(tiny_config(d_model=70, embedding_std=0.4, init_std=0.02), rng())
    assert model.embedding.weight.std().item() == pytest.approx(0.4, rel=0.1)
    assert model.blocks[0].attention.w_q.weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert model.blocks[1].mlp_out.weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert model.blocks[0].mlp_in.bias.abs().sum() == 0


def test_text_longer_than_the_block_is_refused_with_the_excess() -> None:
    with refused("text_over_block", tokens=24, block_size=23, over=1):
        tiny_model()(some_ids(1, 24))


@given(
    n_layer=st.integers(1, 3),
    d_mlp=st.integers(1, 9),
    positions=st.sampled_from(["sinusoidal", "learned", "none"]),
    flags=st.tuples(st.booleans(), st.booleans(), st.booleans()),
)
def test_a_shape_knows_the_number_of_its_parameters(
    n_layer: int, d_mlp: int, positions: Any, flags: tuple[bool, bool, bool]
) -> None:
    tie, project, bias = flags
    config = ModelConfig(
        vocab_size=7,
        n_layer=n_layer,
        n_head=2,
        d_model=6,
        d_mlp=d_mlp,
        block_size=5,
        positions=positions,
        tie_weights=tie,
        output_projection=project,
        head_bias=bias,
    )
    assert config.n_params == Transformer(config, torch.Generator()).n_params
