"""How the compare page shows two records: words and rows, one model or two, the difference."""

from collections.abc import Mapping

import numpy as np
import streamlit as st

from owi_core.checkpoints import shipped_names
from owi_core.figures import is_same_everywhere, row_difference
from owi_core.record_file import SavedRecord
from pages._labs.compare.form import words_key
from pages._ui.base.entries import listed_entries
from pages._ui.base.figure_text import figure_text
from pages._ui.base.i18n import translator
from pages._ui.base.page import Frame
from pages._ui.draw import say
from pages._ui.draw.badge import badge
from pages._ui.draw.charts import chart
from pages._ui.draw.code import show_code
from pages._ui.draw.components import looking
from pages._ui.draw.place import Name, Place
from pages._ui.draw.say import Line
from pages._ui.frame.frame import page_link
from pages._ui.session.reading import OWN

MOST_WORDS, LEAST_WEIGHT = 3, 0.005  # below it, two digits are 0.00
Looked = Mapping[Name, SavedRecord]


def how_to(page: Frame) -> None:
    """Say how a record is made, where there is none yet."""
    st.info(page.t("empty"), icon=":material/draft:")
    for entry in listed_entries(page.lang):
        if entry.name == "rows":
            page_link(entry, page.lang, page.t("to_rows"))


def words(page: Frame, name: Name, looked: SavedRecord, kept: SavedRecord, place: Place) -> None:
    """Draw a record's words to click, its row as bars, whose it is, and where it looks most."""
    row = looked.record.row(looked.query, *place)
    looking(page, looked, *place, colour=name, key=words_key(name))
    if looked.label:
        st.caption(page.t.markdown("whose", name=looked.label))
    if kept.answer is not None and looked.query == kept.query:
        key = "answer.known" if kept.answer.known else "answer.unsure"
        values = {"word": kept.answer.word, "p": kept.answer.probability}
        st.markdown(page.t.markdown(key, query=looked.labels[looked.query], **values))
    top = [
        int(at) for at in np.argsort(-row, kind="stable")[:MOST_WORDS] if row[at] >= LEAST_WEIGHT
    ]
    words = [f"{looked.labels[at]} {row[at]:.2f}" for at in top]
    shape = translator(page.lang, "rows")(f"shape.{say.shape_of(looked, row)}")
    line = page.t.markdown("gaze", layer=place[0] + 1, words=words, **say.spread(looked, row))
    st.caption(line + shape)


def together(page: Frame, looked: Looked, place: Place) -> None:
    """Draw what the records prove, whether one model read both, and the rows' difference."""
    rows = translator(page.lang, "rows")
    badge(rows, looked.values())
    if len(looked) < 2:
        st.info(page.t("one_more", side="B" if "A" in looked else "A"), icon=":material/draft:")
        return
    a, b = looked["A"], looked["B"]
    key, values = model_line(a, b)
    named = {side: _model_name(page, str(name)) for side, name in values.items()}
    st.markdown(page.t.markdown(key, **named))
    st.subheader(rows("difference.title"), anchor=False)
    row_a, row_b = (each.record.row(each.query, *place) for each in (a, b))
    if is_same_everywhere(a.labels, b.labels, row_a, row_b):
        st.markdown(rows("difference.none"))
        return
    st.caption(rows("difference.about"))
    text = figure_text(page.lang)
    figure = row_difference(a.labels, row_a, b.labels, row_b, theme=page.theme, text=text)
    chart(page, figure, key="compare.difference", scroll=True)
    show_code(page, difference_code(looked, place))


def model_line(a: SavedRecord, b: SavedRecord) -> Line:
    """Whether one model read both, by its numbers; else whether both follow one recipe."""
    values = {"a": a.model.name, "b": b.model.name}
    if a.model.weights == b.model.weights:
        return "model.same", values
    if a.model.recipe and a.model.recipe == b.model.recipe:
        return "model.same_recipe", values
    return "model.different", values


def _model_name(page: Frame, name: str) -> str:
    """Return what a page calls a model; a file may hold any name."""
    if name == OWN:
        return page.t("model.own")
    return translator(page.lang, "rows")(f"model.{name}") if name in shipped_names() else name


def difference_code(looked: Looked, place: Place) -> str:
    """The lines that draw the same difference from the two files."""
    names = [f"owi-record-{name}.safetensors" for name in looked]
    layer, head = place
    rows = [
        f"row_{name.lower()} = {name.lower()}.record.row({record.query}, {layer}, {head})"
        for name, record in looked.items()
    ]
    return "\n".join(
        [
            "from pathlib import Path",
            "from owi_core.figures import row_difference",
            "from owi_core.record_file import from_bytes",
            "",
            f"a, b = (from_bytes(Path(name).read_bytes()) for name in {names!r})",
            *rows,
            "figure = row_difference(a.labels, row_a, b.labels, row_b)",
        ]
    )
