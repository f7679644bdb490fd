"""How the mask page shows a run: two curves, the leak, what both write, and the mask itself."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from owi_core.events import StepDone
from owi_core.experiments.faults.masks import CAUGHT_BY, Seen
from owi_core.experiments.masking import Result
from owi_core.figures import FigureText, loss_curve, pattern_matrix
from owi_core.jobs.film import metric
from owi_core.jobs.runs import Run
from owi_core.jobs.tasks import ENDED
from pages._labs.masking.form import side_name
from pages._labs.masking.models import changes_of, seen_by
from pages._ui.base.figure_text import figure_text
from pages._ui.base.guard import guarded
from pages._ui.base.page import Frame
from pages._ui.draw.charts import chart
from pages._ui.draw.components import attention_matrix
from pages._ui.draw.forms import segments
from pages._ui.draw.run_panel import both_losses, uniform_nats
from pages._ui.draw.typed import sentence_field
from pages._ui.session.state import held, renew, set_kept

MOST_REPEATED = 0.3
HOW = ("changes", "gradients")
ROW = "masking.row"
HONEST = "prefix_only_loss_nats"
FIGURES = (
    "train_loss_nats",
    "prefix_only_loss_nats",
    "next_token_accuracy",
    "repeated_share",
    "leak_max",
    "future_change_max",
)


def names_of(run: Run) -> tuple[str, str]:
    """Return what the two models of a run are called in its events."""
    return "causal", str(run.params.get("against", "unmasked"))


def figures(page: Frame, result: Result) -> None:
    """Draw the numbers of both models, one above the other."""
    for name, part in result.sides.items():
        st.markdown(f"**{side_name(page, name)}**")
        with st.container(horizontal=True):
            for key in FIGURES:
                st.metric(
                    page.t(f"result.{key}"),
                    _figure(key, getattr(part, key)),
                    help=page.t(f"result_help.{key}"),
                    width="content",
                )


def leak(page: Frame, run: Run, result: Result) -> None:
    """Draw who is moved by whom in both models, by change or by gradient."""
    st.subheader(page.t("leak.title"), anchor=False)
    st.markdown(page.t("leak.about"))
    how = segments(page.t("leak.how"), HOW, key="masking.how", name=page.t.each("leak.{}"))
    labels = next(iter(result.sides.values())).sentence
    changes = how == "changes"
    matrices = {
        name: np.array(part.changes if changes else part.gradients)
        for name, part in result.sides.items()
    }
    if changes:
        with guarded(page.lang):
            labels, matrices = _own_sentence(page, run, labels, matrices)
    highest = float(max(m.max() for m in matrices.values())) or 1.0
    for (name, values), column in zip(matrices.items(), st.columns(2), strict=True):
        with column:
            st.markdown(f"**{side_name(page, name)}**")
            chart(
                page,
                pattern_matrix(
                    values,
                    np.tri(len(labels), dtype=bool),
                    labels,
                    labels,
                    highest=highest,
                    theme=page.theme,
                    text=_leak_text(page, str(how)),
                ),
                key=f"masking.leak.{how}.{name}.{run.id}",
            )
            st.markdown(_leak_line(page, values))


def written(page: Frame, result: Result) -> None:
    """Draw what both models write after the same prompt, and say what the numbers say."""
    st.subheader(page.t("written.title"), anchor=False)
    for (name, part), column in zip(result.sides.items(), st.columns(2), strict=True):
        with column:
            st.markdown(f"**{side_name(page, name)}**")
            st.code(part.sample, language=None, wrap_lines=True)
            repeats = "repeats" if part.repeated_share >= MOST_REPEATED else "goes_on"
            right = "right" if part.next_token_accuracy >= 0.5 else "wrong"
            st.markdown(
                page.t(
                    f"written.{right}_{repeats}",
                    accuracy=part.next_token_accuracy,
                    repeated=part.repeated_share,
                )
            )


def checks(page: Frame, result: Result) -> None:
    """Draw which checks each model passes, and which one is made for a wrong mask."""
    st.subheader(page.t("checks.title"), anchor=False)
    for name, part in result.sides.items():
        parts = [
            f"{'✓' if c.passed else '✗'} {page.t('check.' + c.code)} ({c.value:.3g})"
            for c in part.checks
        ]
        st.markdown(f"**{side_name(page, name)}** " + " · ".join(parts))
        if name in CAUGHT_BY:
            st.caption(page.t("checks.caught", check=page.t(f"check.{CAUGHT_BY[name]}")))


def mask_itself(page: Frame, run: Run, result: Result) -> None:
    """Draw the mask that was used, and one row before masking, after it and after the softmax."""
    st.subheader(page.t("mask.title"), anchor=False)
    names = names_of(run)
    name = segments(
        page.t("mask.which"),
        names,
        key=f"masking.which.{names[1]}",
        name=lambda value: side_name(page, value),
    )
    seen = seen_by(run, name, "".join(result.sides["causal"].sentence))
    T = len(seen.labels)
    renew("masking.row_of", run.id, ROW)
    row = held(ROW, T // 2, low=0, high=T - 1)
    left, right = st.columns([3, 2], gap="large")
    with left:
        st.caption(page.t("mask.hint"))
        chosen = attention_matrix(
            page,
            seen.pattern,
            seen.labels,
            seen.labels,
            mask=seen.mask,
            selected=row,
            key=f"masking.mask.{run.id}.{name}",
        )
        if chosen is not None and chosen != row:
            set_kept(ROW, chosen)
            st.rerun()
    with right:
        _row_table(page, seen, row)


def curves(page: Frame, run: Run) -> None:
    """Draw both curves as far as they have come."""
    done = run.latest(StepDone)
    if not run.evaluated or done is None:
        return
    floor = metric(run.evaluated, "floor_nats")
    least = floor[0][1] if floor else None
    names = {name: side_name(page, name) for name in names_of(run)}
    if run.state in ENDED:
        for (name, label), column in zip(names.items(), st.columns(2), strict=True):
            with column:
                st.markdown(f"**{label}**")
                _settled_curve(page, run, name, least)
    else:
        both_losses(page, run, names, HONEST, evaluated_unit="nats", floor_nats=least)
    st.caption(page.t("curves.about"))


def _settled_curve(
    page: Frame,
    run: Run,
    name: str,
    floor: float | None,
) -> None:
    points = metric(run.evaluated, f"{name}.train_loss_nats")
    text = replace(figure_text(page.lang), evaluated=page.t("component.evaluated_label"))
    figure = loss_curve(
        [at for at, _ in points],
        [value for _, value in points],
        metric(run.evaluated, f"{name}.{HONEST}"),
        floor,
        uniform=uniform_nats(run),
        theme=page.theme,
        text=text,
    )
    # One scale for both, or the eye compares what cannot be compared.
    figure.update_yaxes(range=[0, _highest(run) * 1.05])
    chart(page, figure, key=f"masking.loss.{name}.{run.id}")


def _highest(run: Run) -> float:
    losses = [
        value
        for event in run.evaluated
        for key, value in event.metrics.items()
        if key.endswith("loss_nats") and event.step > 0
    ]
    return max([*losses, uniform_nats(run) or 0.0], default=1.0)


def _own_sentence(
    page: Frame, run: Run, labels: list[str], matrices: dict[str, Any]
) -> tuple[list[str], dict[str, Any]]:
    """Return labels and matrices of the sentence typed below the title, else those of the run."""
    text = sentence_field(
        page,
        page.t("leak.sentence"),
        "masking.probe",
        "",
        by_words=False,
        placeholder="".join(labels),
    )
    if not text.strip() or not run.has_model:
        return labels, matrices
    found = {name: changes_of(run, name, text) for name in matrices}
    first = next(iter(found.values()))
    return list(first.labels), {name: changed.values for name, changed in found.items()}


def _leak_text(page: Frame, how: str) -> FigureText:
    return replace(
        figure_text(page.lang),
        query=page.t("leak.query"),
        key=page.t("leak.key"),
        weight=page.t(f"leak.unit_{how}"),
        forbidden=page.t("leak.none"),
        leak=page.t("leak.leak"),
    )


def _leak_line(page: Frame, values: Any) -> str:
    future, past = float(np.triu(values, 1).max()), float(np.tril(values, -1).max())
    code = "sealed" if future == 0 else "leaks"
    return page.t(f"leak.{code}_{'moves' if past > 0 else 'still'}", leak=future, past=past)


def _row_table(page: Frame, seen: Seen, row: int) -> None:
    allowed = seen.mask[row]
    scores = seen.scores[row]
    after = [f"{s:.2f}" if ok else "−∞" for s, ok in zip(scores, allowed, strict=True)]
    if seen.struck:  # a mask that comes after the softmax changes no score
        after = [f"{s:.2f}" for s in scores]
    table = pd.DataFrame(
        {
            page.t("mask.key"): list(seen.labels),
            page.t("mask.before"): [f"{s:.2f}" for s in scores],
            page.t("mask.after"): after,
            page.t("mask.weight"): [f"{w:.3f}" for w in seen.pattern[row]],
        }
    )
    st.caption(page.t("mask.row", place=row + 1))
    st.dataframe(table, hide_index=True, height=36 * (len(table) + 1))
    total, shut = float(seen.pattern[row].sum()), float(seen.pattern[row][row + 1 :].sum())
    right = abs(total - 1) < 1e-4
    st.markdown(f"{'✓' if right else '✗'} " + page.t("mask.sum", total=total))
    st.markdown(f"{'✓' if shut == 0 else '✗'} " + page.t("mask.future", shut=shut))


def _figure(name: str, value: float) -> str:
    if name in ("next_token_accuracy", "repeated_share"):
        return f"{100 * value:.1f} %"
    return f"{value:.3f}" if name.endswith("_nats") else f"{value:.3g}"
