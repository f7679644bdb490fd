"""What a user types or pastes: what was changed before it is read, said in one short line.

No field has a limit of its own: the browser would drop a text that is too long without a word.
What is too long is refused with its numbers when it is read, and stays in the field.
"""

from typing import Any

import streamlit as st

from owi_core.checkpoints import Bundle
from owi_core.cleaning import clean, n_loose_blanks
from owi_core.errors import TextError
from owi_core.segmentation import check_text
from owi_core.tokenizer import WordTokenizer
from pages._ui.base.i18n import Translator, translator
from pages._ui.base.page import Frame
from pages._ui.session.state import keep, note_label


def sentence_field(
    page: Frame, label: str, key: str, usual: str, *, by_words: bool, **look: Any
) -> str:
    """Draw the field of one sentence, with the note on its cleaning under it; return what is typed.

    by_words: it is cut into words, so that its blanks are dropped.
    """
    text = str(st.text_input(label, key=keep(key, usual), **look) or "")
    note_label(key, label)
    show_cleaning(page, text, by_words=by_words)
    return text


def show_cleaning(page: Frame, text: str, *, by_words: bool) -> None:
    """Say what was changed before a text is read; draw nothing where nothing was."""
    note = cleaning_note(translator(page.lang, "common"), text, by_words=by_words)
    if note:
        st.caption(note)


def cleaning_note(t: Translator, text: str, *, by_words: bool) -> str:
    """Return the line that says what was changed, each kind with its count; empty for nothing."""
    cleaned = clean(text)
    counts = {kind: getattr(cleaned, kind) for kind in ("invisible", "controls", "composed")}
    if by_words:  # a line end is a blank there
        counts["blanks"] = n_loose_blanks(cleaned.text)
    else:
        counts["line_ends"] = cleaned.line_ends
    changes = [t(f"typed.{kind}", n=n) for kind, n in counts.items() if n]
    return t("typed.note", changes=t("typed.and").join(changes)) if changes else ""


def cuts_words(bundle: Bundle) -> bool:
    """Return whether a model reads words, and so drops blanks."""
    return isinstance(bundle.tokenizer, WordTokenizer)


def check_text_to_learn(text: str, limit: int) -> None:
    """Raise TextError for a pasted text that is blank or longer than `limit`."""
    text = clean(text).text
    if not text.strip():
        raise TextError("text_to_learn_empty")
    check_text(text, limit)
