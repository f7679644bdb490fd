"""The models that connect tokens otherwise: called alike, equally large, causal, and no wider than
their field."""

from dataclasses import replace

import pytest
import torch

from owi_core import peers
from owi_core.config import PeerConfig
from owi_core.errors import SettingError
from owi_core.peers import CAUSAL, KINDS, Plan
from tests.tiny import VOCABULARY, global_generator_untouched, rng, some_ids

B, T, WIDTH = 3, 11, 20
PLAN = Plan(VOCABULARY, block_size=T, conv_layers=2, kernel=3, n_head=5)


def model(kind: str, plan: Plan = PLAN) -> peers.AnyModel:
    return peers.make(kind, plan, WIDTH, rng()).eval()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_called_alike(kind: str) -> None:
    logits = peers.logits(model(kind), some_ids(B, T))
    assert logits.shape == (B, T, VOCABULARY)
    assert bool(torch.isfinite(logits).all())


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_bidirectional_one_sees_what_comes_after(kind: str) -> None:
    ids = some_ids(B, T)
    changed = ids.clone()
    changed[:, -1] = (ids[:, -1] + 1) % VOCABULARY
    before, after = (peers.logits(model(kind), x)[:, :-1] for x in (ids, changed))
    assert torch.equal(before, after) == (kind in CAUSAL)


def test_the_convolution_sees_exactly_its_field() -> None:
    cnn = model("cnn")
    assert isinstance(cnn, peers.Peer)
    field = cnn.receptive_field
    assert field == 5
    ids = some_ids(1, T)
    moved = []
    for back in range(T):
        changed = ids.clone()
        changed[0, T - 1 - back] = (ids[0, T - 1 - back] + 1) % VOCABULARY
        moved.append(not torch.equal(*(peers.logits(cnn, x)[0, -1] for x in (ids, changed))))
    assert moved == [back < field for back in range(T)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_started_from_embedding_rows_answers_the_same(kind: str) -> None:
    made, ids = model(kind), some_ids(B, T)
    rows = made.embedding.weight.detach()[ids]
    assert torch.equal(peers.logits_from_rows(made, rows), peers.logits(made, ids))


@pytest.mark.parametrize("width", [32, 64, 128])
def test_all_kinds_get_about_as_many_parameters(width: int) -> None:
    made = peers.equal_models(KINDS, Plan(vocab_size=64, block_size=50), width, seed=0)
    counts = [m.n_params for m in made.values()]
    assert made["transformer"].config.d_model == width
    assert peers.largest_difference(counts) < 0.05, counts


def test_a_width_is_found_for_a_number_of_parameters() -> None:
    plan = Plan(vocab_size=64)
    for kind in KINDS:
        width = peers.width_for(kind, plan, 60_000)
        count = peers.make(kind, plan, width, rng()).n_params
        assert abs(count / 60_000 - 1) < 0.06, (kind, width, count)


def test_the_weights_come_from_the_generator_given() -> None:
    with global_generator_untouched():
        first, again = (peers.make("lstm", PLAN, WIDTH, rng(3)) for _ in range(2))
        other = peers.make("lstm", PLAN, WIDTH, rng(4))
    pairs = zip(first.parameters(), again.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
    assert not torch.equal(first.embedding.weight, other.embedding.weight)


@pytest.mark.parametrize(("kind", "cell"), [("lstm", torch.nn.LSTMCell), ("gru", torch.nn.GRUCell)])
def test_the_gates_are_those_with_which_a_cell_makes_its_next_state(kind: str, cell: type) -> None:
    made, ids = model(kind), some_ids(B, T)
    (gates,) = peers.mixing_weights(made, ids)  # (B, T, W)
    layer = made.blocks[0]
    step = cell(WIDTH, WIDTH)
    step.load_state_dict({k.removesuffix("_l0"): v for k, v in layer.state_dict().items()})
    x = made.embedding(ids)
    y, _ = layer(x)
    if kind == "gru":  # h' = (1 − z) n + z h, with n where z is 0: at h = 0, h' = (1 − z) n
        W = WIDTH
        r = torch.sigmoid(x[:, 0] @ layer.weight_ih_l0[:W].T + layer.bias_ih_l0[:W]
                          + layer.bias_hh_l0[:W])  # fmt: skip
        n = torch.tanh(x[:, 0] @ layer.weight_ih_l0[2 * W :].T + layer.bias_ih_l0[2 * W :]
                       + r * layer.bias_hh_l0[2 * W :])  # fmt: skip
        assert torch.allclose(y[:, 0], (1 - gates[:, 0]) * n, atol=1e-6)
        return
    state = None
    for t in range(T):
        h, c = step(x[:, t], state)
        # ∂c_t/∂c_{t−1} at a fixed h is the forget gate.
        if state is not None:
            moved = step(x[:, t], (state[0], state[1] + 1))[1] - c
            assert torch.allclose(moved, gates[:, t], atol=1e-5)
        state = (h, c)


@pytest.mark.parametrize("kind", KINDS)
def test_kernel_and_recurrent_matrix_stay_while_gates_and_patterns_move(kind: str) -> None:
    made = model(kind)
    a, b = (peers.mixing_weights(made, some_ids(1, T, seed=seed)) for seed in (1, 2))
    assert torch.equal(a, b) == (kind in ("rnn", "cnn"))


def test_a_convolution_adds_the_active_sum_of_its_normalised_window_to_each_token() -> None:
    block = peers.CausalConvolution(WIDTH, 3, linear=False)
    x = torch.randn(1, T, WIDTH, generator=rng(2))
    kernel, bias = block.convolution.weight, block.convolution.bias  # (W, W, 3), (W,)
    normalised = torch.nn.functional.layer_norm(x[0], (WIDTH,))
    for t in range(T):
        seen = [(j, normalised[t - 2 + j]) for j in range(3) if t - 2 + j >= 0]
        total = bias + sum(kernel[:, :, j] @ token for j, token in seen)
        by_hand = x[0, t] + torch.nn.functional.gelu(total)
        assert torch.allclose(block(x)[0, t], by_hand, atol=1e-5)


@pytest.mark.parametrize("kind", ["transformer", "bidirectional"])
def test_the_transformer_among_the_peers_has_the_recipe_that_learns_direct_links(kind: str) -> None:
    config = model(kind).config
    assert config.d_mlp == 2 * WIDTH
    # Small embeddings, so that a table row times the scale has entries of about 1.
    assert config.embedding_std * config.embedding_scale == pytest.approx(1.0)
    assert config.embedding_scale == pytest.approx(WIDTH**0.5)
    assert config.init_std == pytest.approx(WIDTH**-0.5)
    assert model(kind, replace(PLAN, init_std=0.07)).config.init_std == 0.07
    assert not config.tie_weights
    assert config.mask == ("causal" if kind == "transformer" else "bidirectional")


def test_an_answer_can_be_read_at_one_place() -> None:
    made, ids = model("gru"), some_ids(B, T)
    at = torch.tensor([0, 4, T - 1])
    read = made(ids, read_at=at).logits
    assert torch.allclose(read[:, 0], peers.logits(made, ids)[torch.arange(B), at], atol=1e-6)


def test_a_kind_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="choose one of"):
        peers.make("mamba", PLAN, WIDTH, rng())
    with pytest.raises(SettingError):
        PeerConfig("cnn", VOCABULARY, kernel=0)
