"""All layers and heads as thumbnails that can be clicked: one small matrix for each."""

import base64
from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from owi_core.figures import thumbnails
from pages._ui.base.figure_text import figure_look
from pages._ui.base.page import Frame
from pages._ui.draw.charts import offer
from pages._ui.draw.events import mount_clickable, version

FORBIDDEN = 255  # weights take 0 … 254
Chosen = tuple[int, int | None]


def head_grid(
    page: Frame,
    pattern: npt.NDArray[np.float32],
    mask: npt.NDArray[np.bool_],
    labels: Sequence[str],
    *,
    selected: Chosen,
    key: str,
) -> None:
    """Draw a row of thumbnails for every layer: the mean over heads, then head by head.

    pattern: (L, H, T_q, T_k).  mask: (T_q, T_k) bool, True = may attend.  selected: layer and
    head, None for the mean.  What was clicked is read by `chosen_head`.
    """
    n_layer, n_head, n_query, n_key = pattern.shape
    panels = np.concatenate([pattern.mean(axis=1, keepdims=True), pattern], axis=1)
    cells = np.where(mask | (panels != 0), np.rint(254 * panels), FORBIDDEN).astype(np.uint8)
    heads: Sequence[int | None] = [None, *range(n_head)]
    data = {
        "cells": base64.b64encode(cells.tobytes()).decode(),
        "shape": [n_layer, n_head + 1, n_query, n_key],
        "selected": [selected[0], heads.index(selected[1])],
        "names": [_name(page, head) for head in heads],
        "layers": [page.t("grid.layer", layer=layer + 1) for layer in range(n_layer)],
        "label": page.t("grid.label"),
        "numbers": page.t.template("grid.numbers"),
        "theme": page.theme,
    }
    # A head is a place in the grid, whatever the sentence: only the grid's size is its version.
    mount_clickable("head_grid", key=key, data=data, view=version(n_layer, n_head))
    offer(page, partial(thumbnails, pattern, mask, labels, labels, **figure_look(page)), key=key)


def chosen_head(value: object, n_layer: int, n_head: int) -> Chosen | None:
    """Return layer and head of what the browser reported, if there are such."""
    if not isinstance(value, int | float) or not 0 <= value < n_layer * (n_head + 1):
        return None
    layer, column = divmod(int(value), n_head + 1)
    return layer, None if column == 0 else column - 1


def _name(page: Frame, head: int | None) -> str:
    return page.t("mean") if head is None else page.t("grid.head", head=head + 1)
