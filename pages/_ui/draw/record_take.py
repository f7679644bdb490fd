"""Taking a reading along as a file, to lay it beside a classmate's on the compare page."""

from collections.abc import Mapping

import streamlit as st

from owi_core.readings import Reading
from owi_core.record_file import saved, to_bytes
from pages._ui.base.guard import guarded
from pages._ui.base.page import Frame
from pages._ui.draw.place import Name
from pages._ui.session.state import keep

LONGEST_NAME = 40


def take_along(page: Frame, readings: Mapping[Name, Reading], model: str) -> None:
    """Draw, folded away, a download for each reading and a field for whose it is."""
    folded = st.expander(page.t("take.title"), key=keep("rows.take", False), on_change="rerun")
    with folded:
        if not folded.open:
            return
        st.markdown(page.t("take.about"))
        label = st.text_input(
            page.t("take.name"),
            key=keep("rows.whose", "", high=LONGEST_NAME, private=True),
            max_chars=LONGEST_NAME,
            help=page.t("take.name_help"),
            width=320,
        )
        with st.container(horizontal=True):
            for name, reading in readings.items():
                with guarded(page.lang):
                    st.download_button(
                        page.t("take.download", side=name),
                        to_bytes(saved(reading, model, str(label or ""))),
                        file_name=f"owi-record-{name}.safetensors",
                        mime="application/octet-stream",
                        on_click="ignore",
                        key=f"rows.take.{name}",
                    )
