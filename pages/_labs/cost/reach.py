"""What the cost page shows without any training: masks laid one on another, and memory."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import streamlit as st

from owi_core.experiments.cost.outside import KINDS
from owi_core.experiments.cost.time import score_bytes
from owi_core.figures import reach_panels
from owi_core.masks import Reach
from owi_core.probes.reach import farthest, fraction_linked, layers_needed, linked_by_kind
from pages._ui.base.page import Frame
from pages._ui.draw.charts import chart
from pages._ui.draw.forms import segments, whole

LAYERS = 3
WAYS = ("causal", "both")
MOST_LAYERS = 64
MEBIBYTE = 2**20
NARROW = 140


class Found(NamedTuple):
    """Reached pairs (K, L, T, T), their shares (K, L), and how far back the window reaches.

    joined: pairs that the window links in the end with global words, and not without.
    """

    reached: np.ndarray
    shares: np.ndarray
    window_farthest: int
    joined: np.ndarray


def reach(page: Frame) -> None:
    """Draw which pairs are linked after each layer, for every kind of range."""
    st.subheader(page.t("reach.title"), anchor=False)
    left, right = st.columns([3, 2], gap="large")
    with right:
        chosen, causal = _choose(page)
    found = _found(chosen["tokens"], chosen["size"], chosen["n_global"], chosen["step"], causal)
    figure = reach_panels(
        found.reached,
        [page.t(f"kind.{kind}") for kind in KINDS],
        [page.t("reach.after", layer=layer + 1) for layer in range(LAYERS)],
        linked=page.t("reach.linked"),
        unlinked=page.t("reach.unlinked"),
        row_notes=[" → ".join(f"{share:.0%}" for share in shares) for shares in found.shares],
        theme=page.theme,
        causal=causal,
    )
    with left:
        chart(page, figure, key="cost.reach")
        st.caption(page.t("reach.about"))
    with right:
        st.markdown(_window_line(page, found, chosen["tokens"]))
        if chosen["n_global"]:
            st.markdown(_global_line(page, found, chosen["n_global"], causal))
        _layers_table(page, Reach(chosen["size"], chosen["n_global"], chosen["step"]))


def _choose(page: Frame) -> tuple[dict[str, int], bool]:
    """Draw the settings of the masks; return their numbers, and whether they only look back."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = {
            "tokens": _number(page, "tokens", 24, 4, 64),
            "size": _number(page, "size", 4, 1, 64),
            "n_global": _number(page, "n_global", 1, 0, 16),
            "step": _number(page, "step", 2, 2, 8),
        }
        ways = segments(
            page.t("setting.ways"), WAYS, key="cost.reach.ways", name=page.t.each("ways.{}")
        )
    return chosen, ways == "causal"


def memory(page: Frame) -> None:
    """Draw what T × T scores take, for lengths, heads and layers of one's own."""
    st.subheader(page.t("memory.title"), anchor=False)
    figures = st.container(horizontal=True)
    with st.container(horizontal=True):
        T = _number(page, "tokens", 4096, 1, 1_000_000, "memory")
        heads = _number(page, "n_head", 8, 1, 128, "memory")
        layers = _number(page, "n_layer", 6, 1, 128, "memory")
    one = score_bytes(T, 1, 1) / MEBIBYTE
    every = score_bytes(T, heads, layers) / MEBIBYTE
    with figures:
        st.metric(page.t("memory.one"), page.t("memory.of", value=f"{one:,.4g}"), width="content")
        name = page.t("memory.all", layers=layers, heads=heads)
        st.metric(name, page.t("memory.of", value=f"{every:,.0f}"), width="content")
    st.caption(page.t("memory.about") + " " + page.t("memory.fits"))


@st.cache_data(max_entries=64, show_spinner=False)
def _found(tokens: int, size: int, n_global: int, step: int, causal: bool) -> Found:
    reach = Reach(size, n_global, step)
    reached = linked_by_kind(KINDS, tokens, LAYERS, reach, causal=causal)
    shares = [[fraction_linked(layer, causal=causal) for layer in kind] for kind in reached]
    window = reached[KINDS.index("window"), -1]
    joined = reached[KINDS.index("window_global"), -1] & ~window
    return Found(reached.numpy(), np.array(shares), farthest(window), joined.numpy())


@st.cache_data(max_entries=64, show_spinner=False)
def _layers(kind: str, size: int, n_global: int, step: int, distance: int) -> int | None:
    return layers_needed(kind, Reach(size, n_global, step), distance, most=MOST_LAYERS)  # type: ignore[arg-type]


def _window_line(page: Frame, found: Found, tokens: int) -> str:
    share = float(found.shares[KINDS.index("window"), -1])
    if share == 1:
        return page.t.markdown("reach.all_linked", layers=LAYERS, tokens=tokens)
    return page.t.markdown(
        "reach.full_chain", layers=LAYERS, farthest=found.window_farthest, share=share
    )


def _global_line(page: Frame, found: Found, n_global: int, causal: bool) -> str:
    share, window = (
        float(found.shares[KINDS.index(kind), -1]) for kind in ("window_global", "window")
    )
    others = int(found.joined[:, n_global:].sum())
    if not found.joined.any():
        code = "nothing_new"
    elif causal:
        code = "pass_on" if others else "only_themselves"
    else:
        code = "joins"
    values = {"layers": LAYERS, "share": share, "window": window, "n_global": n_global}
    return page.t.markdown(f"reach.global_{code}", **values, others=others)


def _layers_table(page: Frame, reach: Reach) -> None:
    distance = _number(page, "distance", 60, 1, 256)
    needed = [_layers(k, reach.size, reach.n_global, reach.step, distance) for k in KINDS]
    too_many = page.t("reach.too_many", most=MOST_LAYERS)
    what = [
        page.t(f"reach.what.{kind}", size=reach.size, n_global=reach.n_global, step=reach.step)
        for kind in KINDS
    ]
    table = pd.DataFrame(
        {
            page.t("reach.table_kind"): [
                f"{page.t(f'kind.{kind}')}：{about}"
                if page.lang == "zh"
                else f"{page.t(f'kind.{kind}')}: {about}"
                for kind, about in zip(KINDS, what, strict=True)
            ],
            page.t("reach.table_layers", distance=distance): [
                too_many if layers is None else str(layers) for layers in needed
            ],
        }
    )
    st.table(table.set_index(table.columns[0]))


def _number(page: Frame, name: str, usual: int, low: int, high: int, where: str = "reach") -> int:
    key = f"cost.{where}.{name}"
    return whole(page.t(f"setting.{name}"), low, high, key=key, usual=usual, width=NARROW)
