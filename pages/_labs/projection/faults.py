"""How the projection page shows three mistakes made in a trained model, before and after."""

from collections.abc import Mapping

import numpy as np
import streamlit as st

from owi_core.experiments.altered import Altered
from owi_core.experiments.faults.residual import FAULTS
from owi_core.figures import Bar, signed_bars
from owi_core.probes.ablation import IDLE_NATS
from owi_core.readings import Reading
from pages._labs.projection.models import Place, with_mistake
from pages._labs.projection.view import numbers, row, written
from pages._ui.base.page import Frame
from pages._ui.draw.charts import chart
from pages._ui.draw.forms import segments
from pages._ui.draw.say import Line


def show(page: Frame, place: Place, reading: Reading, layer: int) -> None:
    """Draw what each mistake costs this answer, and the row and the answer under one of them."""
    st.subheader(page.t("faults.title"), anchor=False)
    st.markdown(page.t("faults.about"))
    found = {fault: with_mistake(place, reading, fault) for fault in FAULTS}
    bars = [Bar(page.t(f"fault.{f}"), changed.change_nats) for f, changed in found.items()]
    chart(
        page,
        signed_bars(bars, page.t("worth.unit"), theme=page.theme),
        key="projection.faults",
        scroll=True,
    )
    fault = segments(
        page.t("faults.which"),
        FAULTS,
        key="projection.fault",
        usual=FAULTS[-1],
        name=page.t.each("fault.{}"),
    )
    _one(page, found, fault, layer)


def mistake_line(changed: Altered) -> Line:
    """What a mistake did to the answer, by the measured change."""
    before, after = changed.before.answer, changed.after.answer
    values = {
        "word": before.word,
        "other": after.word,
        "q": float(np.exp(changed.log_p_after)),
    }
    if after.word != before.word:
        return "faults.lost", values
    harmless = changed.change_nats > -IDLE_NATS
    return ("faults.harmless" if harmless else "faults.weaker"), values


def _one(page: Frame, found: Mapping[str, Altered], fault: str, layer: int) -> None:
    changed = found[fault]
    st.markdown(page.t(f"fault_about.{fault}"))
    numbers(page, changed)
    st.caption(page.t("row.mistake", layer=layer + 1))
    heads = list(range(changed.after.record.n_head))
    row(page, changed.after, layer, heads, "projection.fault_row")
    st.markdown(written(page, mistake_line(changed)))
