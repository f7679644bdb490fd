"""Kernels of limited range against dense attention under the same mask; shapes are primes."""

import pytest
import torch

from owi_core import masks, ranges
from owi_core.masks import Reach
from owi_core.probes import reach as probe

KINDS = ("window", "window_global", "dilated", "shifted")
B, H, D = 2, 3, 5


def draw(T, *, d_head=D, seed=0):
    rng = torch.Generator().manual_seed(seed)
    return [torch.randn(B, H, T, d_head, generator=rng, requires_grad=True) for _ in range(3)]


def outputs_and_gradients(attention, qkv):
    z = attention(*qkv)
    weights = torch.linspace(-1, 1, z.numel()).view(z.shape)
    return [z, *torch.autograd.grad((z * weights).sum(), qkv)]


def assert_equal(found, expected, atol=1e-5):
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, atol=atol, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("T", [1, 7, 13, 29])
@pytest.mark.parametrize(
    ("size", "n_global", "step"), [(1, 1, 2), (5, 2, 3), (7, 11, 2), (31, 3, 5)]
)
@pytest.mark.parametrize("layer", [0, 1, 2])
def test_sparse_kernel_equals_dense_attention_under_its_mask(kind, T, size, n_global, step, layer):
    reach = Reach(size, n_global, step)
    mask = masks.by_layer(kind, T, layer + 1, reach)[layer]
    qkv = draw(T)
    assert_equal(
        outputs_and_gradients(lambda *x: ranges.attend(kind, *x, reach, layer), qkv),
        outputs_and_gradients(lambda *x: ranges.explicit_attention(*x, mask), qkv),
    )


@pytest.mark.parametrize(("T", "chunk"), [(1, 3), (7, 3), (29, 5), (13, 17)])
def test_linear_attention_equals_its_dense_definition(T, chunk):
    def dense(q, k, v):
        phi_q = torch.nn.functional.elu(q) + 1
        phi_k = torch.nn.functional.elu(k) + 1
        weights = (phi_q @ phi_k.transpose(-2, -1)) * masks.causal(T)
        return weights @ v / weights.sum(dim=-1, keepdim=True)

    qkv = draw(T)
    assert_equal(
        outputs_and_gradients(lambda *x: ranges.linear_attention(*x, chunk=chunk), qkv),
        outputs_and_gradients(dense, qkv),
    )


@pytest.mark.parametrize("kind", [*KINDS, "linear"])
@pytest.mark.parametrize("layer", [0, 1])
def test_heads_that_are_views_of_a_wider_vector_are_accepted(kind, layer):
    """As the multi-head module hands them over: a view whose axes were swapped, blocks full."""
    x = torch.randn(B, 12, H, D, generator=torch.Generator().manual_seed(3)).transpose(1, 2)
    reach = Reach(3, 2, 2)
    torch.testing.assert_close(
        ranges.attend(kind, x, x, x, reach, layer),
        ranges.attend(kind, *[x.contiguous()] * 3, reach, layer),
    )


def test_full_range_is_causal_attention():
    qkv = draw(13)
    assert_equal(
        outputs_and_gradients(lambda *x: ranges.attend("full", *x, Reach()), qkv),
        outputs_and_gradients(lambda *x: ranges.explicit_attention(*x, masks.causal(13)), qkv),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_key_outside_the_range_has_a_gradient_of_exactly_zero(kind):
    reach = Reach(3, 1, 2)
    q, k, v = draw(29)
    z = ranges.attend(kind, q, k, v, reach, 1)
    (grad,) = torch.autograd.grad(z[:, :, 28].sum(), v)
    hidden = ~masks.by_layer(kind, 29, 2, reach)[1][28]
    assert (grad[:, :, hidden] == 0).all()
    assert (grad[:, :, ~hidden] != 0).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("T", [1, 12, 29])
def test_scores_are_counted_as_the_first_layer_computes_them(kind, T, monkeypatch):
    computed = []
    own = torch.nn.functional.scaled_dot_product_attention

    def counted(q, k, *rest, **settings):
        computed.append(q.shape[:-1].numel() * k.shape[-2] // (B * H))
        return own(q, k, *rest, **settings)

    reach = Reach(4, 3, 2)
    monkeypatch.setattr(ranges.F, "scaled_dot_product_attention", counted)
    ranges.attend(kind, *draw(T), reach)
    # The kernel takes as many global keys as there are tokens at most.
    assert computed == [ranges.pairs_computed(kind, T, reach)]


def test_scores_of_linear_and_full_attention_by_hand():
    assert ranges.pairs_computed("linear", 65, Reach()) == 2 * ranges.CHUNK**2
    assert ranges.pairs_computed("full", 65, Reach()) == 65 * 65


@pytest.mark.parametrize("kind", [*KINDS, "linear"])
def test_fewer_scores_are_computed_than_there_are_pairs(kind):
    assert ranges.pairs_computed(kind, 2048, Reach(64, 2, 2)) < 2048 * 2048 / 10
    assert ranges.pairs_computed("full", 2048, Reach()) == 2048 * 2048


def test_dilated_mask_by_hand():
    assert masks.dilated(5, 2, 2).int().tolist() == [
        [1, 0, 0, 0, 0],
        [0, 1, 0, 0, 0],
        [1, 0, 1, 0, 0],
        [0, 1, 0, 1, 0],
        [0, 0, 1, 0, 1],
    ]


def test_shifted_blocks_by_hand():
    assert masks.blocks(5, 2, 1).int().tolist() == [
        [1, 0, 0, 0, 0],
        [0, 1, 0, 0, 0],
        [0, 1, 1, 0, 0],
        [0, 0, 0, 1, 0],
        [0, 0, 0, 1, 1],
    ]


@pytest.mark.parametrize("kind", [*KINDS, "full", "linear"])
def test_every_query_of_every_layer_sees_itself_and_no_future(kind):
    layers = masks.by_layer(kind, 23, 3, Reach(5, 2, 3))
    assert layers.shape == (3, 23, 23)
    assert layers.diagonal(dim1=1, dim2=2).all()
    assert not (layers & ~masks.causal(23)).any()


def test_windows_reach_farther_with_every_layer_and_no_farther():
    reached = probe.linked(masks.by_layer("window", 29, 3, Reach(size=5)))
    for layer, now in enumerate(reached, start=1):
        expected = masks.window(29, layer * 4 + 1)
        assert now.equal(expected)
    assert probe.farthest(reached[2]) == 12


def test_reach_is_where_a_gradient_through_the_layers_is_not_zero():
    """Composed masks on one side, composed kernels on the other."""
    reach, T = Reach(3, 1, 2), 19
    for kind in KINDS:
        reached = probe.linked(masks.by_layer(kind, T, 3, reach))
        x = torch.ones(1, 1, T, 2, requires_grad=True)
        z = x
        for layer in range(3):
            z = z + ranges.attend(kind, torch.zeros_like(z), torch.zeros_like(z), z, reach, layer)
        found = torch.stack(
            [
                torch.autograd.grad(z[0, 0, t].sum(), x, retain_graph=True)[0][0, 0, :, 0]
                for t in range(T)
            ]
        )
        assert (found != 0).equal(reached[-1]), kind


def test_global_position_links_all_pairs_in_two_layers_only_through_itself():
    reached = probe.linked(masks.by_layer("window_global", 17, 2, Reach(size=3, n_global=1)))
    assert reached[0][:, 0].all()
    # Causal: position 0 has seen nothing but itself, so it hands on nothing else.
    assert not reached[1][16, 1:12].any()


def test_global_position_that_sees_both_ways_links_all_pairs_in_two_layers():
    reached = probe.linked_by_kind(["window_global"], 17, 2, Reach(size=3), causal=False)[0]
    assert probe.fraction_linked(reached[0], causal=False) < 0.5
    assert reached[1].all()


def test_both_ways_is_symmetrical_and_keeps_the_causal_part():
    mask = masks.dilated(13, 2, 3)
    both = masks.both_ways(mask)
    assert both.equal(both.T)
    assert (both & masks.causal(13)).equal(mask)


def test_full_range_links_every_causal_pair_at_once():
    reached = probe.linked(masks.by_layer("full", 11, 1, Reach()))
    assert probe.fraction_linked(reached[0]) == 1.0


@pytest.mark.parametrize(("distance", "layers"), [(0, 1), (4, 1), (5, 2), (8, 2), (9, 3), (40, 10)])
def test_layers_needed_by_a_window_are_distance_over_reach(distance, layers):
    assert probe.layers_needed("window", Reach(size=5), distance) == layers


def test_layers_needed_grow_with_the_logarithm_when_the_dilation_grows():
    needed = [probe.layers_needed("dilated", Reach(size=2, step=2), d) for d in (1, 3, 7, 15, 31)]
    assert needed == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [2, 3, 4])
def test_layers_needed_are_those_of_the_best_position(kind, size):
    reach = Reach(size, 1, 2)
    reached = probe.linked(masks.by_layer(kind, 60, 8, reach))
    for distance in range(1, 14):
        # From the 30th position on, where neither the start nor a global position lies nearer.
        linked = [bool(layer.diagonal(-distance)[30:].any()) for layer in reached]
        expected = linked.index(True) + 1 if any(linked) else None
        assert probe.layers_needed(kind, reach, distance, most=8) == expected, distance


def test_layers_needed_are_none_when_the_most_are_not_enough():
    assert probe.layers_needed("window", Reach(size=2), 9, most=8) is None
    assert probe.layers_needed("full", Reach(size=2), 9) == 1


@pytest.mark.slow
@pytest.mark.parametrize("T", [2048])
@pytest.mark.parametrize("kind", KINDS)
def test_sparse_kernel_equals_dense_attention_at_full_length(kind, T):
    reach = Reach(64, 2, 2)
    mask = masks.by_layer(kind, T, 2, reach)[1]
    rng = torch.Generator().manual_seed(0)
    qkv = [torch.randn(1, 4, T, 32, generator=rng, requires_grad=True) for _ in range(3)]
    assert_equal(
        outputs_and_gradients(lambda *x: ranges.attend(kind, *x, reach, 1), qkv),
        outputs_and_gradients(lambda *x: ranges.explicit_attention(*x, mask), qkv),
    )
