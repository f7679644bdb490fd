"""What the compare page is asked: two files, or two sentences to try it with; a word in each."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from owi_core.checkpoints import MAX_UPLOAD_BYTES
from owi_core.errors import OwiError
from owi_core.gallery import READY_PAIRS
from owi_core.readings import clearest_layer
from owi_core.record_file import SavedRecord, from_bytes, saved
from pages._ui.base.i18n import error_text, translator
from pages._ui.base.page import Frame
from pages._ui.draw.events import clicked
from pages._ui.draw.place import Name, Place, choose_place
from pages._ui.session.reading import USUAL_WORD, reading_of
from pages._ui.session.state import held, keep, kept_value, renew, set_kept
from pages._ui.session.visit import PREFIX

EXAMPLE, LAYER, HEAD = "compare.example", "compare.layer", "compare.head"
Records = dict[Name, SavedRecord]


def words_key(name: Name) -> str:
    """Return the key of a record's clickable words."""
    return f"compare.words.{name}"


def choose_example(page: Frame) -> None:
    """Draw the switch that fills the sides without a file with the home page's two sentences."""
    st.toggle(page.t("example"), key=keep(EXAMPLE, False))


def choose_record(page: Frame, name: Name) -> SavedRecord | None:
    """Draw the field for a file; return the record of this side, if there is one.

    A file that is none leaves what was there before.
    """
    file = st.file_uploader(
        page.t("upload", side=name),
        type=["safetensors"],
        max_upload_size=MAX_UPLOAD_BYTES // 1_000_000,
        key=f"owi.compare.file.{name}",
        on_change=partial(_take, page.lang, name),
        label_visibility="collapsed",
    )
    refusal = st.session_state.get(_refused(name))
    if refusal:
        st.error(refusal, icon=":material/block:")
    own: SavedRecord | None = st.session_state.get(_taken(name))
    if own is None:
        return _example(name) if kept_value(EXAMPLE, False) else None
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(page.t("uploaded"), width="content")
        if file is None:  # after a visit to another page; else the field has a cross of its own
            st.button(
                page.t("remove"),
                key=f"owi.compare.remove.{name}",
                type="tertiary",
                on_click=partial(_forget, name),
            )
    return own


def looking(name: Name, record: SavedRecord) -> SavedRecord:
    """Return the record looked at from the word that was clicked, else as it was saved."""
    key, last = f"compare.query.{name}", len(record.labels) - 1
    renew(f"owi.compare.seen.{name}", (record.record.text, record.model), key)
    chosen = clicked(words_key(name))
    if isinstance(chosen, int | float) and 0 <= int(chosen) <= last:
        set_kept(key, int(chosen))
    asked = held(key, USUAL_WORD, among=range(USUAL_WORD, last + 1))
    return record if asked == USUAL_WORD else replace(record, query=asked)


def choose_head(page: Frame, records: Sequence[SavedRecord]) -> Place:
    """Draw the choice of layer and head, of those that all records have."""
    left, right = st.columns([2, 6])
    size = tuple(min(getattr(r.record, part) for r in records) for part in ("n_layer", "n_head"))
    usual = clearest_layer(records)
    renew("owi.compare.size", size, LAYER, HEAD)
    t = translator(page.lang, "rows")
    return choose_place(t, left, right, (size[0], size[1]), (LAYER, HEAD), usual)


def _take(lang: str, name: Name) -> None:
    """Read the file that was just chosen, or forget the one that was taken away."""
    file = st.session_state.get(f"owi.compare.file.{name}")
    refused = st.session_state.pop(_refused(name), None)
    if file is None:
        if refused is None:  # else what was taken away had never been taken in
            _forget(name)
        return
    try:
        st.session_state[_taken(name)] = from_bytes(file.getvalue())
    except OwiError as error:
        st.session_state[_refused(name)] = error_text(lang, error)


def _forget(name: Name) -> None:
    st.session_state.pop(_taken(name), None)


def _taken(name: Name) -> str:
    return f"{PREFIX}compare.{name}"


def _refused(name: Name) -> str:
    return f"owi.compare.refused.{name}"


def _example(name: Name) -> SavedRecord:
    pair = READY_PAIRS[0]
    text, query = (pair.a, pair.query_a) if name == "A" else (pair.b, pair.query_b)
    return saved(reading_of(pair.model, text, query), pair.model)
