"""Train live: choose what to learn, watch the loss fall and the row form, take the model along."""

import streamlit as st

from pages._ui import run_panel, train_form, train_view
from pages._ui.code import show_code
from pages._ui.frame import Frame, footer, frame, guarded
from pages._ui.run_panel import Panel, latest_run
from pages._ui.runs import Run
from pages._ui.seat import seat
from pages._ui.tasks import ENDED
from pages._ui.train_code import run_code
from pages._ui.train_form import OWN, Choice
from pages._ui.train_models import take_along


def main() -> None:
    page = frame("train")
    place = seat()
    # A lab's own runs are shown on its own page.
    run = latest_run({train_form.experiment_of(corpus) for corpus in train_form.CORPORA})
    panel = Panel.of(page, run)
    with guarded(page.lang):
        choice = choose(page)
        if panel.buttons():
            start(choice, run)
            st.rerun()
    if run is not None:
        show(page, panel, run)
    with guarded(page.lang):
        take_along(page, place, run)
    footer(page.lang)


def choose(page: Frame) -> Choice:
    """What is to be learned, with which settings."""
    corpus = train_form.choose_corpus(page)
    text = ""
    with guarded(page.lang):  # a file that is no text takes no button away
        text = train_form.choose_text(page) if corpus == OWN else ""
    settings = train_form.choose_settings(page, corpus)
    return train_form.choice_of(corpus, settings, text)


def start(choice: Choice, run: Run | None) -> None:
    if "own_text" in choice.params:
        train_form.check_text(choice.params["own_text"])
    run_panel.start(choice.experiment, choice.params, run, private=choice.private)


def show(page: Frame, panel: Panel, run: Run) -> None:
    """The run: how far it is, how it ended, its story."""
    with guarded(page.lang):
        train_view.watch(panel)
        panel.outcome()
        panel.offer_again()
        if panel.state in ENDED or panel.state == "paused":
            train_view.story(page, run)
            train_view.measured(page, run)
            show_code(page, run_code(run))


main()
