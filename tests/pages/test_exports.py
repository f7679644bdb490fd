"""Every file of numbers on every page, read back: against the screen, and against the attention.

The pages are found by their catalogs, and their figures by their export buttons, so a new figure
is read back too.  A file is read with the line of Python that the page offers for it.
"""

import base64
import json
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import streamlit as st
import torch
from numpy.typing import NDArray
from streamlit.testing.v1 import AppTest

from owi_core import attention
from owi_core.figures.table import reading_line
from owi_core.jobs.runs import Run
from pages._ui.base.entries import page_entries
from pages._ui.base.figure_text import figure_text
from pages._ui.draw import charts
from tests.pages_under_test import calm, component_data, opened
from tests.ui.test_share import SMALL, agreed, rest, runs_of

pytestmark = pytest.mark.usefixtures("own_workers")

NAMES = [entry.name for entry in page_entries("zh")]
TOLERANCE = 1e-6
ROUNDED = 5e-5  # a drawing is sent four decimals
Array = NDArray[np.float64]
NO_CURVE = ("connections", "cost", "translation")  # after a run as short as these
# A short run of each page that trains, as a link names it.
RUNS = {
    "train": {"run": "pronoun"} | SMALL,
    "masking": {"run": "masking", "run.steps": "2", "run.d_model": "8", "run.n_layer": "1"},
    "tying": {"run": "tying", "run.steps": "3", "run.d_model": "8", "run.n_train": "100"},
    "projection": {"run": "projection", "run.steps": "3", "run.d_model": "32"},
    "connections": {"run": "connections", "run.part": "recall", "run.steps": "2"},
    "cost": {"run": "cost", "run.part": "ranges", "run.length": "64"},
    "translation": {"run": "translation", "run.steps": "2"},
}


@dataclass
class Page:
    """A page whose exports are all open, and what was computed for it.

    files: by the key of the figure, then by the ending of the name.
    patterns: each (heads, queries, keys) or (queries, keys), NaN where forbidden.
    """

    app: AppTest
    files: dict[str, dict[str, Callable[[], bytes]]] = field(default_factory=dict)
    patterns: list[Array] = field(default_factory=list)


@pytest.fixture
def page_of(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Page]]:
    """Open a page that must compute all that it shows, since nothing is cached."""
    files: dict[str, dict[str, Callable[[], bytes]]] = {}
    patterns: list[Array] = []
    written = charts._files

    def note_key(page: Any, figure: Any, table: Any, key: str) -> None:
        into = files.setdefault(key, {})
        monkeypatch.setattr(
            charts,
            "_download",
            lambda label, data, name, mime: into.update({name.rpartition(".")[2]: data}),
        )
        written(page, figure, table, key)

    softmax = attention.attention_pattern

    def note_pattern(scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        found = softmax(scores, mask)
        allowed = mask.expand(found.shape)
        seen = found.detach().masked_fill(~allowed, torch.nan).double().numpy()
        patterns.extend(seen)  # one entry for each sentence of the batch
        return found

    for module in list(sys.modules.values()):
        if getattr(module, "attention_pattern", None) is softmax:
            monkeypatch.setattr(module, "attention_pattern", note_pattern)
    monkeypatch.setattr(charts, "_files", note_key)

    def open_page(name: str, start: Callable[[str], AppTest] = opened) -> Page:
        st.cache_data.clear()
        st.cache_resource.clear()
        app = calm(start(name))
        buttons = [button.key for button in app.get("popover")]
        for key in buttons:
            if key.startswith("export."):
                app.session_state[key] = True
        calm(app.run())
        return Page(app, files, patterns)

    return open_page


# The files against the screen


def read_back(make: Callable[[], bytes], folder: Path) -> pd.DataFrame:
    """Read a table with the line of Python that is offered beside it."""
    file = folder / "numbers.csv"
    file.write_bytes(make())
    table: pd.DataFrame = eval(reading_line(str(file)), {"pandas": pd})
    return table


def column(table: pd.DataFrame, name: str) -> Array:
    """Return a column as numbers, whatever title its axis adds; NaN where there is no number."""
    found = [c for c in table if c == name or c.startswith(f"{name}: ")]
    values = table[found[0]] if found else pd.Series([np.nan] * len(table))
    return pd.to_numeric(values, errors="coerce").to_numpy(np.float64)


def drawn(app: AppTest, key: str) -> Any:
    """Return the traces that the browser was sent for a figure."""
    (spec,) = [
        element.proto.spec
        for element in app.main.get("plotly_chart")
        if element.key in (key, f"export.figure.{key}")
    ]
    return json.loads(spec)["data"]


def unpacked(values: Any) -> Array:
    """Return numbers of Plotly's JSON, which packs arrays into bytes; NaN for what is none."""
    if isinstance(values, dict):
        packed = np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"])
        return packed.astype(np.float64)
    flat = np.ravel(np.array(values, dtype=object))
    return pd.to_numeric(pd.Series(flat), errors="coerce").to_numpy(np.float64)


def has_values(trace: Any) -> bool:
    role = (trace.get("meta") or {}).get("role", "values")
    return role == "values" or (role == "mark" and trace["type"] != "heatmap")


def finite(values: Array) -> Array:
    """Return the rows of (n,) or (n, 2) in which every number is finite."""
    keep: Array = values[np.isfinite(values).reshape(len(values), -1).all(axis=1)]
    return keep


def assert_holds_what_is_drawn(table: pd.DataFrame, traces: Any) -> None:
    """Demand the numbers of every trace, in order, and no others."""
    shown = [trace for trace in traces if has_values(trace)]
    cells = [unpacked(trace["z"]) for trace in shown if trace["type"] == "heatmap"]
    if cells:
        found, wanted = column(table, "value"), np.concatenate(cells)
    else:
        pairs = [np.stack([unpacked(trace["x"]), unpacked(trace["y"])], 1) for trace in shown]
        found = np.stack([column(table, "x"), column(table, "y")], 1)
        wanted = np.concatenate(pairs)
    np.testing.assert_allclose(finite(found), finite(wanted), rtol=1e-12, atol=0)


def page_traces(make: Callable[[], bytes]) -> Any:
    """Return the traces in the page of its own that a figure is taken home as."""
    _, _, call = make().decode().rpartition("Plotly.newPlot(")
    after_name = call[call.index("[") :]
    return json.JSONDecoder().raw_decode(after_name)[0]


def component_numbers(data: Any) -> Iterator[float]:
    """Yield every number of what a component was sent, or of what an event holds."""
    if isinstance(data, dict | list | tuple):
        for part in data.values() if isinstance(data, dict) else data:
            yield from component_numbers(part)
    elif isinstance(data, int | float):
        yield float(data)


# The files against the attention that the model computed


def attention_rows(table: pd.DataFrame, lang: str) -> Iterator[Array]:
    """Yield each row of weights that a table holds, (keys,), NaN for a key without a number."""
    words = figure_text(lang)
    weight = next((c for c in table if c.endswith(f": {words.weight}")), "")
    if weight.startswith("x"):
        series = table["series"] if "series" in table else [""] * len(table)
        for _, one in table.groupby(series):
            yield column(one, "x")[np.argsort(column(one, "y"))]
    elif weight or words.forbidden in set(table.get("series", ())):
        # A grid of heads has several rows of weights at one height: its words say whose.
        heads = [str(place).rpartition(" · ")[0] for place in table.get("x text", table.index)]
        heights = column(table, "y")
        for _, one in table.groupby([heights, heads]):
            yield column(one, "value")[np.argsort(column(one, "x"))]


def is_computed(row: Array, patterns: list[Array]) -> bool:
    """Whether a row is one that a head computed, or a mean over heads, forbidden keys included."""
    for pattern in patterns:
        if pattern.shape[-1] != len(row):
            continue
        heads = pattern.reshape(-1, *pattern.shape[-2:])  # (H, T_q, T_k)
        rows = np.concatenate([heads, heads.mean(axis=0, keepdims=True)])
        near = np.isclose(rows, row, rtol=0, atol=TOLERANCE, equal_nan=True)
        if near.all(axis=-1).any():
            return True
    return False


def assert_files_are_true(page: Page, folder: Path) -> None:
    """Demand that each file has the numbers on the screen, and weights that a head computed."""
    for key, files in page.files.items():
        table, traces = read_back(files["csv"], folder), drawn(page.app, key)
        assert page_traces(files["html"]) == traces, key
        if "table" in table:  # numbers of the drawing itself, more than its figure has
            shown = np.array(list(component_numbers(component_data(page.app, key)["stages"])))
            for value in column(table, "value"):
                assert np.abs(shown - value).min() <= ROUNDED, key
        else:
            assert_holds_what_is_drawn(table, traces)
        # What a run's worker computed is not seen here: see the test of runs.
        of_a_run = any(part.isdecimal() for part in key.split(".")[2:])
        for row in [] if of_a_run else attention_rows(table, "zh"):
            assert math.isclose(np.nansum(row), 1.0, abs_tol=1e-5), key
            assert is_computed(row, page.patterns), key


@pytest.mark.parametrize("name", NAMES)
def test_files_of_a_page_hold_the_numbers_on_the_screen_and_the_weights_of_the_model(
    page_of: Callable[..., Page], name: str, tmp_path: Path
) -> None:
    assert_files_are_true(page_of(name), tmp_path)


# The files against the record of a run


def reported(run: Run) -> Array:
    """Return every number of a run's events, as they are on disk."""
    return np.array(list(component_numbers([asdict(event) for event in run.history()])))


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_files_of_a_run_hold_the_numbers_on_the_screen_and_curves_those_of_its_events(
    page_of: Callable[..., Page], name: str, tmp_path: Path
) -> None:
    page = page_of(name, lambda name: rest(agreed(opened(name, **RUNS[name]))))
    assert_files_are_true(page, tmp_path)
    # The page of connections measures shipped models in a run of its own.
    wanted, curves = np.concatenate([reported(run) for run in runs_of(page.app)]), 0
    for key, files in page.files.items():
        if any(trace["type"] != "scatter" for trace in drawn(page.app, key)):
            continue
        curves += 1
        for value in finite(column(read_back(files["csv"], tmp_path), "y")):
            assert np.isclose(wanted, value, rtol=TOLERANCE, atol=0).any(), (key, value)
    assert curves or name in NO_CURVE
