"""Boolean masks: True = may attend, axes [query_pos, key_pos]; padding has a batch axis first."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from owi_core.config import MaskName
from owi_core.errors import SettingError

Range = Literal["full", "window", "window_global", "dilated", "shifted", "linear"]


@dataclass(frozen=True)
class Reach:
    """How far a limited range goes: keys in a window, global positions, factor of the dilation."""

    size: int = 8
    n_global: int = 1
    step: int = 2


def causal(T: int) -> Tensor:
    """Return the (T, T) mask under which a query sees itself and all earlier positions."""
    return torch.ones(T, T, dtype=torch.bool).tril()


def bidirectional(T: int) -> Tensor:
    """Return the (T, T) mask under which every query sees every key."""
    return torch.ones(T, T, dtype=torch.bool)


def window(T: int, size: int) -> Tensor:
    """Return the causal (T, T) mask that reaches back over `size` positions, itself counted."""
    if size < 1:
        raise SettingError("setting_out_of_range", name="window", value=size, low=1, high=T)
    return causal(T) & ~causal(T).tril(-size)


def window_with_global(T: int, size: int, n_global: int) -> Tensor:
    """Return the window mask in which all later positions see the first `n_global` ones.

    Source: Beltagy et al. 2020, Longformer, section 3.1 (here made causal).
    """
    mask = window(T, size)
    mask[:, :n_global] = True  # a column: every query sees these keys
    return mask & causal(T)


def dilated(T: int, size: int, step: int) -> Tensor:
    """Return the causal (T, T) mask of `size` keys `step` positions apart, starting at the query.

    Source: Beltagy et al. 2020, Longformer, section 3.1 (here made causal).
    """
    # From step T on a query sees only itself.  step grows exponentially with the layer, and without
    # the bound size · step would overflow.
    step = min(step, T)
    position = torch.arange(T)
    back = position[:, None] - position[None, :]  # (T, T)
    return window(T, size * step) & (back % step == 0)


def blocks(T: int, size: int, shift: int = 0) -> Tensor:
    """Return the causal (T, T) mask that ends at the borders of blocks of `size` positions.

    The first block is `shift` positions shorter, which moves every border.
    Source: Liu et al. 2021, Swin Transformer, section 3.2 (there in two dimensions, not causal).
    """
    if size < 1:
        raise SettingError("setting_out_of_range", name="window", value=size, low=1, high=T)
    # Adding the shift before the division numbers the blocks as if they began `shift` earlier.
    block = (torch.arange(T) + shift) // size  # (T,)
    return causal(T) & (block[:, None] == block[None, :])


def padding(lengths: Tensor, T: int) -> Tensor:
    """Return the (B, 1, T) mask of the keys that are real tokens; padding is on the right.

    lengths: (B,) int, tokens in each sequence.
    """
    return torch.arange(T)[None, None, :] < lengths[:, None, None]  # (B, 1, T)


def of_layer(kind: Range, T: int, layer: int, reach: Reach) -> Tensor:
    """Return the causal (T, T) mask that a kind of range has in layer number `layer`, from 0.

    `dilated` keeps its number of keys and multiplies their distance by `step` from layer to layer,
    beginning at 1; `shifted` moves the blocks by half a block in every second layer.  `linear`
    masks nothing but the future: every causal pair is linked, through a sum of fixed size.
    """
    if kind == "window":
        return window(T, reach.size)
    if kind == "window_global":
        return window_with_global(T, reach.size, reach.n_global)
    if kind == "dilated":
        return dilated(T, reach.size, reach.step**layer)
    if kind == "shifted":
        return blocks(T, reach.size, reach.size // 2 * (layer % 2))
    return causal(T)


def by_layer(kind: Range, T: int, n_layer: int, reach: Reach) -> Tensor:
    """Return the (L, T, T) masks of `of_layer`, one a layer."""
    return torch.stack([of_layer(kind, T, layer, reach) for layer in range(n_layer)])


def both_ways(mask: Tensor) -> Tensor:
    """Return a causal mask (…, T, T) with its mirror image: a key that is seen sees its query."""
    return mask | mask.transpose(-2, -1)


def named(name: MaskName, T: int) -> Tensor:
    """Return the (T, T) mask called `name` in a ModelConfig."""
    return causal(T) if name == "causal" else bidirectional(T)
