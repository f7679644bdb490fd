"""The next token live: the line from 0 to 1 with the random number on it, and bars to click."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from owi_core.figures import NamedRow, row_bars
from owi_core.generation import Forecast, draw, shares
from owi_core.tokenizer import CharTokenizer
from pages._ui.base.figure_text import figure_text
from pages._ui.base.mounting import mount
from pages._ui.base.page import Frame
from pages._ui.draw.charts import offer

KEY, OFFERED = "feedback.next", "feedback.offered"
N_ROWS = 10
_TEXT = "next_label strip_label bar_readout drawn_mark force_hint u_label dropped_row"


@dataclass(frozen=True)
class Row:
    """A token that may come: its probability before and after, and its piece of the line."""

    id: int
    before: float
    after: float
    low: float
    high: float


def rows_of(forecast: Forecast, u: float) -> list[Row]:
    """Return the likeliest tokens, and the one that u falls on though it be unlikely."""
    ids, ends = shares(forecast.after)
    lows = [0.0, *ends[:-1]]
    # Of those that the limits leave out the likeliest stay on view, as what was cut.
    by_before = sorted(range(len(ids)), key=lambda i: (-forecast.before[ids[i]], ids[i]))
    shown = set(by_before[:N_ROWS]) | {int((ids == draw(forecast.after, u)).argmax())}
    return [
        Row(
            int(ids[i]),
            float(forecast.before[ids[i]]),
            float(forecast.after[ids[i]]),
            float(lows[i]),
            float(ends[i]),
        )
        for i in sorted(shown)
    ]


def next_token(page: Frame, tokenizer: CharTokenizer, forecast: Forecast, u: float) -> None:
    """Draw what may come; `forced` tells in the next run what was clicked."""
    rows, drawn = rows_of(forecast, u), draw(forecast.after, u)
    st.session_state[OFFERED] = tuple(row.id for row in rows)
    data: dict[str, Any] = {
        "rows": [
            {
                "label": tokenizer.label(row.id),
                "before": round(row.before, 5),
                "after": round(row.after, 5),
                "low": round(row.low, 5),
                "high": round(row.high, 5),
                "drawn": row.id == drawn,
            }
            for row in rows
        ],
        "u": round(u, 5),
        "theme": page.theme,
        "text": {name: page.t.template(f"component.{name}") for name in _TEXT.split()},
    }
    mount("next_token")(key=KEY, data=data, on_chosen_change=lambda: None)
    labels = [row["label"] for row in data["rows"]]
    bars = [
        NamedRow(page.t("bars.before"), labels, np.array([row.before for row in rows])),
        NamedRow(page.t("bars.after"), labels, np.array([row.after for row in rows]), "B"),
    ]
    text = replace(figure_text(page.lang), weight=page.t("bars.probability"))
    offer(page, partial(row_bars, bars, theme=page.theme, text=text), key=KEY)


def forced() -> int | None:
    """Return the token that was clicked since the last run."""
    index = getattr(st.session_state.get(KEY), "chosen", None)
    offered = st.session_state.get(OFFERED, ())
    if isinstance(index, int | float) and 0 <= index < len(offered):
        return int(offered[int(index)])
    return None
