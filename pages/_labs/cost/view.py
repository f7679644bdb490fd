"""What was measured on the cost page, part by part; sentences are chosen by the numbers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from owi_core.events import Evaluated
from owi_core.experiments.cost.depth import HEADS, LAYERS, name_of
from owi_core.experiments.cost.depth import Result as DepthResult
from owi_core.experiments.cost.outside import Result as OutsideResult
from owi_core.experiments.cost.ranges import EXPLICIT, Measured
from owi_core.experiments.cost.ranges import KINDS as RANGES
from owi_core.experiments.cost.ranges import Result as RangesResult
from owi_core.experiments.cost.scale import Result as ScaleResult
from owi_core.experiments.cost.scale import Rows
from owi_core.experiments.cost.time import Result as TimeResult
from owi_core.figures import (
    Bar,
    Level,
    Line,
    Scale,
    Timed,
    accuracy_map,
    amount_bars,
    line_chart,
    time_by_length,
)
from owi_core.jobs.runs import Run
from owi_core.jobs.tasks import ENDED
from pages._ui.base.page import Frame
from pages._ui.draw.charts import chart
from pages._ui.draw.forms import segments
from pages._ui.draw.run_panel import loss, uniform_nats
from pages._ui.session.state import renew

MEBIBYTE = 2**20
SWEEPS = ("step", "forward")
IDENTITIES: dict[str, Any] = {"transformer": "A", "lstm": "B"}


def live(page: Frame, run: Run) -> None:
    """Draw what is known so far of a run under way: points of the sweep, or the loss."""
    if run.state in ENDED:
        return
    if run.params["part"] in ("outside", "scale", "depth"):
        if run.losses:
            loss(page, run)
        return
    measured = run.latest(Evaluated)
    if measured is not None and run.params["part"] == "time":
        series = _series_of_metrics(page, measured.metrics)
        chart(page, _times(page, series), key=f"cost.live.{run.id}")


def time(page: Frame, run: Run, result: TimeResult) -> None:
    """Draw both sweeps of every model, their slopes, and where and why a sweep stopped."""
    which = segments(
        page.t("time.which"), SWEEPS, key="cost.time.which", name=page.t.each("time.{}")
    )
    series = [
        Timed(
            page.t(f"kind.{kind}"),
            {int(T): s for T, s in seconds.items()},
            slope,
            IDENTITIES.get(kind, ""),
        )
        for kind, part in result.models.items()
        for seconds, slope in [
            (part.step_seconds_by_length, part.slope)
            if which == "step"
            else (part.forward_seconds_by_length, part.forward_slope)
        ]
    ]
    chart(page, _times(page, series), key=f"cost.time.{which}.{run.id}")
    st.caption(page.t("time.slope"))
    for line in _stops(page, run, result):
        st.markdown(line)
    longest = list(result.score_bytes_by_length)[-1]
    held = result.score_bytes_by_length[longest] / MEBIBYTE
    st.markdown(page.t.markdown("time.scores", length=int(longest), value=f"{held:,.4g}"))
    _slopes(page, result)
    st.info(page.t("time.honest"), icon=":material/computer:")


def ranges(page: Frame, run: Run, result: RangesResult) -> None:
    """Draw time and memory of every kind at both lengths, and how exact each is."""
    lengths = list(result.by_length)
    renew("cost.ranges_of", run.id, "cost.ranges.at")
    length = segments(
        page.t("time.x"),
        lengths,
        key="cost.ranges.at",
        usual=lengths[-1],
        name=lambda value: page.t("ranges.length", length=int(value)),
    )
    part = result.by_length[str(length)]
    found = {kind: part[kind].time_and_memory for kind in (*RANGES, EXPLICIT)}
    timed = {kind: both for kind, both in found.items() if both is not None}
    for name, values, unit, column in zip(
        ("time", "memory"),
        (
            [1000 * seconds for seconds, _ in timed.values()],
            [held / MEBIBYTE for _, held in timed.values()],
        ),
        (page.t("ranges.ms"), "MiB"),
        st.columns(2),
        strict=True,
    ):
        bars = [
            Bar(page.t(f"kind.{kind}"), value, strong=kind == "window")
            for kind, value in zip(timed, values, strict=True)
        ]
        figure = amount_bars(bars, page.t(f"ranges.{name}"), unit=unit, theme=page.theme)
        key = f"cost.ranges.{name}.{length}.{run.id}"
        with column:
            chart(page, figure, key=key)
    needed_bytes = part[EXPLICIT].needed_bytes
    if isinstance(needed_bytes, int):
        needed = round(needed_bytes / MEBIBYTE)
        st.markdown(page.t.markdown("ranges.skipped", needed=needed, cap=run.params["cap_mb"]))
    st.markdown(
        page.t.markdown(
            "ranges.exact",
            outputs=result.difference_max,
            gradients=result.gradient_difference_max,
        )
    )
    st.caption(page.t("ranges.fused"))
    _ranges_table(page, part, timed)


def outside(page: Frame, run: Run, result: OutsideResult) -> None:
    """Draw how often each kind is right at each distance, and where nothing links the word."""
    kinds = result.kinds
    figure = accuracy_map(
        [page.t(f"kind.{kind}") for kind in kinds],
        np.array([list(part.accuracy_by_distance.values()) for part in kinds.values()]),
        np.array([part.linked_by_distance for part in kinds.values()], dtype=bool),
        x_title=page.t("outside.distance"),
        value_title=page.t("outside.accuracy"),
        unlinked=page.t("outside.unlinked"),
        theme=page.theme,
    )
    chart(page, figure, key=f"cost.outside.{run.id}")
    relayed = kinds["window"].accuracy_relayed
    key = "outside.no_relay" if relayed is None else "outside.relayed"
    st.markdown(page.t.markdown(key, relayed=relayed))
    change = max(part.outside_change_max for part in kinds.values())
    mark = "✓" if change == 0 else "✗"
    st.markdown(f"{mark} " + page.t.markdown("outside.change", change=change))


def scale(page: Frame, run: Run, result: ScaleResult) -> None:
    """Draw spread, entropy and gradient by d_k, and both trainings."""
    names = (page.t("scale.on"), page.t("scale.off"))
    spread = result.by_d_head
    figures = {"std": "std", "entropy": "entropy_nats", "gradient": "gradient_norm_median"}
    for (name, key), column in zip(figures.items(), st.columns(3), strict=True):
        sides = [
            [(int(D), getattr(part[side], key)) for D, part in spread.items()]
            for side in ("scaled", "unscaled")
        ]
        x, y = Scale(page.t("scale.d_head"), log=True), Scale(page.t(f"scale.{name}"))
        figure = line_chart(_pair(names, sides), x, y, height=280, theme=page.theme)
        with column:
            chart(page, figure, key=f"cost.scale.{name}.{run.id}")
    st.markdown(_gradient_line(page, spread))
    st.markdown(f"**{page.t('scale.curves', d_head=result.d_head)}**")
    losses = [result.scaled.losses, result.unscaled.losses]
    x, y = Scale(page.t("scale.step")), Scale(page.t("scale.loss"), hover_format=".3f")
    lines = _pair(names, [list(enumerate(loss, start=1)) for loss in losses])
    uniform = uniform_nats(run)
    levels = [] if uniform is None else [Level(page.t("scale.uniform"), uniform)]
    figure = line_chart(lines, x, y, levels=levels, height=280, theme=page.theme)
    chart(page, figure, key=f"cost.scale.loss.{run.id}")
    right = {"scaled": result.scaled.accuracy, "unscaled": result.unscaled.accuracy}
    st.markdown(page.t.markdown("scale.accuracy", **right))


def depth(page: Frame, run: Run, result: DepthResult) -> None:
    """Draw what each number of layers and heads has learned."""
    sizes = result.sizes
    rows = [
        {
            page.t("depth.layers"): layers,
            **{
                page.t("depth.heads", heads=heads): f"{share:.1%}"
                for heads in HEADS
                for share in [sizes[name_of(layers, heads)].accuracy_heldout]
            },
            page.t("depth.mass"): " · ".join(
                f"{max(sizes[name_of(layers, heads)].attention_by_layer):.2f}" for heads in HEADS
            ),
        }
        for layers in LAYERS
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True, key=f"cost.depth.{run.id}")
    st.caption(page.t("depth.about"))


SHOW: dict[str, Callable[[Frame, Run, Any], None]] = {
    "time": time,
    "ranges": ranges,
    "outside": outside,
    "scale": scale,
    "depth": depth,
}


def _pair(names: Sequence[str], sides: Sequence[Sequence[tuple[float, float]]]) -> list[Line]:
    (a, b), (first, second) = names, sides
    return [Line(a, first, "a", "solid"), Line(b, second, "b", "dash")]


def _times(page: Frame, series: list[Timed]) -> Any:
    return time_by_length(
        series, x_title=page.t("time.x"), y_title=page.t("time.y"), theme=page.theme
    )


def _series_of_metrics(page: Frame, metrics: Mapping[str, float]) -> list[Timed]:
    """Return the lines in metrics that are named `kind.length`."""
    lines: dict[str, dict[int, float]] = {}
    for name, seconds in metrics.items():
        kind, length = name.split(".")
        lines.setdefault(kind, {})[int(length)] = seconds
    return [
        Timed(page.t(f"kind.{kind}"), seconds, None, IDENTITIES.get(kind, ""))
        for kind, seconds in lines.items()
    ]


def _stops(page: Frame, run: Run, result: TimeResult) -> list[str]:
    caps = {"memory": result.cap_mb, "time": run.params["cap_seconds"]}
    lines = [
        page.t.markdown(
            f"time.stopped_{part.stopped}",
            kind=page.t(f"kind.{kind}"),
            length=part.stopped_at,
            cap=caps[part.stopped],
        )
        for kind, part in result.models.items()
        if part.stopped
    ]
    longest = list(result.score_bytes_by_length)[-1]
    return lines or [page.t.markdown("time.all_done", length=int(longest))]


def _slopes(page: Frame, result: TimeResult) -> None:
    rows = []
    for kind, part in result.models.items():
        measured = list(part.step_seconds_by_length.items())
        at, seconds = measured[-1] if measured else ("–", None)
        rows.append(
            {
                page.t("time.model"): page.t(f"kind.{kind}"),
                page.t("time.n_params"): f"{part.n_params:,}",
                page.t("time.at_longest"): "–" if seconds is None else f"{1000 * seconds:.1f}",
                page.t("time.at"): at,
                page.t("time.slope_step"): _slope(part.slope),
                page.t("time.slope_forward"): _slope(part.forward_slope),
            }
        )
    st.dataframe(pd.DataFrame(rows), hide_index=True)


def _slope(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _ranges_table(
    page: Frame, part: Mapping[str, Measured], timed: Mapping[str, tuple[float, int]]
) -> None:
    full, _ = timed["full"]
    rows = [
        {
            page.t("ranges.kind"): page.t(f"kind.{kind}"),
            page.t("ranges.share"): f"{seconds / full:.2f}",
            page.t("ranges.pairs"): f"{part[kind].score_bytes / MEBIBYTE:.3g}",
            page.t("ranges.peak"): f"{held / MEBIBYTE:.3g}",
        }
        for kind, (seconds, held) in timed.items()
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True)


def _gradient_line(page: Frame, spread: Mapping[str, Mapping[str, Rows]]) -> str:
    largest = list(spread.values())[-1]
    off, on = largest["unscaled"], largest["scaled"]
    scores = off.gradient_norm_median / on.gradient_norm_median
    q = off.gradient_at_q_median / on.gradient_at_q_median
    both = "opposite" if scores < 1 <= q else "same_way"
    return page.t.markdown(f"scale.gradient_{both}", scores=scores, q=q)
