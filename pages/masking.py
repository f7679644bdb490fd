"""The mask lab: one model with the causal mask and one without, trained and taken apart."""

from typing import Any

import streamlit as st

from owi_core.experiments.masking import Result
from owi_core.jobs.runs import Run
from pages._labs.masking import form, padding, view
from pages._labs.masking.code import run_code
from pages._ui.base.guard import guarded
from pages._ui.base.page import Frame
from pages._ui.draw import run_panel
from pages._ui.draw.code import show_code
from pages._ui.draw.run_panel import Panel, latest_run
from pages._ui.frame.frame import footer, frame
from pages._ui.session.jobs import session_jobs

NAME = "masking"


def main() -> None:
    page = frame("masking")
    run = latest_run(NAME)
    panel = Panel.of(page, run)
    values = None
    with guarded(page.lang):
        values = form.choose(page)
        if panel.buttons():
            start(values, run)
            st.rerun()
    if run is not None:
        show(page, panel, run, values)
    with guarded(page.lang):
        padding.show_both_masks(page)
    with guarded(page.lang):
        padding.pads(page)
    footer(page.lang)


def start(values: dict[str, Any], run: Run | None) -> None:
    if "own_text" in values:
        form.check_own_text(values["own_text"])
    session_jobs().start(NAME, values, replaces=run, private=form.is_private(values))


def show(page: Frame, panel: Panel, run: Run, values: dict[str, Any] | None) -> None:
    """The run: how far both are, how it ended, what was measured."""
    with guarded(page.lang):
        panel.let_watch(view.curves)
        panel.watch(view.curves)
        if panel.settings_changed(values) and values is not None:
            start(values, run)
            st.rerun()
        panel.outcome()
        panel.offer_again()
    result = run_panel.result_of(run, Result)
    if result is None:
        return
    with guarded(page.lang):
        view.figures(page, result)
        show_code(page, run_code(run.params))
        view.leak(page, run, result)
        view.written(page, result)
    with guarded(page.lang):
        view.checks(page, result)
        view.mask_itself(page, run, result)


main()
