"""Train live: choose what to learn, watch the loss fall and the row form, take the model along."""

import streamlit as st

from owi_core.jobs.runs import Run
from owi_core.jobs.tasks import ENDED
from pages._labs.train import form, view
from pages._labs.train.code import run_code
from pages._labs.train.form import OWN, Choice
from pages._labs.train.models import take_along
from pages._ui.base.guard import guarded
from pages._ui.base.page import Frame
from pages._ui.draw.code import show_code
from pages._ui.draw.run_panel import Panel, latest_run
from pages._ui.frame.frame import footer, frame
from pages._ui.session.jobs import session_jobs


def main() -> None:
    page = frame("train")
    jobs = session_jobs()
    # A lab's own runs are shown on its own page.
    run = latest_run({form.experiment_of(corpus) for corpus in form.CORPORA})
    panel = Panel.of(page, run)
    choice = None
    with guarded(page.lang):
        choice = choose(page)
        if panel.buttons():
            start(choice, run)
            st.rerun()
    if run is not None:
        show(page, panel, run, choice)
    with guarded(page.lang):
        take_along(page, jobs, run)
    footer(page.lang)


def choose(page: Frame) -> Choice:
    """What is to be learned, with which settings."""
    corpus = form.choose_corpus(page)
    text = ""
    with guarded(page.lang):  # an unreadable file must not remove a button
        text = form.choose_text(page) if corpus == OWN else ""
    settings = form.choose_settings(page, corpus)
    return form.choice_of(corpus, settings, text)


def start(choice: Choice, run: Run | None) -> None:
    if "own_text" in choice.params:
        form.check_text(choice.params["own_text"])
    session_jobs().start(choice.experiment, choice.params, replaces=run, private=choice.private)


def show(page: Frame, panel: Panel, run: Run, choice: Choice | None) -> None:
    """The run: how far it is, how it ended, its story."""
    with guarded(page.lang):
        view.watch(panel)
        asked = (None, "") if choice is None else (choice.params, choice.experiment)
        if panel.settings_changed(*asked) and choice is not None:
            start(choice, run)
            st.rerun()
        panel.outcome()
        panel.offer_again()
        if panel.state in ENDED or panel.state == "paused":
            view.story(page, run)
            view.measured(page, run)
            show_code(page, run_code(run.experiment, run.params))


main()
