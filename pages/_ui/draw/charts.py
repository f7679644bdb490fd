"""Every settled figure of a page, and what can be taken from it: PNG, SVG, CSV, HTML.

Pictures are made in the browser by the Plotly that drew the figure; the table and the page are
made on the server only when their button is pressed.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from owi_core.figures import Figure
from owi_core.figures.alt import figure_heard
from owi_core.figures.numerals import significant
from owi_core.figures.page import figure_page
from owi_core.figures.table import csv_bytes, figure_table, reading_line
from owi_core.figures.theme import enlarged, palette
from pages._ui.base import page_contents, teaching
from pages._ui.base.i18n import translator
from pages._ui.base.mounting import mount
from pages._ui.base.page import Frame

CONFIG: Mapping[str, Any] = {"displaylogo": False, "displayModeBar": False}
TALLEST_PX = 640
MOST_HEARD = 6  # series of a figure that the alternative text describes
ALONE_PX = 760  # width of a picture whose figure is not on the page
Table = Callable[[], pd.DataFrame] | None
_NO_NAME = re.compile(r"[^A-Za-z0-9]+")


def chart(page: Frame, figure: Figure, *, key: str, scroll: bool = False) -> None:
    """Draw a figure in its own colours, and under it, folded, what can be taken from it.

    scroll: a tall figure scrolls in a box, so that what follows stays in reach.
    """
    page_contents.drew(key)
    # Measured before it is enlarged: a figure that fits its box must also fit it for a class.
    tall = scroll and figure.layout.height > TALLEST_PX
    larger = teaching.LARGER if teaching.asked().on else 1.0
    if larger != 1.0:
        figure = enlarged(figure, larger)
    box = round(TALLEST_PX * larger)
    with st.container(height=box, border=False) if tall else st.container():
        _draw(page, figure, key)
    _offer(page, lambda: (figure, None), key, of=key)


def offer(
    page: Frame,
    make: Callable[[], Figure],
    *,
    key: str,
    table: Callable[[], pd.DataFrame] | None = None,
) -> None:
    """Offer a live drawing's exports; its settled figure is made when they are opened.

    make: the settled figure of what the drawing shows.  key: the drawing's.  table: its numbers,
    where they are more than those of the figure.
    """
    page_contents.drew(key)
    _offer(page, lambda: (make(), table), key, of="")


def _draw(page: Frame, figure: Figure, key: str) -> None:
    alt = alt_text(figure, page.lang)
    st.plotly_chart(figure, theme=None, config=dict(CONFIG), key=key, alt=alt)


def alt_text(figure: Figure, lang: str) -> str:
    """Return the alternative text of a figure: its first series in numbers."""
    t = translator(lang, "common")
    heard = figure_heard(figure)
    sentences = [
        t(
            "alt.series",
            name=series.name or series.title or t("alt.values"),
            count=series.count,
            low=significant(series.low.value, 4),
            low_place=series.low.place,
            high=significant(series.high.value, 4),
            high_place=series.high.place,
        )
        for series in heard[:MOST_HEARD]
    ]
    if len(heard) > MOST_HEARD:
        sentences.append(t("alt.more", count=len(heard) - MOST_HEARD))
    return " ".join([*sentences, t("alt.figure")])


def _offer(page: Frame, make: Callable[[], tuple[Figure, Table]], key: str, of: str) -> None:
    """Draw the button that opens the exports; nothing is made before it is opened.

    of: key of the chart on the page, or empty: then the figure is drawn beside its exports.
    """
    t = translator(page.lang, "common")
    with st.container(key=f"owi_export.{key}"):
        opened = st.popover(
            t("export.open"), type="tertiary", key=f"export.{key}", on_change="rerun"
        )
    if not opened.open:
        return
    with opened:
        figure, table = make()
        alone = f"export.figure.{key}"
        _pictures(page, key, of or alone)
        _files(page, figure, table, key)
        if not of:
            with st.container(width=ALONE_PX):  # as wide as its pictures, where there is room
                st.caption(t("export.same"))
                _draw(page, figure, alone)


def _pictures(page: Frame, key: str, drawn: str) -> None:
    t = translator(page.lang, "common")
    mount("export")(
        key=f"export.pictures.{key}",
        data={
            "chart": f"st-key-{re.sub(r'[^A-Za-z0-9_-]', '-', drawn)}",
            "name": _file_name(key),
            "theme": page.theme,
            "surface": palette(page.theme).surface,
            "least": 0 if drawn == key else ALONE_PX,
            "text": {word: t(f"export.{word}") for word in ("png", "svg", "failed")},
        },
    )


def _files(page: Frame, figure: Figure, table: Table, key: str) -> None:
    t, name = translator(page.lang, "common"), _file_name(key)
    rows = table or partial(figure_table, figure)
    _download(t("export.csv"), lambda: csv_bytes(rows()), f"{name}.csv", "text/csv")
    st.caption(t("export.read_back"))
    st.code(reading_line(f"{name}.csv"), language=None, wrap_lines=True)
    made = partial(_page_of, page, figure, key, page_contents.current())
    _download(t("export.html"), made, f"{name}.html", "text/html")


def _file_name(key: str) -> str:
    """Return what the files of a figure are called, without their ending."""
    name = page_contents.current().name
    return _NO_NAME.sub("-", f"owi-{key}" if key.startswith(name) else f"owi-{name}-{key}")


def _download(label: str, data: Callable[[], bytes], name: str, mime: str) -> None:
    st.download_button(
        label, data, file_name=name, mime=mime, on_click="ignore", width="stretch",
        key=f"export.{name}",
    )  # fmt: skip


def _page_of(page: Frame, figure: Figure, key: str, now: page_contents.PageContents) -> bytes:
    t = translator(page.lang, "common")
    return figure_page(
        figure,
        title=page.t("page.question") if page.t.has("page.question") else page.t("page.title"),
        source=t("export.source"),
        facts=now.facts,
        code=now.code_for(key),
        lang=page.lang,
        theme=page.theme,
    ).encode()
