"""Attention against three plain loops, against torch's fused kernel, and against its promises."""

import math

import pytest
import torch
from torch import Tensor

from owi_core import masks
from owi_core.attention import MultiHeadAttention, attention_pattern, attention_scores
from tests.tiny import (
    BATCH,
    D_HEAD,
    D_MODEL,
    HEADS,
    KEYS,
    QUERIES,
    rng,
    tiny_config,
    tiny_model,
)


def layer(**changes: object) -> MultiHeadAttention:
    """An attention layer whose biases are not 0 either."""
    module = tiny_model(**changes).blocks[0].attention
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if name.endswith("bias"):
                parameter.normal_(std=0.3, generator=rng(5))
    return module  # type: ignore[no-any-return]


def sequence(T: int, seed: int) -> Tensor:
    return torch.randn(BATCH, T, D_MODEL, generator=rng(seed))


def cross_mask() -> Tensor:
    mask = torch.rand(QUERIES, KEYS, generator=rng(3)) < 0.4
    mask[:, 4] = True
    return mask


LENGTHS = torch.tensor([11, 2, 7])
SELF_MASKS = {
    "causal": masks.causal(QUERIES),
    "bidirectional": masks.bidirectional(QUERIES),
    "window": masks.window(QUERIES, 3),
    "window and global": masks.window_with_global(QUERIES, 3, 2),
    "padding": masks.padding(LENGTHS, QUERIES)[:, None],
    "causal and padding": masks.causal(QUERIES) & masks.padding(LENGTHS, QUERIES)[:, None],
    "one for each head": masks.causal(QUERIES)
    | (torch.rand(1, HEADS, QUERIES, QUERIES, generator=rng(9)) < 0.3),
}


def by_loops(
    module: MultiHeadAttention, x_query: Tensor, x_key_value: Tensor, mask: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Scores and pattern (B, H, T_q, T_k) and output (B, T_q, d_model), number by number."""
    T_q, T_k = x_query.shape[1], x_key_value.shape[1]
    allowed = mask.expand(BATCH, HEADS, T_q, T_k).tolist()
    q = (x_query.double() @ module.w_q.weight.double().T + module.w_q.bias.double()).tolist()
    k = (x_key_value.double() @ module.w_k.weight.double().T + module.w_k.bias.double()).tolist()
    v = (x_key_value.double() @ module.w_v.weight.double().T + module.w_v.bias.double()).tolist()
    scores = torch.zeros(BATCH, HEADS, T_q, T_k, dtype=torch.float64)
    pattern = torch.zeros_like(scores)
    z = torch.zeros(BATCH, T_q, D_MODEL, dtype=torch.float64)
    unit = 1 / math.sqrt(D_HEAD) if module.scale_scores else 1.0
    for b in range(BATCH):
        for h in range(HEADS):
            own = range(h * D_HEAD, (h + 1) * D_HEAD)  # the columns of this head
            for i in range(T_q):
                row = [unit * sum(q[b][i][d] * k[b][j][d] for d in own) for j in range(T_k)]
                powers = [math.exp(s) if allowed[b][h][i][j] else 0.0 for j, s in enumerate(row)]
                weights = [power / sum(powers) for power in powers]
                scores[b, h, i], pattern[b, h, i] = torch.tensor(row), torch.tensor(weights)
                for d in own:
                    z[b, i, d] = sum(weights[j] * v[b][j][d] for j in range(T_k))
    if module.w_o is not None:
        z = z @ module.w_o.weight.double().T + module.w_o.bias.double()
    return scores, pattern, z


@torch.no_grad()
@pytest.mark.parametrize("scale_scores", [True, False])
@pytest.mark.parametrize("output_projection", [True, False])
def test_explicit_path_is_what_three_loops_compute(
    scale_scores: bool, output_projection: bool
) -> None:
    module = layer(scale_scores=scale_scores, output_projection=output_projection)
    x_query, x_key_value, mask = sequence(QUERIES, 1), sequence(KEYS, 2), cross_mask()
    scores, pattern, resid = by_loops(module, x_query, x_key_value, mask)
    out = module(x_query, x_key_value, mask, explicit=True)
    torch.testing.assert_close(out.scores.double(), scores, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(out.pattern.double(), pattern, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(out.resid.double(), resid, atol=1e-5, rtol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("scale_scores", [True, False])
@pytest.mark.parametrize("output_projection", [True, False])
@pytest.mark.parametrize("name", [*SELF_MASKS, "cross"])
def test_explicit_and_fused_path_agree_for_every_mask(
    name: str, scale_scores: bool, output_projection: bool
) -> None:
    module = layer(scale_scores=scale_scores, output_projection=output_projection)
    x_query = sequence(QUERIES, 1)
    x_key_value = sequence(KEYS, 2) if name == "cross" else x_query
    mask = cross_mask() if name == "cross" else SELF_MASKS[name]
    explicit = module(x_query, x_key_value, mask, explicit=True)
    fused = module(x_query, x_key_value, mask)
    assert fused.pattern is None
    torch.testing.assert_close(explicit.resid, fused.resid, atol=1e-5, rtol=0)


@torch.no_grad()
def test_explicit_and_fused_path_agree_at_every_temperature() -> None:
    module, x = layer(), sequence(QUERIES, 1)
    for temperature in (0.3, 1.0, 4.0):
        both = [
            module(x, x, masks.causal(QUERIES), explicit=e, temperature=temperature).resid
            for e in (True, False)
        ]
        torch.testing.assert_close(*both, atol=1e-5, rtol=0)


@torch.no_grad()
def test_axes_are_batch_head_query_key() -> None:
    out = layer()(sequence(QUERIES, 1), sequence(KEYS, 2), cross_mask(), explicit=True)
    assert out.resid.shape == (BATCH, QUERIES, D_MODEL)
    assert out.scores.shape == out.pattern.shape == (BATCH, HEADS, QUERIES, KEYS)
    assert out.z.shape == (BATCH, HEADS, QUERIES, D_HEAD)


@torch.no_grad()
@pytest.mark.parametrize("output_projection", [True, False])
def test_shares_of_the_heads_and_the_bias_sum_to_the_output(output_projection: bool) -> None:
    module = layer(output_projection=output_projection)
    out = module(sequence(QUERIES, 1), sequence(KEYS, 2), cross_mask(), explicit=True)
    bias = module.w_o.bias if output_projection else 0.0
    torch.testing.assert_close(
        module.head_shares(out.z).sum(1) + bias, out.resid, atol=1e-5, rtol=0
    )


@torch.no_grad()
def test_share_of_a_head_is_what_is_lost_without_its_values() -> None:
    module = layer()
    x = sequence(QUERIES, 1)
    before = module(x, x, masks.causal(QUERIES), explicit=True)
    head = 3
    own = slice(head * D_HEAD, (head + 1) * D_HEAD)
    module.w_v.weight[own] = 0.0
    module.w_v.bias[own] = 0.0
    after = module(x, x, masks.causal(QUERIES), explicit=True)
    lost = before.resid - after.resid
    shares = module.head_shares(before.z)  # (B, H, T, d_model)
    torch.testing.assert_close(lost, shares[:, head], atol=1e-5, rtol=0)


@torch.no_grad()
@pytest.mark.parametrize("name", SELF_MASKS)
def test_masked_key_gets_exactly_zero_weight_and_rows_sum_to_one(name: str) -> None:
    x = sequence(QUERIES, 1)
    pattern = layer()(x, x, SELF_MASKS[name], explicit=True).pattern
    allowed = SELF_MASKS[name].expand_as(pattern)
    assert pattern[~allowed].abs().sum() == 0
    torch.testing.assert_close(pattern.sum(-1), torch.ones(BATCH, HEADS, QUERIES))


@pytest.mark.parametrize("explicit", [True, False])
def test_a_query_that_may_look_nowhere_is_refused_on_either_path(explicit: bool) -> None:
    mask = masks.causal(QUERIES)
    mask[4] = False
    x = sequence(QUERIES, 1)
    with pytest.raises(ValueError, match="attend nowhere"):
        layer()(x, x, mask, explicit=explicit)


def test_the_pure_function_refuses_a_blind_query_too() -> None:
    with pytest.raises(ValueError, match="attend nowhere"):
        attention_pattern(torch.zeros(1, 1, 2, 2), torch.tensor([[True, False], [False, False]]))


def test_scores_are_divided_by_the_root_of_the_head_width() -> None:
    q, k = torch.full((1, 1, 1, 4), 3.0), torch.full((1, 1, 1, 4), 2.0)
    assert attention_scores(q, k).item() == 24 / 2
    assert attention_scores(q, k, scale=False).item() == 24


@torch.no_grad()
def test_high_temperature_flattens_the_row_and_low_sharpens_it() -> None:
    module, x = layer(), sequence(QUERIES, 1)
    largest = [
        module(x, x, masks.bidirectional(QUERIES), explicit=True, temperature=t)
        .pattern.max(-1)
        .values.mean()
        for t in (1e-3, 1.0, 1e4)
    ]
    assert largest[0] > 0.99
    assert largest[0] > largest[1] > largest[2]
    assert largest[2] == pytest.approx(1 / QUERIES, abs=1e-3)


@torch.no_grad()
def test_dropout_is_on_in_training_and_off_in_evaluation_on_either_path() -> None:
    module, x = layer(dropout=0.5), sequence(QUERIES, 1)
    mask = masks.causal(QUERIES)
    with torch.random.fork_rng(devices=[]):
        for explicit in (True, False):
            module.eval()
            assert torch.equal(*(module(x, x, mask, explicit=explicit).resid for _ in "ab"))
            module.train()
            one, other = (module(x, x, mask, explicit=explicit).resid for _ in "ab")
            assert not torch.allclose(one, other)


def test_config_of_the_tests_has_different_primes() -> None:
    config = tiny_config()
    sizes = {config.n_layer, BATCH, config.n_head, config.d_head, QUERIES, KEYS, config.d_mlp}
    assert len(sizes | {config.vocab_size, config.block_size}) == 9


def test_a_sequence_with_itself_is_projected_as_with_a_copy_of_itself() -> None:
    module, x = layer(), sequence(QUERIES, 1)
    together, apart = module.project(x, x), module.project(x, x.clone())
    for ours, theirs in zip(together, apart, strict=True):
        torch.testing.assert_close(ours, theirs)
