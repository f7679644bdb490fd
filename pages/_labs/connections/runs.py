"""The trainings of the connections page: recall over a distance, few data, and the clock."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from owi_core.events import StepDone
from owi_core.experiments._kit.results import given
from owi_core.experiments.connections import NAME, Result
from owi_core.experiments.connections.settings import BEST_RATES, RATES_TRIED
from owi_core.experiments.connections.tasks import DATA_RATE, DATA_SIZES, DATA_STEPS
from owi_core.figures import Level, Line, Scale, Timed, line_chart, lines, time_by_length
from owi_core.jobs.film import metric
from owi_core.jobs.runs import Run
from owi_core.jobs.tasks import ENDED
from owi_core.peers import KINDS
from pages._labs.connections.maps import numbers, two_sentences
from pages._labs.connections.results import name_of, of_part, remember
from pages._ui.base.page import Frame
from pages._ui.draw.charts import chart
from pages._ui.draw.code import experiment_code, show_code
from pages._ui.draw.components import Colour, LossSoFar, live_run
from pages._ui.draw.run_panel import latest_run, result_of, run_lab, uniform_nats

IDENTITY: Mapping[str, Colour] = {"transformer": "A", "cnn": "B"}
LINE_COLOURS: Mapping[str, lines.Colour] = {"transformer": "a", "cnn": "b"}


def far(page: Frame, settings: Mapping[str, Any]) -> None:
    """Train all models on recall; then accuracy by distance, the ways, and the trained maps."""
    rates = ", ".join(f"{name_of(page, kind)} {rate:g}" for kind, rate in BEST_RATES.items())
    tried = ", ".join(f"{rate:g}" for rate in RATES_TRIED)
    result = _begin(page, "far", "recall", settings, tried=tried, rates=rates)
    if result is None:
        return
    found = {k: given(m.accuracy_by_distance, {}) for k, m in result.models.items()}
    _lines(page, found, "far", chance=given(result.chance, None))
    _code(page, "recall")
    st.caption(page.t("far.paths"))
    st.dataframe(_paths(page, result), hide_index=True, width="stretch")
    two_sentences(page, result, "trained")
    numbers(page, result, "trained")


def few_data(page: Frame, settings: Mapping[str, Any]) -> None:
    """Train all causal models on a rule of two neighbours, from few to many sentences."""
    said = {"sizes": DATA_SIZES, "steps": DATA_STEPS, "rate": DATA_RATE}
    result = _begin(page, "data", "data", settings, **said)
    if result is not None:
        found = {k: given(m.accuracy_by_data, {}) for k, m in result.models.items()}
        _lines(page, found, "data")
        _code(page, "data")


def clock(page: Frame, settings: Mapping[str, Any]) -> None:
    """Measure a training step of each model by length."""
    result = _begin(page, "time", "time", settings)
    if result is None:
        return
    series = [
        Timed(
            name_of(page, kind),
            _by_number(given(numbers.step_seconds_by_length, {})),
            given(numbers.slope, None),
            _identity(kind),
        )
        for kind, numbers in result.models.items()
    ]
    chart(
        page,
        time_by_length(
            series, x_title=page.t("time.length"), y_title=page.t("time.ms"), theme=page.theme
        ),
        key="connections.time",
    )
    st.caption(page.t("time.note"))
    _code(page, "time")
    for kind, model in result.models.items():
        if stopped := given(model.stopped, None):
            values = {"model": name_of(page, kind), "length": given(model.stopped_at, None)}
            st.caption(page.t(f"time.stopped_{stopped}", **values))


def _begin(
    page: Frame, words: str, part: str, settings: Mapping[str, Any], **values: Any
) -> Result | None:
    """Draw a part's heading and run; return its newest result, of this run or of one before."""
    st.subheader(page.t(f"{words}.title"), anchor=False)
    st.markdown(page.t.markdown(f"{words}.about", **values))
    run = run_lab(
        page,
        NAME,
        {"part": part, **settings},
        name=part,
        matches=of_part(part),
        draw=_live,
    )
    return remember(part, run)


def _code(page: Frame, part: str) -> None:
    run = latest_run(NAME, matches=of_part(part))
    if run is not None and result_of(run, Result) is not None:
        show_code(page, experiment_code(NAME, run.params))


def _live(page: Frame, run: Run) -> None:
    """Draw each model's loss and accuracy so far, while the run is under way."""
    done = run.latest(StepDone)
    if done is None or run.state in ENDED:
        return
    share = "accuracy" if run.params["part"] == "recall" else "data_accuracy"
    kinds = [k for k in KINDS if metric(run.evaluated, f"{k}.train_loss_nats")]
    for start in range(0, len(kinds), 3):
        row = kinds[start : start + 3]
        for kind, column in zip(row, st.columns(3), strict=False):
            with column:
                st.markdown(f"**{name_of(page, kind)}**")
                curve = LossSoFar(
                    metric(run.evaluated, f"{kind}.train_loss_nats"),
                    done.steps,
                    metric(run.evaluated, f"{kind}.{share}"),
                    uniform_nats=uniform_nats(run),
                )
                colour = IDENTITY.get(kind, "A")
                live_run(page, curve, colour=colour, key=f"connections.live.{kind}.{run.id}")


def _lines(
    page: Frame, found: Mapping[str, Mapping[str, float]], words: str, chance: float | None = None
) -> None:
    curves = [_accuracy_line(page, kind, accuracy) for kind, accuracy in found.items()]
    x = Scale(page.t(f"{words}.x"), log=True)
    y = Scale(page.t(f"{words}.y"), limits=(-0.03, 1.06), hover_format=".3f")
    levels = [] if chance is None else [Level(page.t("far.chance"), chance, below=True)]
    figure = line_chart(curves, x, y, names="ends", levels=levels, theme=page.theme)
    chart(page, figure, key=f"connections.{words}")


def _accuracy_line(page: Frame, kind: str, accuracy: Mapping[str, float]) -> Line:
    """Return a model's accuracy by distance or number, with its last value at the line's end."""
    points = list(_by_number(accuracy).items())
    end = f"{points[-1][1]:.2f}" if points else ""
    return Line(name_of(page, kind), points, LINE_COLOURS.get(kind, "muted"), end=end)


def _paths(page: Frame, result: Result) -> pd.DataFrame:
    """Return how many steps or layers a word passes on its way, by model and distance."""
    rows = []
    for kind, found in result.models.items():
        steps = {d: _way(page, n) for d, n in given(found.path_length, {}).items()}
        rows.append({page.t("numbers.model"): name_of(page, kind)} | steps)
    return pd.DataFrame(rows)


def _way(page: Frame, steps: int | None) -> str:
    return page.t("far.no_way") if steps is None else str(steps)


def _by_number(values: Mapping[str, float]) -> dict[int, float]:
    return {int(at): value for at, value in values.items()}


def _identity(kind: str) -> Any:
    return IDENTITY.get(kind, "")
