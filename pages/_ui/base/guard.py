"""A failure in one part of a page becomes a message there; the rest of the page goes on."""

import logging
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from owi_core.errors import OwiError
from pages._ui.base import page_contents
from pages._ui.base.i18n import error_text, field_error_text, translator

_log = logging.getLogger(__name__)


@contextmanager
def guarded(lang: str) -> Iterator[None]:
    """Turn a failure inside the block into a message; what was typed stays as it is.

    An OwiError is shown as rule, value, remedy; an empty field is not a mistake, so what is missing
    is a hint. Anything else is logged under a short number, and the reader sees that number, never
    a traceback.
    """
    try:
        yield
    except OwiError as error:
        if error.code == "text_empty":
            st.info(error_text(lang, error), icon=":material/edit:")
        else:
            page = translator(lang, page_contents.current().name)
            st.error(field_error_text(page, error), icon=":material/block:")
    except Exception:
        number = uuid.uuid4().hex[:6]
        _log.exception("unexpected failure %s", number)
        t = translator(lang, "common")
        st.error(t.markdown("error.unexpected", number=number), icon=":material/warning:")
