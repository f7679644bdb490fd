"""Compare classmates: two records that were taken along, side by side."""

import streamlit as st

from pages._ui import compare_form, compare_view, rows_view
from pages._ui.compare_form import Records
from pages._ui.frame import Frame, footer, frame, guarded
from pages._ui.rows_form import SIDES


def main() -> None:
    page = frame("compare")
    rows_view.style()
    with guarded(page.lang):
        body(page)
    footer(page.lang)


def body(page: Frame) -> None:
    """Both sides, and what they show together."""
    compare_form.choose_example(page)
    boxes = {name: st.container(key=f"rows_side_{name.lower()}") for name in SIDES}
    records: Records = {}
    for name, box in boxes.items():
        with box, guarded(page.lang):
            record = compare_form.choose_record(page, name)
            if record is not None:
                records[name] = record
    if not records:
        compare_view.how_to(page)
        return
    looked = {name: compare_form.looking(name, record) for name, record in records.items()}
    place = compare_form.choose_head(page, list(looked.values()))
    for name, record in looked.items():
        with boxes[name]:
            compare_view.words(page, name, record, records[name], place)
    compare_view.together(page, looked, place)


main()
