"""Masks, each against a literal picture or its definition for every pair of positions."""

import torch

from owi_core import masks
from tests.tiny import refused


def picture(*lines: str) -> list[list[bool]]:
    return [[mark == "x" for mark in line] for line in lines]


def test_causal_mask_shows_a_query_itself_and_the_past() -> None:
    assert masks.causal(3).tolist() == picture("x..", "xx.", "xxx")


def test_bidirectional_mask_shows_everything() -> None:
    assert masks.bidirectional(3).tolist() == picture("xxx", "xxx", "xxx")


def test_window_reaches_back_over_its_size_itself_counted() -> None:
    assert masks.window(5, 2).tolist() == picture("x....", "xx...", ".xx..", "..xx.", "...xx")
    assert torch.equal(masks.window(5, 5), masks.causal(5))


def test_window_with_global_adds_the_first_positions_and_stays_causal() -> None:
    wanted = picture("x....", "xx...", "xxx..", "x.xx.", "x..xx")
    assert masks.window_with_global(5, 2, 1).tolist() == wanted
    wanted = picture("x....", "xx...", "xxx..", "xxxx.", "xx.xx")
    assert masks.window_with_global(5, 2, 2).tolist() == wanted


def test_window_without_size_is_refused() -> None:
    with refused("setting_out_of_range", name="window", value=0):
        masks.window(5, 0)


def test_padding_hides_the_keys_past_each_length_for_every_query() -> None:
    mask = masks.padding(torch.tensor([1, 3, 4]), 4)
    assert mask.shape == (3, 1, 4)
    assert mask[:, 0].tolist() == picture("x...", "xxx.", "xxxx")


def test_named_masks_are_the_ones_of_the_config() -> None:
    assert torch.equal(masks.named("causal", 7), masks.causal(7))
    assert torch.equal(masks.named("bidirectional", 7), masks.bidirectional(7))
