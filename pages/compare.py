"""Compare classmates: two records that were taken along, side by side."""

import streamlit as st

from pages._labs.compare import form, view
from pages._labs.compare.form import Records
from pages._labs.rows import view as rows_view
from pages._ui.base.guard import guarded
from pages._ui.base.page import Frame
from pages._ui.draw.place import SIDES
from pages._ui.frame.frame import footer, frame


def main() -> None:
    page = frame("compare")
    rows_view.style()
    with guarded(page.lang):
        body(page)
    footer(page.lang)


def body(page: Frame) -> None:
    """Both sides, and what they show together."""
    form.choose_example(page)
    boxes = {name: st.container(key=f"rows_side_{name.lower()}") for name in SIDES}
    records: Records = {}
    for name, box in boxes.items():
        with box, guarded(page.lang):
            record = form.choose_record(page, name)
            if record is not None:
                records[name] = record
    if not records:
        view.how_to(page)
        return
    looked = {name: form.looking(name, record) for name, record in records.items()}
    place = form.choose_head(page, list(looked.values()))
    for name, record in looked.items():
        with boxes[name]:
            view.words(page, name, record, records[name], place)
    view.together(page, looked, place)


main()
