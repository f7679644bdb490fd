"""The teacher's look at the server, redrawn every two seconds."""

import pandas as pd
import streamlit as st

from pages._ui.base.page import Frame
from pages._ui.session.jobs import manager
from pages._ui.session.overview import Overview, overview

EVERY_SECONDS = 2.0


def board(page: Frame) -> None:
    """Draw the numbers and the runs, and keep them fresh."""
    st.fragment(run_every=EVERY_SECONDS)(_board)(page)


def _board(page: Frame) -> None:
    seen = overview(manager())
    _numbers(page, seen)
    if seen.trainings:
        st.dataframe(_trainings(page, seen), hide_index=True)
    else:
        st.caption(page.t("none"))
    st.caption(page.t("ended", count=seen.ended))


def _numbers(page: Frame, seen: Overview) -> None:
    sessions = "–" if seen.sessions is None else str(seen.sessions)
    numbers = {
        "sessions": sessions,
        "running": f"{seen.running} / {seen.slots}",
        "waiting": str(seen.waiting),
        "server": _megabytes(seen.server_mb),
        "workers": _megabytes(sum(seen.workers_mb)),
        "up": _span(seen.seconds),
    }
    with st.container(horizontal=True, gap="large"):
        for name, value in numbers.items():
            label = page.t(f"number.{name}", count=len(seen.workers_mb))
            st.metric(label, value, width="content")


def _trainings(page: Frame, seen: Overview) -> pd.DataFrame:
    rows = [
        (
            each.number,
            each.experiment,
            page.t(f"state_of.{each.state}"),
            str(each.place or "–"),
            f"{each.step} / {each.steps}" if each.steps else "–",
            _megabytes(each.memory_mb),
        )
        for each in seen.trainings
    ]
    columns = ("number", "experiment", "state", "place", "step", "memory")
    return pd.DataFrame(rows, columns=[page.t(f"column.{name}") for name in columns])


def _megabytes(value: float) -> str:
    return f"{value:,.0f} MB" if value else "–"


def _span(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"
