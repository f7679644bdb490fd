"""The line that names the session's own model on every page, and the way back to the app's."""

import streamlit as st

from pages._ui.base.entries import listed_entries
from pages._ui.base.i18n import translator
from pages._ui.base.page import Frame
from pages._ui.session.models import forget_model
from pages._ui.session.reading import own_model, own_model_pages


def draw(page: Frame) -> None:
    """Name the own model, the pages that use it, and offer to go back; nothing without one."""
    own = own_model()
    if own is None:
        return
    t = translator(page.lang, "common")
    params = own.note.get("params") or {}
    name = str(params.get("family") or params.get("text") or "own")
    words = translator(page.lang, "train")
    if words.has(f"corpus.{name}.name"):
        name = words(f"corpus.{name}.name")
    using = own_model_pages()
    pages = [entry.title for entry in listed_entries(page.lang) if entry.name in using]
    values = {"name": name, "n": own.tokenizer.vocab_size, "pages": t("and").join(pages)}
    with st.container(horizontal=True, vertical_alignment="center", key="owi_own_model"):
        st.markdown(":material/deployed_code: " + t.markdown("own_model.line", **values))
        st.button(
            t("own_model.forget"), type="tertiary", key="owi.forget_model", on_click=forget_model
        )
