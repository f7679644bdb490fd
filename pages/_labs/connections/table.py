"""The comparison of connections: the textbook's word, and the number that was just measured."""

from typing import Any

import pandas as pd
import streamlit as st
from msgspec import UnsetType

from owi_core.experiments._kit.results import given
from owi_core.experiments.connections.results import ModelResult
from owi_core.peers import KINDS
from pages._labs.connections.results import model_in, name_of
from pages._ui.base.mounting import lab_style
from pages._ui.base.page import Frame

COLUMNS = ("range", "dynamic", "parallel", "far", "few")


def show(page: Frame) -> None:
    """Draw a row for each connection; a cell without a number says which button fills it."""
    st.subheader(page.t("table.title"), anchor=False)
    rows = [_row(page, kind) for kind in KINDS]
    names = [page.t(f"table.{name}") for name in ("connection", *COLUMNS)]
    lab_style("connections")
    with st.container(key="connections_table"):
        st.table(pd.DataFrame(rows, columns=names).set_index(names[0]))
    if any(_empty(page) in row for row in rows):
        st.caption(page.t("table.hint"))


def _row(page: Frame, kind: str) -> list[str]:
    cells = [_cell(page, kind, column) for column in COLUMNS]
    return [name_of(page, kind), *cells]


def _cell(page: Frame, kind: str, column: str) -> str:
    word = page.t(f"book.{kind}.{column}")
    values = _measured(kind, column)
    if not values:
        return f"{word} · {_empty(page)}"
    return f"{word} · " + page.t(f"cell.{column}", **values)


def _measured(kind: str, column: str) -> dict[str, Any]:
    """Return the numbers of a cell, none where the part that measures them has not run."""
    if column == "range":
        found = model_in("maps", kind)
        if isinstance(found.influence_future_max, UnsetType):
            return {}
        return {"future": found.influence_future_max} | _field(found)
    if column == "dynamic":
        found = model_in("recall", kind)
        if isinstance(found.input_dependence, UnsetType):
            found = model_in("maps", kind)
        change = given(found.input_dependence, None)
        return {} if change is None else {"change": change, "weights": found.mixing_change}
    if column == "parallel":
        seconds = given(model_in("time", kind).step_seconds_by_length, {})
        at = max(seconds, key=int, default=None)
        return {} if at is None else {"ms": 1000 * seconds[at], "length": int(at)}
    if column == "far":
        accuracies = given(model_in("recall", kind).accuracy_by_distance, {})
    else:
        accuracies = given(model_in("data", kind).accuracy_by_data, {})
    places = sorted(accuracies, key=int)
    if not places:
        return {}
    # The farthest distance; of the numbers of sentences the middle one, which is still few.
    where = places[-1] if column == "far" else places[len(places) // 2]
    return {"accuracy": accuracies[where], "at": int(where)}


def _field(found: ModelResult) -> dict[str, Any]:
    field = given(found.receptive_field, None)
    return {"field": "∞" if field is None else str(field)}


def _empty(page: Frame) -> str:
    return page.t("table.empty")
