"""Which connection does my task need?  Three questions, answered by the rows just measured."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from owi_core.experiments._kit.results import given
from owi_core.peers import CAUSAL, KINDS
from pages._labs.connections.results import model_in, name_of
from pages._ui.base.page import Frame
from pages._ui.draw.forms import scale, segments

NEEDS = ("near", "far", "both")
PARTS = {"near": "data", "far": "recall", "both": "recall"}
ALIKE = 0.05  # accuracies this near count as the same; then speed decides


def show(page: Frame) -> None:
    """Ask what depends on what, how far or from how much data, and whether speed counts."""
    st.subheader(page.t("guide.title"), anchor=False)
    need = segments(
        page.t("guide.need"),
        NEEDS,
        key="connections.need",
        usual="far",
        name=page.t.each("guide.{}"),
    )
    need = str(need)
    kinds = KINDS if need == "both" else CAUSAL
    measured = {k: _accuracies(need, k) for k in kinds}
    places = sorted({at for found in measured.values() for at in found}, key=int)
    if not places:
        st.info(page.t(f"guide.missing_{PARTS[need]}"))
        return
    where = scale(
        page.t("guide.sentences" if need == "near" else "guide.distance"),
        places,
        key=f"connections.where.{need}",
        usual=places[0 if need == "near" else -1],
        width=320,
    )
    answer(page, need, where, {k: found[where] for k, found in measured.items() if where in found})


def answer(page: Frame, need: str, where: str, accuracy: Mapping[str, float]) -> None:
    """Say which connections the measured rows speak for, and whether attention is among them."""
    best = max(accuracy.values())
    good = [kind for kind, value in accuracy.items() if value >= best - ALIKE]
    quickest = min(good, key=lambda kind: _seconds(need, kind))
    values: dict[str, Any] = {
        "at": where,
        "best": [name_of(page, kind) for kind in good],
        "accuracy": best,
        "quickest": name_of(page, quickest),
        "seconds": _seconds(need, quickest),
        "ours": accuracy["transformer"],
    }
    code = "needs_both" if need == "both" else _code(good)
    st.markdown(page.t.markdown(f"guide.{code}", **values))
    if need == "far" and len(good) > 1:
        st.markdown(page.t.markdown("guide.quickest", **values))
    rows = [(name_of(page, kind), f"{value:.2f}") for kind, value in accuracy.items()]
    names = [page.t("numbers.model"), page.t("guide.measured", at=where)]
    st.dataframe(pd.DataFrame(rows, columns=names), hide_index=True)


def _code(good: list[str]) -> str:
    if "transformer" not in good:
        return "not_attention"
    return "attention" if len(good) == 1 else "any_of"


def _seconds(need: str, kind: str) -> float:
    """Return how long a model's training took; what has no clock of its own counts as slow."""
    return given(model_in(PARTS[need], kind).train_seconds, float("inf"))


def _accuracies(need: str, kind: str) -> Mapping[str, float]:
    found = model_in(PARTS[need], kind)
    return given(found.accuracy_by_data if need == "near" else found.accuracy_by_distance, {})
