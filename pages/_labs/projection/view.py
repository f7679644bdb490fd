"""How the projection page shows heads that are cut: the row, the answer, and what each is worth."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import streamlit as st

from owi_core.experiments.altered import Altered, HeadEffects
from owi_core.figures import Bar, signed, signed_bars
from owi_core.probes.ablation import IDLE_NATS, Head
from owi_core.readings import Reading
from pages._labs.projection.form import WORDS
from pages._ui.base.page import Frame
from pages._ui.draw.charts import chart
from pages._ui.draw.components import WordRow, looking, sentence
from pages._ui.draw.say import Line


def row_before(page: Frame, reading: Reading, layer: int) -> None:
    """Draw the sentence, the row of the word that looks over it; a click chooses another."""
    looking(page, reading, layer, unknown=reading.unknown, key=WORDS)


def unsure(page: Frame, reading: Reading) -> None:
    """Say where the model's first word may not be believed."""
    if not reading.answer.known:
        st.caption(page.t("unsure"))


def row(page: Frame, reading: Reading, layer: int, on: list[int], key: str) -> None:
    """Draw the same row of an altered copy: the mean of the heads that still write."""
    if not on:
        st.caption(page.t("row.all_cut", layer=layer + 1))
    weights = reading.record.pattern[layer, on, reading.query].mean(axis=0) if on else None
    row = WordRow.of(reading, weights)
    sentence(page, reading.labels, row, unknown=reading.unknown, key=key)


def numbers(page: Frame, changed: Altered) -> None:
    """Draw the first answer's probability before and after, the change, and the answer now."""
    word, after = changed.before.answer.word, changed.after.answer
    p, q = np.exp([changed.log_p_before, changed.log_p_after])
    with st.container(horizontal=True):
        title = page.t.markdown("now.probability", word=word)
        st.metric(title, f"{_share(p)} → {_share(q)}", width="content")
        st.metric(page.t("now.change"), f"{signed(changed.change_nats)} nat", width="content")
        now = f"{after.word} {_share(after.probability)}"
        st.metric(page.t("now.answer"), now, width="content")


def cut_line(changed: Altered, n_cut: int) -> Line:
    """What the heads that are cut did to the answer."""
    before, after = changed.before.answer, changed.after.answer
    values = {
        "n": n_cut,
        "word": before.word,
        "other": after.word,
        "p": float(np.exp(changed.log_p_before)),
        "q": float(np.exp(changed.log_p_after)),
        "change": signed(changed.change_nats),
        "margin": before.margin_nats,
        "margin_after": after.margin_nats,
    }
    if not n_cut:
        return "now.none", values
    if after.word != before.word:
        return "now.lost", values
    if changed.change_nats <= -IDLE_NATS:
        return "now.weaker", values
    return ("now.stronger" if changed.change_nats >= IDLE_NATS else "now.kept"), values


def sharing_lines(
    singles: npt.ArrayLike, together: Sequence[float] | npt.NDArray[np.float64], how: Sequence[str]
) -> list[Line]:
    """How the heads of each layer share the answer, as it was measured.

    singles: (L, H) and together: (L,), changes in nats.
    """
    lines: list[Line] = []
    for layer, (each, whole, code) in enumerate(
        zip(np.asarray(singles), together, how, strict=True)
    ):
        head = int(each.argmin())
        values = {
            "layer": layer + 1,
            "heads": len(each),
            "head": head + 1,
            "single": signed(float(each[head])),
            "together": signed(float(whole)),
        }
        lines.append((f"sharing.{code}", values))
    return lines


def worth(page: Frame, effects: HeadEffects, cut: tuple[Head, ...]) -> None:
    """Draw what it costs to cut each head alone, and each layer as a whole."""
    bars = []
    for layer, singles in enumerate(effects.singles):
        for head, value in enumerate(singles):
            off = (layer, head) in cut
            bars.append(Bar(head_name(page, layer, head, off), float(value), off=off))
        whole = page.t("part.layer", layer=layer + 1)
        bars.append(Bar(whole, float(effects.together[layer])))
    chart(
        page,
        signed_bars(bars, page.t("worth.unit"), theme=page.theme),
        key="projection.worth",
        scroll=True,
    )


def head_name(page: Frame, layer: int, head: int, off: bool) -> str:
    """Return what a head is called on a figure, and whether it is switched off."""
    name = page.t("part.head", layer=layer + 1, head=head + 1)
    return page.t("part.off", name=name) if off else name


def written(page: Frame, line: Line) -> str:
    """Return a line in the reader's language."""
    key, values = line
    return page.t.markdown(key, **values)


def _share(p: float) -> str:
    return f"{p:.3f}" if p < 0.995 or p > 1 else f"{p:.4f}"
