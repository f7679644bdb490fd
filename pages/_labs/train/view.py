"""What a training looks like: the loss and the row as they form, then its story."""

import math
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from owi_core.events import Evaluated, Snapshot, StepDone
from owi_core.experiments import language, pronoun
from owi_core.figures import loss_curve, row_over_training
from owi_core.jobs.film import Film, film, metric, watched_row
from owi_core.jobs.runs import Run
from owi_core.jobs.tasks import ENDED
from pages._ui.base.figure_text import figure_text
from pages._ui.base.page import Frame
from pages._ui.draw.charts import chart
from pages._ui.draw.components import WordRow, sentence
from pages._ui.draw.forms import scale, segments
from pages._ui.draw.run_panel import Panel, loss, loss_note, result_of, uniform_nats
from pages._ui.session.state import renew

# Two of them stand beside each other on a phone.
MOST_NATS = 700.0  # e to the power of more is too large for a float
HELDOUT_LOSS, FLOOR = "heldout_loss_nats", "floor_nats"
_FILM = "train.film"
STEP, LAYER, HEAD = "train.step", "train.layer", "train.head"
MEAN = -1  # the choice of the mean over heads


def watch(panel: Panel) -> None:
    """Draw the run, its loss and the row it watches, again and again while it is under way."""
    panel.let_watch(picture)
    panel.watch(_live)


def story(page: Frame, run: Run) -> None:
    """Draw the settled views of a run that has ended or rests: its training time, scrubbed."""
    st.fragment(_scrub)(page, run, _film_of(run))


def measured(page: Frame, run: Run) -> None:
    """Draw the figures of a finished run that the catalog has a name for."""
    kind = language.Result if run.experiment == language.NAME else pronoun.Result
    result = result_of(run, kind)
    if result is None:
        return
    values = {f.name: getattr(result, f.name) for f in fields(result)}
    known = [name for name in values if page.t.has(f"result_help.{name}")]
    shown = [(name, values[name]) for name in known if values[name] is not None]
    st.subheader(page.t("result.heading"), anchor=False)
    with st.container(horizontal=True):
        for name, value in shown:
            help_ = page.t(f"result_help.{name}")
            st.metric(page.t(f"result.{name}"), _figure(name, value), help=help_, width="content")
    worth = perplexities(shown)
    if worth:
        listed = [f"{page.t(f'result.{name}')} {value:,.2f}" for name, value in worth.items()]
        st.caption(page.t.markdown("result.perplexity", values=listed))
    if isinstance(result, language.Result):
        if result.memorised:
            st.caption(page.t("result.memorised"))
        elif result.heldout_windows_seen:
            counted = {"seen": result.heldout_windows_seen, "windows": result.heldout_windows}
            st.caption(page.t("result.seen", **counted))
        st.caption(page.t("result.sample"))
        st.code(result.sample, language=None, wrap_lines=True)


def perplexities(shown: Sequence[tuple[str, Any]]) -> dict[str, float]:
    """Return e to the nats of each loss among the figures: among how many tokens one would guess.

    The floor is left out: it belongs to no model.
    """
    losses = {name: value for name, value in shown if name.endswith("loss_nats")}
    return {name: math.exp(value) for name, value in losses.items() if value < MOST_NATS}


def _live(page: Frame, run: Run) -> None:
    if run.state not in ENDED:
        picture(page, run)


def picture(page: Frame, run: Run) -> None:
    """Draw the loss and the row as they are now."""
    if run.latest(StepDone) is None:
        return
    weights, labels, query = _row(run.latest(Snapshot))
    row = WordRow(weights, query=query)
    loss(page, run, floor_nats=_floor(run.evaluated), labels=labels, row=row)


def _scrub(page: Frame, run: Run, story: Film) -> None:
    """The row before and at a chosen step, and under it both curves with that step marked."""
    renew("train.scrubbed", run.id, STEP, LAYER, HEAD)
    step = _chosen_step(page, story)
    if step is None:
        if story.losses:
            _loss_chart(page, run, story, None)
        return
    layer, head = _chosen_head(page, story)
    rows = story.rows(layer, head)
    at = story.steps.index(step)
    _word_row(page, run, story, "before", 0, rows[0])
    if len(story.steps) > 1:
        _word_row(page, run, story, "now", at, rows[at])
    left, right = st.columns(2)
    with left:
        _loss_chart(page, run, story, step)
    with right:
        _row_chart(page, run, story, step, rows)


def _word_row(
    page: Frame, run: Run, story: Film, name: str, index: int, row: NDArray[np.float32]
) -> None:
    st.caption(page.t(f"scrub.{name}", step=story.steps[index]))
    sentence(page, story.labels, WordRow(row, query=story.query), key=f"train.{name}.{run.id}")


def _loss_chart(page: Frame, run: Run, story: Film, step: int | None) -> None:
    figure = loss_curve(
        [at for at, _ in story.losses],
        [value for _, value in story.losses],
        metric(story.evaluated, HELDOUT_LOSS),
        _floor(story.evaluated),
        uniform=uniform_nats(run),
        step=step,
        theme=page.theme,
        text=figure_text(page.lang),
    )
    chart(page, figure, key=f"train.loss.{run.id}")
    loss_note(page, run, next((value for at, value in story.losses if at == 1), None))


def _row_chart(page: Frame, run: Run, story: Film, step: int, rows: NDArray[np.float32]) -> None:
    figure = row_over_training(
        story.steps,
        rows,
        story.labels,
        step=step,
        theme=page.theme,
        text=figure_text(page.lang),
    )
    chart(page, figure, key=f"train.row.{run.id}")


def _chosen_step(page: Frame, story: Film) -> int | None:
    if len(story.steps) < 2:
        return story.steps[-1] if story.steps else None
    return scale(
        page.t("scrub.label"),
        story.steps,
        key=STEP,
        usual=story.steps[-1],
        name=lambda step: page.t("scrub.step", step=step),
    )


def _chosen_head(page: Frame, story: Film) -> tuple[int, int | None]:
    with st.container(horizontal=True):
        layer = segments(
            page.t("scrub.layer"),
            range(story.n_layer),
            key=LAYER,
            usual=story.n_layer - 1,
            name=lambda index: str(index + 1),
        )
        head = segments(
            page.t("scrub.head"),
            range(MEAN, story.n_head),
            key=HEAD,
            usual=MEAN,
            name=lambda index: page.t("scrub.mean") if index == MEAN else str(index + 1),
        )
    return layer, None if head == MEAN else head


def _figure(name: str, value: Any) -> str:
    if isinstance(value, list):
        return f"{max(float(np.mean(layer)) for layer in value):.2f}"
    if name.startswith("accuracy"):
        return f"{100 * value:.1f} %"
    if name.endswith("_nats"):
        return f"{value:.3f} nat"
    if name.endswith("seconds"):
        return f"{value:.1f} s"
    return f"{value:,}"


def _row(shot: Snapshot | None) -> tuple[Sequence[float], Sequence[str], int | None]:
    if shot is None:
        return (), (), None
    row = watched_row(np.array(shot.pattern), shot.query, -1, None)
    return row.tolist(), shot.tokens, shot.query


def _floor(events: Sequence[Evaluated]) -> float | None:
    floors = metric(events, FLOOR)
    return floors[-1][1] if floors else None


def _film_of(run: Run) -> Film:
    """The run's film, made once for each state it rests in."""
    key = (run.id, run.state)
    kept = st.session_state.get(_FILM)
    if kept is None or kept[0] != key:
        kept = (key, film(run.history()))
        st.session_state[_FILM] = kept
    story: Film = kept[1]
    return story
