"""The maps of the connections page: one sentence in three models, two sentences in one."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from owi_core.experiments._kit.results import given
from owi_core.experiments.connections import NAME, Result
from owi_core.experiments.connections.results import MapNumbers
from owi_core.figures import influence_map, influence_text
from owi_core.jobs.runs import Run
from owi_core.jobs.tasks import UNDER_WAY
from owi_core.peers import largest_difference
from owi_core.probes.influence import InfluenceRecord
from pages._labs.connections import form
from pages._labs.connections.results import name_of, of_part, remember
from pages._ui.base.figure_text import figure_text
from pages._ui.base.page import Frame
from pages._ui.draw.charts import chart
from pages._ui.draw.code import experiment_code, show_code
from pages._ui.draw.forms import segments
from pages._ui.draw.run_panel import Panel, latest_run, only_progress
from pages._ui.session.jobs import session_jobs

SIDE_BY_SIDE = ("lstm", "cnn", "transformer")
COLOURS = {"a": ":blue[■]", "b": ":orange[■]"}


def show(page: Frame) -> None:
    """Measure both sentences in freshly drawn models, at once, and draw what was found."""
    sentences = form.choose_sentences(page)
    values = {"part": "maps", **sentences, **form.settings_now()}
    panel = Panel.of(page, _run(values), "maps")
    if panel.state in UNDER_WAY:
        panel.watch(only_progress)
        return
    result = remember("maps", panel.run)
    if result is None or (panel.run and panel.run.code):
        panel.outcome()
        return
    counts = [given(model.n_params, 1) for model in result.models.values()]
    st.caption(page.t("maps.fresh", seed=values["seed"], largest=largest_difference(counts)))
    one_sentence(page, result)
    show_code(page, experiment_code(NAME, values))
    panel.outcome()
    two_sentences(page, result, "fresh")
    numbers(page, result, "fresh")


def one_sentence(page: Frame, result: Result) -> None:
    """Draw sentence A in a chain, a window and attention, side by side."""
    for kind, column in zip(SIDE_BY_SIDE, st.columns(len(SIDE_BY_SIDE)), strict=True):
        with column:
            st.markdown(f"**{name_of(page, kind)}**")
            record = result.record("fresh", kind, "a")
            _map(page, record, _highest(record), f"connections.one.{kind}")
            st.markdown(_way(page, kind, record))


def two_sentences(page: Frame, result: Result, state: str) -> None:
    """Draw both sentences in one chosen model, and say how far the map moved."""
    st.subheader(page.t(f"two.title_{state}"), anchor=False)
    st.markdown(page.t(f"two.about_{state}"))
    kinds = result.kinds(state)
    kind = segments(
        page.t("two.model"),
        kinds,
        key=f"connections.two.{state}",
        usual="transformer",
        name=lambda name: name_of(page, name),
    )
    records = {side: result.record(state, kind, side) for side in ("a", "b")}
    highest = max(_highest(record) for record in records.values())
    for (side, record), column in zip(records.items(), st.columns(2), strict=True):
        with column:
            st.markdown(f"{COLOURS[side]} **{side.upper()}**")
            _map(page, record, highest, f"connections.two.{state}.{side}")
    st.markdown(_moved(page, result.models[kind].map_numbers(state)))


def numbers(page: Frame, result: Result, state: str) -> None:
    """Draw, for every model, how far map and weights moved, and what stayed exactly 0."""
    st.caption(page.t("numbers.about"))
    kinds = result.kinds(state)
    rows = [
        (name_of(page, k), *_cells(page, k, result.models[k].map_numbers(state))) for k in kinds
    ]
    names = ("model", "map", "weights", "what", "future", "outside")
    table = pd.DataFrame(rows, columns=[page.t(f"numbers.{name}") for name in names])
    st.dataframe(table, hide_index=True, width="stretch")


def _run(values: Mapping[str, Any]) -> Run | None:
    """Return the run of these very values, begun now where there is none."""
    newest = latest_run(NAME, of_part("maps"), remade=True)
    if newest is not None and values.items() <= dict(newest.params).items():
        return newest
    return session_jobs().start(NAME, values, replaces=newest, private=form.is_own(values))


def _map(page: Frame, record: InfluenceRecord, highest: float, key: str) -> None:
    t = page.t
    text = influence_text(
        figure_text(page.lang),
        query=t("map.query"),
        key=t("map.key"),
        weight=t("map.weight"),
        none=t("map.none"),
    )
    figure = influence_map(
        record.shares, record.reach, record.tokens, highest=highest, theme=page.theme, text=text
    )
    chart(page, figure, key=key)


def _highest(record: InfluenceRecord) -> float:
    return float(record.shares.max()) or 1.0


def _way(page: Frame, kind: str, record: InfluenceRecord) -> str:
    """Say what the last row of a map shows: how much the first word still counts at the end."""
    last = record.shares[-1]
    values = {
        "first": record.tokens[0],
        "last": record.tokens[-1],
        "share": float(last[0]),
        "own": float(last[-1]),
        "field": int(record.reach[-1].sum()),
    }
    if last[0] == 0:
        code = "stops" if not record.reach[-1, 0] else "vanished"
    else:
        even = 1 / len(last)
        code = "fades" if last[0] < even / 2 else "arrives"
    return page.t.markdown(f"way.{code}", model=name_of(page, kind), **values)


def _moved(page: Frame, numbers: MapNumbers) -> str:
    change, weights = numbers.input_dependence, numbers.mixing_change
    if change is None or weights is None:
        return page.t("moved.unequal")
    code = "not_at_all" if change == 0 else "weights" if weights > 0 else "not_weights"
    values = {"change": change, "weights": weights, "last": numbers.last_row_dependence}
    return page.t(f"moved.{code}", **values)


def _cells(page: Frame, kind: str, numbers: MapNumbers) -> Sequence[str]:
    return (
        _number(numbers.input_dependence),
        _number(numbers.mixing_change),
        page.t(f"mixing.{kind}"),
        _number(numbers.influence_future_max),
        _number(numbers.influence_outside_window_max),
    )


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return "0" if value == 0 else f"{value:.3f}" if np.abs(value) >= 0.001 else f"{value:.1e}"
