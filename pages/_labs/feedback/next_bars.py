"""The next token live: the line from 0 to 1 with the random number on it, and bars to click."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from owi_core.figures import NamedRow, row_bars
from owi_core.generation import Forecast, draw, shares
from owi_core.tokenizer import CharTokenizer
from pages._ui.base.figure_text import figure_text
from pages._ui.base.page import Frame
from pages._ui.draw.charts import offer
from pages._ui.draw.events import clicked, mount_clickable, version

KEY = "feedback.next"
N_ROWS = 10
_NAMES = (
    "next_label", "strip_label", "bar_readout", "drawn_mark", "force_hint", "u_label", "dropped_row"
)  # fmt: skip
_TEXT = {name: name for name in _NAMES}
_TEXT_GREEDY = _TEXT | {
    "strip_label": "strip_label_greedy",
    "drawn_mark": "drawn_mark_greedy",
    "u_label": "u_label_greedy",
}


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


def n_equals_cut(forecast: Forecast) -> int:
    """Return how many tokens were left out although one as likely was kept."""
    kept = forecast.after > 0
    least = forecast.before[kept].min()
    return int(((forecast.before == least) & ~kept).sum())


def next_token(
    page: Frame, tokenizer: CharTokenizer, forecast: Forecast, u: float | None, view: str
) -> None:
    """Draw what may come after the text that `view` names; `forced` returns what was clicked.

    u: None where no random number decides.
    """
    # At temperature 0 one token has the whole line, so any number gives it.
    rows, drawn = rows_of(forecast, u or 0.0), draw(forecast.after, u or 0.0)
    names = _TEXT if u is not None else _TEXT_GREEDY
    data: dict[str, Any] = {
        "rows": [
            {
                "id": row.id,
                "label": tokenizer.label(row.id),
                "before": round(row.before, 5),
                "after": round(row.after, 5),
                "low": round(row.low, 5),
                "high": round(row.high, 5),
                "drawn": row.id == drawn,
            }
            for row in rows
        ],
        "u": None if u is None else round(u, 5),
        "theme": page.theme,
        "text": {name: page.t.template(f"component.{key}") for name, key in names.items()},
    }
    mount_clickable("next_token", lab="feedback", key=KEY, data=data, view=view)
    labels = [row["label"] for row in data["rows"]]
    bars = [
        NamedRow(page.t("bars.before"), labels, np.array([row.before for row in rows])),
        NamedRow(page.t("bars.after"), labels, np.array([row.after for row in rows]), "B"),
    ]
    text = replace(figure_text(page.lang), weight=page.t("bars.probability"))
    offer(page, partial(row_bars, bars, theme=page.theme, text=text), key=KEY)


def view_of(ids: tuple[int, ...]) -> str:
    """Return the name of the view in which these tokens are the text so far."""
    return version(ids)


def forced(tokenizer: CharTokenizer, ids: tuple[int, ...]) -> int | None:
    """Return the token that was clicked to follow just these tokens.

    A second click on bars that were drawn before the first one took effect was meant for another
    place: it is ignored.
    """
    token = clicked(KEY, view_of(ids))
    known = isinstance(token, int | float) and token in range(tokenizer.vocab_size)
    return int(token) if known else None
