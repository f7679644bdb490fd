"""Entropy, rollout, knock-out, leakage and storage, each computed a second time by hand."""

import math
from collections import defaultdict

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from owi_core import masks
from owi_core.errors import SettingError
from owi_core.model import Transformer
from owi_core.probes import knockout
from owi_core.probes.knockout import (
    Edge,
    answer_log_probability,
    knock_out_nats,
    knock_out_row,
)
from owi_core.probes.leakage import loss_floor_nats, prefix_only_loss_nats
from owi_core.probes.rows import entropy_nats, rollout
from owi_core.probes.storage import TiedStorage, tied_storage
from owi_core.training import loss_nats, windows
from tests.tiny import HEADS, LAYERS, QUERIES, refused, some_ids, tiny_model

IDS = some_ids(QUERIES).tolist()
READ_AT, TARGET = 8, 3


def test_entropy_of_one_key_is_0_and_of_all_alike_log_t() -> None:
    assert entropy_nats(np.eye(7, dtype=np.float32)[3]) == 0
    assert f"{entropy_nats(np.ones(1, np.float32)):.2f}" == "0.00"  # and no −0
    assert entropy_nats(np.array([1.0000001], np.float32)) == 0
    assert entropy_nats(np.full(7, 1 / 7, np.float32)) == pytest.approx(math.log(7), abs=1e-6)


def test_entropy_by_hand() -> None:
    row = np.array([0.5, 0.0, 0.25, 0.25], np.float32)
    assert entropy_nats(row) == pytest.approx(1.5 * math.log(2))


@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=20).filter(lambda x: sum(x) > 0.1))
def test_entropy_lies_between_0_and_log_t(parts: list[float]) -> None:
    row = np.array(parts, np.float32)
    assert -1e-5 <= entropy_nats(row / row.sum()) <= math.log(len(parts)) + 1e-5


def a_pattern() -> Tensor:
    out = tiny_model()(torch.tensor([IDS]), explicit=True)
    return out.pattern[:, 0].detach()  # type: ignore[no-any-return]


def test_rollout_of_identities_is_the_identity() -> None:
    pattern = np.broadcast_to(np.eye(7, dtype=np.float32), (LAYERS, HEADS, 7, 7))
    np.testing.assert_array_equal(rollout(pattern), np.eye(7))


def test_rollout_rows_sum_to_one_and_stay_causal() -> None:
    flow = rollout(a_pattern().numpy())
    np.testing.assert_allclose(flow.sum(1), 1, atol=1e-6)
    assert (np.triu(flow, 1) == 0).all()


def test_rollout_is_the_sum_over_all_paths() -> None:
    pattern = a_pattern().numpy()
    steps = pattern.mean(1) / 2 + np.eye(QUERIES) / 2
    by_paths = np.zeros((QUERIES, QUERIES))
    for end in range(QUERIES):
        for middle in range(QUERIES):
            for start in range(QUERIES):
                by_paths[end, start] += steps[1, end, middle] * steps[0, middle, start]
    np.testing.assert_allclose(rollout(pattern), by_paths, atol=1e-6)


def log_p_under(model: Transformer, mask: Tensor) -> float:
    """log p(target) with a mask of our own, through the explicit path."""
    logits = model(torch.tensor([IDS]), mask=mask, explicit=True).logits[0, READ_AT].double()
    return float(logits[TARGET] - torch.logsumexp(logits, 0))


def own_mask(edge: Edge, mask: str) -> Tensor:
    """The model's mask in five axes with one edge taken out by hand."""
    T = QUERIES
    base = torch.zeros(LAYERS, 1, HEADS, T, T, dtype=torch.bool)
    for query in range(T):
        for key in range(T):
            base[..., query, key] = mask == "bidirectional" or key <= query
    for head in range(HEADS):
        if edge.head in (None, head):
            base[edge.layer, 0, head, edge.query, edge.key] = False
    return base


@torch.no_grad()
@pytest.mark.parametrize("mask", ["causal", "bidirectional"])
@pytest.mark.parametrize(
    "edge", [Edge(0, 8, 2), Edge(1, 8, 2), Edge(0, 5, 1, 3), Edge(1, 8, 8, 4), Edge(1, 3, 0)]
)
def test_knock_out_is_the_model_run_again_under_a_mask_without_the_edge(
    mask: str, edge: Edge
) -> None:
    model = tiny_model(mask=mask)
    before = log_p_under(model, masks.named(mask, QUERIES))  # type: ignore[arg-type]
    change = log_p_under(model, own_mask(edge, mask)) - before
    assert knock_out_nats(model, IDS, READ_AT, TARGET, edge) == pytest.approx(change, abs=1e-5)
    if edge == Edge(1, 3, 0):  # of another row, in the last layer: it cannot reach the answer
        assert change == 0
    else:
        assert abs(change) > 1e-6


@torch.no_grad()
def test_log_probability_without_a_cut_is_that_of_the_model() -> None:
    model = tiny_model()
    by_hand = log_p_under(model, masks.causal(QUERIES))
    assert answer_log_probability(model, IDS, READ_AT, TARGET) == pytest.approx(by_hand, abs=1e-5)


@torch.no_grad()
def test_several_edges_are_cut_at_once() -> None:
    model, edges = tiny_model(), [Edge(0, 8, 2), Edge(1, 8, 3, 1)]
    mask = own_mask(edges[0], "causal") & own_mask(edges[1], "causal")
    by_hand = log_p_under(model, mask)
    cut = answer_log_probability(model, IDS, READ_AT, TARGET, edges)
    assert cut == pytest.approx(by_hand, abs=1e-5)


@pytest.mark.parametrize("mask", ["causal", "bidirectional"])
@pytest.mark.parametrize("at_once", [10**9, 1, 3 * HEADS * QUERIES**2])
@pytest.mark.parametrize("query", [6, READ_AT])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_row_of_knock_outs_is_each_edge_cut_alone(
    mask: str, at_once: int, query: int, norm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(knockout, "MAX_SCORES", at_once)
    model = tiny_model(mask=mask, norm=norm, n_layer=3)
    row = knock_out_row(model, IDS, query, READ_AT, TARGET)
    assert row.shape == (3, QUERIES)
    for layer in range(3):
        for key in range(QUERIES):
            if mask == "causal" and key > query:
                assert np.isnan(row[layer, key])
            else:
                alone = knock_out_nats(model, IDS, READ_AT, TARGET, Edge(layer, query, key))
                assert row[layer, key] == pytest.approx(alone, abs=1e-5)


def test_row_of_a_query_with_one_edge_has_nothing_to_cut() -> None:
    assert np.isnan(knock_out_row(tiny_model(), IDS, 0, READ_AT, TARGET)).all()


def test_the_only_edge_of_a_query_cannot_be_cut() -> None:
    with refused("edge_is_the_only_one", SettingError, query=0):
        knock_out_nats(tiny_model(), IDS, READ_AT, TARGET, Edge(0, 0, 0))


def test_knock_out_leaves_the_model_as_it_was() -> None:
    model = tiny_model()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    knock_out_row(model, IDS, 6, READ_AT, TARGET)
    assert all(torch.equal(before[name], t) for name, t in model.state_dict().items())


def text(n: int = 40) -> Tensor:
    return some_ids(n, seed=5)


@torch.no_grad()
def test_prefix_only_loss_of_a_causal_model_is_its_ordinary_loss() -> None:
    model, data = tiny_model(dropout=0.5).train(), windows(text(), 7)
    prefix_only = prefix_only_loss_nats(model, data)
    model.eval()
    whole = loss_nats(model, data.take(torch.arange(len(data)))).item()
    assert prefix_only == pytest.approx(whole, abs=1e-5)


@torch.no_grad()
def test_prefix_only_loss_of_a_bidirectional_model_by_brute_force() -> None:
    model, data = tiny_model(mask="bidirectional"), windows(text(19), 7)
    surprises = []
    for window, following in zip(data.ids, data.targets, strict=True):
        for t in range(7):
            logits = model(window[: t + 1][None]).logits[0, -1].double()
            surprises.append(float(torch.logsumexp(logits, 0) - logits[following[t]]))
    by_hand = sum(surprises) / len(surprises)
    assert prefix_only_loss_nats(model, data) == pytest.approx(by_hand, abs=1e-5)
    peeking = loss_nats(model, data.take(torch.arange(len(data)))).item()
    assert abs(peeking - by_hand) > 1e-3


@torch.no_grad()
def test_prefix_only_loss_takes_windows_spread_over_the_whole_text() -> None:
    model, data = tiny_model(), windows(text(), 7)
    rows = torch.tensor([0, 16, 32])
    by_hand = loss_nats(model, data.take(rows)).item()
    assert prefix_only_loss_nats(model, data, n_windows=3) == pytest.approx(by_hand, abs=1e-5)


def floor_by_brute_force(ids: list[int], block: int) -> float:
    """Mean of −log share of what followed each prefix, over all windows, in plain loops."""
    starts = range(len(ids) - block)
    surprises = []
    for t in range(1, block + 1):
        followers = defaultdict(list)
        for i in starts:
            followers[tuple(ids[i : i + t])].append(ids[i + t])
        for i in starts:
            seen = followers[tuple(ids[i : i + t])]
            surprises.append(-math.log(seen.count(ids[i + t]) / len(seen)))
    return sum(surprises) / len(surprises)


@pytest.mark.parametrize("block", [1, 2, 5])
def test_floor_of_the_loss_by_brute_force(block: int) -> None:
    ids = some_ids(37, seed=2, vocab_size=3)
    floor = loss_floor_nats(ids, block)
    assert floor == pytest.approx(floor_by_brute_force(ids.tolist(), block), abs=1e-9)


def test_floor_of_one_repeated_character_is_0_and_of_a_coin_log_2() -> None:
    assert loss_floor_nats(torch.zeros(20, dtype=torch.long), 4) == 0
    # aab aab …: after one a comes a or b, each every other time; b is always followed by a.
    ids = torch.tensor([0, 0, 1] * 30 + [0])
    assert loss_floor_nats(ids, 1) == pytest.approx(2 / 3 * math.log(2))


def test_no_model_that_sees_the_prefix_alone_lies_below_the_floor() -> None:
    ids = text(60) % 3
    data = windows(ids, 5)
    honest = prefix_only_loss_nats(tiny_model(), data, n_windows=len(data))
    floor = loss_floor_nats(ids, 5)
    assert floor is not None
    assert honest > floor


def test_floor_of_a_text_too_long_to_count_is_not_given() -> None:
    assert loss_floor_nats(torch.zeros(200_000, dtype=torch.long), 32) is None


def test_storage_of_tied_and_untied_weights() -> None:
    tied, loose = tied_storage(tiny_model()), tied_storage(tiny_model(tie_weights=False))
    assert (tied.same_object, tied.same_storage) == (True, True)
    assert (loose.same_object, loose.same_storage) == (False, False)


@pytest.mark.parametrize(("storage", "pointer"), [(True, False), (False, True)])
def test_storage_alone_or_address_alone_shares_no_matrix(storage: bool, pointer: bool) -> None:
    assert not TiedStorage(True, storage, pointer).shared
    assert TiedStorage(False, True, True).shared


def test_storage_may_be_shared_by_two_objects() -> None:
    model = tiny_model(tie_weights=False)
    model.lm_head.weight = torch.nn.Parameter(model.embedding.weight.detach())
    storage = tied_storage(model)
    assert (storage.same_object, storage.same_storage) == (False, True)
