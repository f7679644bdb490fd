"""What the feedback page measures: why the mask is needed, cost over length, what repeats."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import takewhile
from typing import Any

import streamlit as st

from owi_core.corpora import character_text
from owi_core.events import Evaluated
from owi_core.experiments.feedback import MOVES_NOTHING, TOLERANCE, Result
from owi_core.figures import Line, Scale, line_chart
from owi_core.jobs.runs import Run
from pages._labs.feedback import models
from pages._labs.feedback.form import shown
from pages._labs.feedback.models import EXPERIMENT, N_MASK_TOKENS, SHIPPED
from pages._ui.base.page import Frame
from pages._ui.draw.charts import chart
from pages._ui.draw.code import FINISHED, experiment_code, show_code
from pages._ui.draw.forms import scale, segments
from pages._ui.draw.run_panel import result_of, run_lab

LENGTHS = (64, 256, 512)
BYTES_PER_FLOAT = 4
PARTS = 1e-3  # of the largest logit: more than rounding can be
REPEATS, CLEARLY_MORE = 0.3, 0.2


def mask(page: Frame) -> None:
    """Append a token to the shipped model's text and tell whether the earlier ones stay."""
    st.subheader(page.t("mask.title"), anchor=False)
    st.markdown(page.t("mask.about"))
    writer = models.writer(SHIPPED)
    ids = writer.tokenizer.encode(character_text("zh")).ids[:N_MASK_TOKENS]
    masked, unmasked = models.moves(writer.stamp, ids, writer.bundle)
    needed = masked <= MOVES_NOTHING < unmasked
    st.markdown(page.t(f"mask.{'needed' if needed else 'odd'}", masked=masked, unmasked=unmasked))


def memory(page: Frame) -> None:
    """Count what the cache holds of the text so far beside what an RNN's state would hold."""
    st.subheader(page.t("memory.title"), anchor=False)
    name = models.names()[0]
    config = models.writer(name).bundle.model.config
    st.caption(page.t("memory.of", name=page.t(f"model.{name}")))
    each, rnn = 2 * config.n_layer * config.d_model, config.n_layer * config.d_model
    with st.container(horizontal=True):
        for name, floats in (
            ("each", each),
            ("whole", each * config.block_size),
            ("rnn", rnn),
        ):
            st.metric(page.t(f"memory.{name}"), f"{floats:,}", width="content")
    kilobytes = each * config.block_size * BYTES_PER_FLOAT / 1024
    times = each * config.block_size / rnn
    st.markdown(
        page.t("memory.about", block=config.block_size, kilobytes=kilobytes, times=times, rnn=rnn)
    )


def cost(page: Frame) -> None:
    """Measure both ways here and now, by one button."""
    st.subheader(page.t("cost.title"), anchor=False)
    st.markdown(page.t("cost.about"))
    longest = segments(page.t("cost.longest"), LENGTHS, key="feedback.longest", usual=256)
    run = run_lab(page, EXPERIMENT, {"longest": longest}, draw=_live)
    result = result_of(run, Result)
    if run is None or result is None:
        return
    _curves(page, result.lengths, result.seconds_full, result.seconds_kv_cache, run.id)
    _numbers(page, result)
    st.markdown(page.t("cost.model", **asdict(result.timed_model)))
    parts = result.past_block_max_diff > PARTS
    values = {"block": result.block_size, "most": result.past_block_max_diff}
    st.markdown(page.t(f"past.{'parts' if parts else 'same'}", **values))
    show_code(page, run_code(run.params))
    _repeats(page, result, run)


def run_code(params: Mapping[str, Any]) -> str:
    """Lines that measure the same and print it."""
    return experiment_code(
        EXPERIMENT,
        params,
        FINISHED,
        "result = finished.result",
        'print(result["lengths"])',
        'print(result["seconds_full"], result["seconds_kv_cache"])',
        'print(result["kv_cache_max_diff"], result["same_text"], result["repeated_share"])',
    )


def _live(page: Frame, run: Run) -> None:
    """The curve of the rounds that are done, while others go on."""
    measured = run.latest(Evaluated)
    if measured is None or not run.under_way:
        return
    series: dict[str, dict[int, float]] = {"full": {}, "cached": {}}
    for name, seconds in measured.metrics.items():
        way, length = name.split(".")
        series[way][int(length)] = seconds
    lengths = sorted(series["full"])
    full, cached = ([series[way][n] for n in lengths] for way in ("full", "cached"))
    _curves(page, lengths, full, cached, run.id)


def _curves(
    page: Frame, lengths: Sequence[int], full: Sequence[float], cached: Sequence[float], run: int
) -> None:
    lines = [
        Line(page.t("cost.full"), list(zip(lengths, full, strict=True)), "b", "solid"),
        Line(page.t("cost.cached"), list(zip(lengths, cached, strict=True)), "a", "dash"),
    ]
    x, y = (Scale(page.t(f"cost.{side}"), log=True) for side in ("x", "y"))
    figure = line_chart(lines, x, y, theme=page.theme)
    chart(page, figure, key=f"feedback.curves.{run}")


def _numbers(page: Frame, result: Result) -> None:
    length, difference = result.lengths[-1], result.kv_cache_max_diff
    same = "✓" if result.same_text else "✗"
    close = "✓" if difference <= TOLERANCE else "✗"
    with st.container(horizontal=True):
        for name, value in (
            ("seconds_full", f"{result.seconds_full[-1]:.2f} s"),
            ("seconds_kv_cache", f"{result.seconds_kv_cache[-1]:.2f} s"),
            ("speedup", f"{result.speedup[-1]:.1f} ×"),
            ("difference", f"{close} {difference:.1e}"),
            ("same_text", same),
        ):
            label = page.t(f"result.{name}", length=length)
            st.metric(label, value, help=page.t(f"result_help.{name}"), width="content")


def _repeats(page: Frame, result: Result, run: Run) -> None:
    """Draw how much repeats at each temperature, and print what was written."""
    st.subheader(page.t("repeats.title"), anchor=False)
    st.markdown(page.t("repeats.about", steps=result.steps_unfinished))
    unfinished, shipped = result.repeated_share, result.repeated_share_shipped
    lines = [
        Line(page.t("repeats.unfinished"), _by_temperature(unfinished), "b", "solid"),
        Line(page.t("repeats.shipped"), _by_temperature(shipped), "a", "dash"),
    ]
    # Logits are divided by the temperature: twice as hot is the same distance everywhere.
    x = Scale(page.t("repeats.x"), log=True)
    y = Scale(page.t("repeats.y"), limits=(-0.03, 1.03), tick_format=".0%")
    figure = line_chart(lines, x, y, theme=page.theme)
    chart(page, figure, key=f"feedback.repeats.{run.id}")
    for code, values in repeated_lines(result):
        st.markdown(page.t(f"repeats.{code}", **values))
    known = list(result.samples)
    temperature = scale(page.t("repeats.x"), known, key="feedback.sample", usual="0.1")
    for name, samples in (
        ("unfinished", result.samples),
        ("shipped", result.samples_shipped),
    ):
        st.caption(page.t(f"repeats.{name}"))
        st.code(shown(samples[temperature]), language=None, wrap_lines=True)


def _by_temperature(shares: Mapping[str, float]) -> list[tuple[float, float]]:
    return [(float(temperature), share) for temperature, share in shares.items()]


def repeated_lines(result: Result) -> list[tuple[str, dict[str, Any]]]:
    """Return what may be said of temperature, as (code, values), chosen by the shares."""
    share, recited = result.repeated_share, result.recited
    coldest, warm = share["0.1"], share["1.0"]
    loops = coldest >= REPEATS and coldest - warm >= CLEARLY_MORE
    lines: list[tuple[str, dict[str, Any]]] = [
        ("low_repeats" if loops else "low_does_not", {"cold": coldest, "warm": warm})
    ]
    by_heart = list(takewhile(recited.__contains__, share))  # from the coldest up
    if by_heart:
        lines.append(("recites", {"temperature": by_heart[-1]}))
    else:
        lines.append(("recites_not", {"cold": result.repeated_share_shipped["0.1"]}))
    return lines
