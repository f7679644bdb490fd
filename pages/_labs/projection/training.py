"""How the projection page trains a model with W_O beside one without, and what it says of both."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from owi_core.events import StepDone
from owi_core.experiments import projection
from owi_core.experiments.projection import AGAINST, WITH, WITHOUT, Answers, Result, SideResult
from owi_core.figures import loss_curve
from owi_core.jobs.film import metric
from owi_core.jobs.runs import Run
from owi_core.jobs.tasks import ENDED
from pages._labs.projection.view import sharing_lines, written
from pages._ui.base.figure_text import figure_text
from pages._ui.base.page import Frame
from pages._ui.draw.charts import chart
from pages._ui.draw.forms import NARROW, declared, segments, select, setting_field, whole
from pages._ui.draw.run_panel import both_losses, result_of, run_lab, uniform_nats
from pages._ui.draw.say import Line

WIDTHS = (32, 64, 128)
MOST_STEPS = 1000


def show(page: Frame) -> None:
    """Draw the choice of the other model, the run, and what was measured."""
    st.subheader(page.t("training.title"), anchor=False)
    st.markdown(page.t("training.about"))
    against = segments(
        page.t("training.against"),
        AGAINST,
        key="projection.against",
        usual=WITHOUT,
        name=page.t.each("side.{}"),
    )
    params = {"against": against} | _small(page)
    run = run_lab(page, projection.NAME, params, draw=_live)
    result = result_of(run, Result)
    if result is not None:
        results(page, result)


def results(page: Frame, result: Result) -> None:
    """Draw both models' numbers, what heads are worth in them, and the mistakes made afterwards."""
    st.dataframe(_sides_table(page, result.sides), hide_index=True)
    if result.other == WITHOUT:
        st.markdown(written(page, textbook_line(result)))
    measured = (result.head_effect, result.heads_together, result.sharing)
    lines = [written(page, line) for line in sharing_lines(*measured)]
    st.markdown(page.t("training.shared") + "\n" + "\n".join(f"- {line}" for line in lines))
    st.markdown(page.t("training.faults"))
    st.dataframe(_faults_table(page, result), hide_index=True)
    holds = result.sum_error_max <= projection.SUM_TOLERANCE
    key = "sum.holds" if holds else "sum.broken"
    values = {"absolute": result.sum_error_max, "relative": result.sum_error_relative_max}
    st.caption(f"{'✓' if holds else '✗'} " + page.t(key, **values))


def textbook_line(result: Result) -> Line:
    """Whether "W_O is essential" holds of what was measured here."""
    right, other = result.sides[WITH], result.sides[WITHOUT]
    values = {
        "saved": right.n_params - other.n_params,
        "accuracy": right.accuracy_heldout,
        "other_accuracy": other.accuracy_heldout,
        "loss": right.loss_heldout_nats,
        "other_loss": other.loss_heldout_nats,
        "mass": right.best_mass,
        "other_mass": other.best_mass,
    }
    gap = values["accuracy"] - values["other_accuracy"]
    if gap > 0.05:
        return "textbook.holds", values
    if gap < -0.05:
        return "textbook.reversed", values
    worse = values["other_loss"] > values["loss"]
    return ("textbook.only_a_little" if worse else "textbook.fails"), values


def _small(page: Frame) -> dict[str, Any]:
    """Return what was changed in the folded settings."""
    known = declared(projection.Params)
    folded = st.expander(page.t("training.settings"), type="compact")
    with folded, st.container(horizontal=True):
        seed = setting_field(
            page, known["seed"], "projection.seed", label=page.t("training.seed"), width=NARROW
        )
        steps = whole(
            page.t("training.steps"),
            1,
            MOST_STEPS,
            key="projection.steps",
            usual=projection.Params().steps or MOST_STEPS,
            width=NARROW,
        )
        width = select(
            page.t("training.width"), WIDTHS, key="projection.width", usual=WIDTHS[-1], width=NARROW
        )
    return {"seed": seed, "steps": steps, "d_model": width}


def _live(page: Frame, run: Run) -> None:
    """Draw both losses while they come, and the share that each answers right."""
    done = run.latest(StepDone)
    if done is None:
        return
    if run.state in ENDED:
        _settled(page, run)
        return
    both_losses(page, run, {name: page.t(f"side.{name}") for name in _names(run)})


def _settled(page: Frame, run: Run) -> None:
    """Draw both losses as they went, on one scale."""
    curves = [metric(run.evaluated, f"{name}.train_loss_nats") for name in _names(run)]
    if not all(curves):
        return
    losses = [loss for curve in curves for _, loss in curve]
    highest = max([*losses, uniform_nats(run) or 0.0])
    with st.expander(page.t("training.curves"), type="compact"):
        for name, curve, column in zip(_names(run), curves, st.columns(2), strict=True):
            figure = loss_curve(
                [step for step, _ in curve],
                [loss for _, loss in curve],
                uniform=uniform_nats(run),
                theme=page.theme,
                text=figure_text(page.lang),
            )
            figure.update_yaxes(range=[0, 1.05 * highest])
            column.markdown(f"**{page.t(f'side.{name}')}**")
            with column:
                chart(page, figure, key=f"projection.loss.{name}.{run.id}", scroll=True)


def _names(run: Run) -> tuple[str, str]:
    return WITH, str(run.params.get("against", WITHOUT))


def _sides_table(page: Frame, sides: Mapping[str, SideResult]) -> pd.DataFrame:
    rows = {
        "result.accuracy": [f"{100 * part.accuracy_heldout:.1f} %" for part in sides.values()],
        "result.loss": [f"{part.loss_heldout_nats:.3f} nat" for part in sides.values()],
        "result.final_loss": [_nats(part.final_loss_nats) for part in sides.values()],
        "result.mass": [f"{part.best_mass:.2f}" for part in sides.values()],
        "result.n_params": [f"{part.n_params:,}" for part in sides.values()],
        "result.seconds": [f"{part.train_seconds:.1f} s" for part in sides.values()],
    }
    columns = {page.t("result.name"): [page.t(key) for key in rows]}
    named = {page.t(f"side.{name}"): i for i, name in enumerate(sides)}
    return pd.DataFrame(columns | {n: [row[i] for row in rows.values()] for n, i in named.items()})


def _faults_table(page: Frame, result: Result) -> pd.DataFrame:
    right = result.sides[WITH]
    rows: dict[str, Answers] = {page.t(f"side.{WITH}"): right}
    for layer, part in enumerate(right.without_layer):
        rows[page.t("training.layer_cut", layer=layer + 1)] = part
    rows |= {page.t(f"fault.{name}"): part for name, part in result.faults.items()}
    return pd.DataFrame(
        {
            page.t("faults.which"): list(rows),
            page.t("result.accuracy"): [
                f"{100 * part.accuracy_heldout:.1f} %" for part in rows.values()
            ],
            page.t("result.loss"): [f"{part.loss_heldout_nats:.2f} nat" for part in rows.values()],
            page.t("result.mass"): [f"{part.best_mass:.2f}" for part in rows.values()],
        }
    )


def _nats(loss: float | None) -> str:
    return "–" if loss is None else f"{loss:.3f} nat"
