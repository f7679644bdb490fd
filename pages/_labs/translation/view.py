"""How the translation page shows a run: the alignment as it appears, numbers, and the others."""

import numpy as np
import streamlit as st

from owi_core.events import Snapshot
from owi_core.experiments.translation.results import Result, best_layer
from owi_core.figures import Line, Scale, line_chart
from owi_core.jobs.runs import Run
from owi_core.jobs.tasks import ENDED
from pages._labs.translation.models import gold_of
from pages._ui.base.page import Frame
from pages._ui.draw.charts import chart
from pages._ui.draw.components import attention_matrix
from pages._ui.draw.run_panel import loss

FIGURE_WIDTH = 150
COLOURS = {"transformer": "a", "gru": "b", "gru_no_attention": "muted"}


def live(page: Frame, run: Run) -> None:
    """Draw the loss, and the cross-attention of one held-out pair as it is now."""
    if run.state in ENDED:
        return
    # The map is what the lesson is about: it comes first, the loss beside it.
    left, right = st.columns([3, 2], gap="large")
    with left:
        _alignment(page, run)
    with right:
        loss(page, run)


def _alignment(page: Frame, run: Run) -> None:
    shot = run.latest(Snapshot)
    if shot is None or not shot.keys:
        return
    st.caption(page.t("live.about", step=shot.step))
    gold = gold_of(run.params, tuple(shot.keys))
    attention_matrix(
        page,
        np.array(shot.pattern[-1], dtype=np.float64).mean(axis=0),  # (T, S)
        shot.tokens,
        shot.keys,
        outlined=[] if gold is None else gold_cells(gold.gold),
        key=f"translation.alignment.{run.id}",
    )


def gold_cells(gold: tuple[tuple[int, ...], ...]) -> list[tuple[int, int]]:
    """Return the cells (target word, source word) of a gold alignment."""
    return [(t, s) for t, sources in enumerate(gold) for s in sources]


def figures(page: Frame, result: Result) -> None:
    """Draw the numbers of the run."""
    layer = best_layer(result)
    shown = {
        "exact_heldout": f"{result.exact_heldout:.1%}",
        "exact_heldout_frame": _share(page, result.exact_heldout_frame),
        "alignment_argmax": f"{result.alignment_argmax[layer]:.1%}",
        "alignment_mass": f"{result.alignment_mass[layer]:.2f}",
        "cut_gold_nats_median": f"{result.cut_gold_nats_median:.1f}",
        "cut_other_nats_median": f"{result.cut_other_nats_median:.1f}",
    }
    with st.container(horizontal=True):
        for name, value in shown.items():
            st.metric(
                page.t(f"result.{name}"),
                value,
                help=page.t(f"result_help.{name}", layer=layer + 1),
                width=FIGURE_WIDTH,
            )


def against(page: Frame, result: Result) -> None:
    """Draw the share of exact translations by length, of every model that was trained."""
    sides = result.sides
    if len(sides) == 1:
        return
    st.subheader(page.t("against.title"), anchor=False)
    lines = [
        Line(
            page.t(f"side.{name}"),
            [(int(n), value) for n, value in side.exact_by_length.items()],
            COLOURS[name],  # type: ignore[arg-type]
        )
        for name, side in sides.items()
    ]
    figure = line_chart(
        lines, Scale(page.t("against.length")), Scale(page.t("against.exact")), theme=page.theme
    )
    chart(page, figure, key="translation.against")
    for name, side in sides.items():
        st.markdown(
            page.t(
                "against.line",
                name=page.t(f"side.{name}"),
                exact=side.exact_heldout,
                n_params=side.n_params,
                seconds=side.train_seconds,
            )
        )


def caches(page: Frame, result: Result) -> None:
    """Say what writing keeps: of the source once, of each word written more and more."""
    st.subheader(page.t("caches.title"), anchor=False)
    cross, own = result.cross_keys_bytes, result.self_keys_bytes_per_word
    st.markdown(page.t("caches.about", cross=cross, own=own, ten=10 * own))


def _share(page: Frame, value: float | None) -> str:
    return page.t("result.none") if value is None else f"{value:.1%}"
