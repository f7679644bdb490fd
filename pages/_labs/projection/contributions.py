"""How the projection page takes a layer apart: what heads look at, read and write, as one sum."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from owi_core.experiments.projection import SUM_TOLERANCE
from owi_core.figures import Bar, amount_bars, signed_bars
from owi_core.probes.ablation import Head
from owi_core.probes.contributions import Contributions, HeadWork, Part, Shares, SumError
from owi_core.readings import Reading
from pages._labs.projection.view import head_name
from pages._ui.base.page import Frame
from pages._ui.draw.charts import chart
from pages._ui.draw.forms import select

WORD = "projection.word"
N_LIKELY, N_PROMOTED = 5, 2


def equality(page: Frame, errors: Sequence[SumError]) -> None:
    """Draw the badge: heads' slices and bias sum to the layer's output, with the largest error."""
    absolute = max(error.absolute for error in errors)
    relative = max(error.relative for error in errors)
    holds = relative <= SUM_TOLERANCE
    mark, key = ("✓", "sum.holds") if holds else ("✗", "sum.broken")
    st.markdown(f"{mark} " + page.t(key, absolute=absolute, relative=relative))


def table(
    page: Frame,
    reading: Reading,
    work: HeadWork,
    found: Contributions,
    layer: int,
    cut: tuple[Head, ...],
) -> None:
    """Draw what each head of a layer looks at, reads and writes, and the words it raises."""
    labels, off = reading.labels, page.t("table.off")
    lines = []
    for head, length in enumerate(work.writes):
        looks = _top(labels, work.looks[head])
        does = [off, off, off]
        if (layer, head) not in cut:
            raised = _raised(page, reading, found, layer, head)
            does = [_top(labels, work.reads[head]), f"{length:.2f}", raised]
        lines.append([str(head + 1), looks, *does])
    titles = [page.t(f"table.{name}") for name in ("head", "looks", "reads", "writes", "raises")]
    st.dataframe(pd.DataFrame(lines, columns=titles), hide_index=True)


def lengths(page: Frame, found: Contributions, cut: tuple[Head, ...]) -> None:
    """Draw how long each part is that was written into the stream at this word."""
    bars = _bars(page, found.parts, found.norms, cut)
    figure = amount_bars(bars, page.t("lengths.unit"), theme=page.theme)
    chart(page, figure, key="projection.lengths", scroll=True)


def choose_word(page: Frame, reading: Reading, found: Contributions) -> int:
    """Draw the choice of a word whose logit is taken apart; return its id."""
    likely = np.argsort(-found.logits)[:N_LIKELY].tolist()
    ids: list[int] = list(dict.fromkeys([reading.answer_id, *reading.encoding.ids, *likely]))
    return select(
        page.t("shares.word"),
        ids,
        key=WORD,
        usual=reading.answer_id,
        name=lambda index: word_of(page, reading, index),
    )


def shares(page: Frame, shares: Shares, cut: tuple[Head, ...]) -> None:
    """Draw what each part gives to the logit, and whether the parts sum to it."""
    bars = _bars(page, shares.parts, shares.values, cut)
    figure = signed_bars(bars, page.t("shares.unit"), theme=page.theme)
    chart(page, figure, key="projection.shares", scroll=True)
    total, error = float(shares.values.sum()), shares.error
    mark = "✓" if error <= 1e-4 * max(1.0, abs(shares.logit)) else "✗"
    st.markdown(f"{mark} " + page.t("shares.sum", total=total, logit=shares.logit, error=error))


def word_of(page: Frame, reading: Reading, index: int) -> str:
    """Return a word as typed where it occurs in the sentence, else as the vocabulary has it."""
    if index in reading.encoding.ids:
        return reading.labels[reading.encoding.ids.index(index)]
    spare = getattr(reading.bundle.tokenizer, "spare_ids", range(0))
    if index in spare:
        return page.t("spare_row", n=index - spare.start + 1)
    return reading.bundle.tokenizer.label(index)


def _raised(page: Frame, reading: Reading, found: Contributions, layer: int, head: int) -> str:
    words = found.promoted(Part("head", layer, head), N_PROMOTED)
    return "  ".join(f"{word_of(page, reading, index)} +{lift:.1f}" for index, lift in words)


def _top(labels: Sequence[str], values: np.ndarray) -> str:
    best = int(values.argmax())
    return f"{labels[best]} {values[best]:.2f}"


def _bars(
    page: Frame, parts: Sequence[Part], values: np.ndarray, cut: tuple[Head, ...]
) -> list[Bar]:
    bars = []
    for part, value in zip(parts, values.tolist(), strict=True):
        off = (part.layer, part.head) in cut
        bars.append(Bar(_name(page, part, off), value, part.kind == "head", off))
    return bars


def _name(page: Frame, part: Part, off: bool) -> str:
    if part.layer is None:
        return page.t(f"part.{part.kind}")
    if part.head is None:
        return page.t(f"part.{part.kind}", layer=part.layer + 1)
    return head_name(page, part.layer, part.head, off)
