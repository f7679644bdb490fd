"""What a run of two models shows: both as they learn, their numbers, the gradient, wrong ways."""

import numpy as np
import pandas as pd
import streamlit as st

from owi_core.events import StepDone
from owi_core.experiments.faults.ties import Way
from owi_core.experiments.tying import SIDES, Result, SideResult
from owi_core.figures import Line, Scale, gradient_map, line_chart
from owi_core.jobs.film import metric
from owi_core.jobs.runs import Run
from owi_core.jobs.tasks import ENDED
from pages._ui.base.page import Frame
from pages._ui.draw.charts import chart
from pages._ui.draw.run_panel import both_losses

SHARES = ("accuracy_heldout", "accuracy_unseen_words")
SAME_SHARE = 0.02  # of 500 sentences: ten
WAY_LINES = {
    "tied": ("a", "solid"),
    "copied_in_forward": ("b", "solid"),
    "data_copied_once": ("b", "dash"),
    "head_bias": ("muted", "dot"),
}


def curves(page: Frame, run: Run) -> None:
    """Draw both models as far as they have come: two losses, and what each can name."""
    done = run.latest(StepDone)
    if done is None or not run.evaluated:
        return
    names = SIDES[str(run.params.get("question", "tying"))]
    if run.state in ENDED:
        _settled(page, run, names)
        return
    both_losses(page, run, {n: page.t(f"side.{n}") for n in names}, "accuracy_unseen_words")
    st.caption(page.t("curves.about"))


def numbers(page: Frame, result: Result) -> None:
    """Draw the numbers of both models, one above the other."""
    for name, part in result.sides.items():
        st.markdown(f"**{page.t(f'side.{name}')}**")
        shown = {
            "accuracy_heldout": f"{part.accuracy_heldout:.1%}",
            "accuracy_unseen_words": f"{part.accuracy_unseen_words:.1%}",
            "final_loss_nats": f"{part.final_loss_nats:.3f}",
            "attention": f"{max(part.attention_by_layer):.2f}",
            "n_params": f"{part.n_params:,}",
        }
        with st.container(horizontal=True):
            for key, value in shown.items():
                help_ = page.t(f"result_help.{key}")
                st.metric(page.t(f"result.{key}"), value, help=help_, width="content")


def by_layer(page: Frame, result: Result) -> None:
    """Draw each model's weight on the word meant, layer by layer."""
    first, _ = result.pair
    layers = range(len(first.attention_by_layer))
    columns = {page.t("layers.layer"): [str(layer + 1) for layer in layers]} | {
        page.t(f"side.{name}"): [f"{w:.3f}" for w in part.attention_by_layer]
        for name, part in result.sides.items()
    }
    st.markdown(page.t("layers.about"))
    st.dataframe(pd.DataFrame(columns), hide_index=True)


def moved(page: Frame, result: Result) -> None:
    """Say how far the rows of words never seen were moved, and what drawing them again did."""
    st.subheader(page.t("moved.title"), anchor=False)
    for name, part in result.sides.items():
        embedding, head = part.rows_moved["embedding"], part.rows_moved["head"]
        values = {
            "side": page.t(f"side.{name}"),
            "embedding": embedding.unseen,
            "head": head.unseen,
            "known": head.known,
            "together": head.together,
        }
        still = "still" if embedding.unseen == 0 else "moved"
        st.markdown(page.t.markdown(f"moved.{still}", **values))
        st.markdown(fresh_line(page, part))


def fresh_line(page: Frame, part: SideResult) -> str:
    """Return what drawing the rows again did to both shares, as measured."""
    now, before = (
        {key: float(getattr(measured, key)) for key in SHARES}
        for measured in (part, part.as_trained)
    )
    changes = {key: now[key] - before[key] for key in SHARES}
    values = {f"{key}_before": before[key] for key in SHARES} | now
    kept = "kept" if abs(changes["accuracy_heldout"]) <= SAME_SHARE else "changed"
    gain = changes["accuracy_unseen_words"]
    code = "same" if abs(gain) <= SAME_SHARE else "better" if gain > 0 else "worse"
    return page.t(f"fresh.heldout_{kept}", **values) + page.t(f"fresh.unseen_{code}", **values)


def gradient(page: Frame, run: Run, result: Result) -> None:
    """Draw both parts of the shared matrix's gradient: their norms, their sum, row by row."""
    st.subheader(page.t("gradient.title"), anchor=False)
    error = result.gradient_sum_error
    mark, code = ("✓", "adds_up") if error <= 1e-5 else ("✗", "off")
    st.markdown(f"{mark} " + page.t(f"gradient.{code}", error=f"{error:.1g}"))
    names = ("when", "input", "output", "tied")
    table = [
        (page.t(f"gradient.{when}"), *(f"{getattr(norms, n):.4g}" for n in names[1:]))
        for when, norms in result.gradient_norms.items()
    ]
    heads = [page.t(f"gradient.{name}") for name in names]
    st.dataframe(pd.DataFrame(table, columns=heads), hide_index=True)
    words, roles, *parts = zip(*result.gradient_rows, strict=True)
    figure = gradient_map(
        words,
        [page.t(f"role.{role}") for role in roles],
        np.array(parts, dtype=float),
        names=(page.t("gradient.input"), page.t("gradient.output")),
        across=page.t("gradient.across"),
        scale=page.t("gradient.scale"),
        theme=page.theme,
    )
    chart(page, figure, key=f"tying.gradient.{run.id}")
    st.caption(page.t("gradient.map", **_counted(roles, np.array(parts, dtype=float))))


def wrong_ways(page: Frame, run: Run, result: Result) -> None:
    """Draw how far head and embedding drift apart in each wrong way, with what each costs."""
    if not result.wrong:
        return
    st.subheader(page.t("wrong.title"), anchor=False)
    lines = [
        Line(
            page.t(f"way.{way.way}"),
            list(enumerate(way.drift)),
            *WAY_LINES[way.way],  # type: ignore[arg-type]
        )
        for way in result.wrong
    ]
    x, y = Scale(page.t("wrong.step")), Scale(page.t("wrong.drift"))
    figure = line_chart(lines, x, y, height=280, theme=page.theme)
    chart(page, figure, key=f"tying.wrong.{run.id}")
    st.caption(page.t("wrong.about"))
    for way in result.wrong:
        st.markdown(way_line(page, way))


def way_line(page: Frame, way: Way) -> str:
    """Return what was measured of one way of tying, as a line."""
    values = {
        "way": page.t(f"way.{way.way}"),
        "steps": len(way.drift) - 1,
        "drift": way.drift[-1],
        "most": max(way.drift),
        "missing": way.missing,
        "bias": way.bias_max or 0.0,
        "unseen": way.bias_unseen or 0.0,
    }
    stays = max(way.drift) == 0
    code = "stays" if stays else "drifts"
    if way.bias_max is not None:
        code += "_bias"
    elif stays and way.same_object:
        code += "_right"
    return f"{'✓' if code == 'stays_right' else '✗'} " + page.t(f"wrong.{code}", **values)


def _settled(page: Frame, run: Run, names: tuple[str, str]) -> None:
    lines = [
        Line(
            f"{page.t(f'side.{name}')} · {page.t(f'result.{key}')}",
            metric(run.evaluated, f"{name}.{key}"),
            colour,  # type: ignore[arg-type]
            dash,
        )
        for name, colour in zip(names, ("a", "b"), strict=True)
        for key, dash in zip(SHARES, ("dot", "solid"), strict=True)
    ]
    x, y = Scale(page.t("wrong.step")), Scale(page.t("curves.share"), limits=(0, 1.04))
    figure = line_chart(lines, x, y, height=280, theme=page.theme)
    chart(page, figure, key=f"tying.shares.{run.id}")


def _counted(roles: tuple[str, ...], parts: np.ndarray) -> dict[str, int]:
    """Return how many rows got gradient from which side."""
    given = parts > 0
    return {
        "both": int((given[0] & given[1]).sum()),
        "output_only": int((~given[0] & given[1]).sum()),
        "input_only": int((given[0] & ~given[1]).sum()),
        "rows": len(roles),
    }
