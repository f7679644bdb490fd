"""What a class sees of its teacher's run: how far it is, what forms, how it ended, and no button.

A viewer of this page takes no slot and is not counted among those who watch a run.
"""

import streamlit as st

from owi_core.jobs.tasks import UNDER_WAY
from owi_core.jobs.watching import LENGTH, Sight, plain
from pages._ui.base import page_contents
from pages._ui.base.i18n import translator
from pages._ui.base.page import Frame
from pages._ui.draw.run_panel import Panel
from pages._ui.draw.watch_offer import CODE, Draw, register
from pages._ui.session.state import keep, kept_value

# Thirty who look on ask thirty times as often as one; a second late is early enough for them.
POLL_SECONDS, WAIT_SECONDS = 1.0, 3.0
KEY = f"watch.{CODE}"
LONGEST_CODE = 40  # as typed, with gaps


def choose_code(page: Frame) -> str:
    """Draw the field for the code; return what is in it."""
    typed = st.text_input(
        page.t("code.label"),
        key=keep(KEY, "", high=LONGEST_CODE),
        max_chars=LONGEST_CODE,
        placeholder=page.t("code.placeholder"),
        on_change=_into_the_address,
        width=320,
    )
    return plain(str(typed or ""))


def seen_under(page: Frame, code: str) -> Sight[Draw | None] | None:
    """Return the run that the code names; if there is none, say what to do."""
    if not code:
        st.info(page.t("code.none"), icon=":material/groups:")
        return None
    sight = register().sight(code)
    if sight is None:
        st.info(page.t("code.unknown" if len(code) == LENGTH else "code.length", n=LENGTH))
    return sight


def show(page: Frame, code: str, sight: Sight[Draw | None]) -> None:
    """Draw the run in the words of its lab, again and again, and how it ended."""
    lab = Frame(page.lang, translator(page.lang, sight.lab), page.theme)
    run = sight.run
    if not run.private:  # its settings hold what a user typed
        page_contents.made_by(f"{run.experiment} {run.id}", run.params)
    panel = Panel(lab, run, run.state, f"watch-{code}")
    st.caption(page.t("from", lab=lab.t("page.title")))
    poll = POLL_SECONDS if panel.state in UNDER_WAY else WAIT_SECONDS
    st.fragment(run_every=poll)(_live)(code, panel, sight)
    panel.outcome()
    if panel.state not in UNDER_WAY:
        st.caption(page.t("next"))


def _live(code: str, panel: Panel, sight: Sight[Draw | None]) -> None:
    panel.show_now(sight.draw)
    now = register().sight(code)
    if now is None or now.run.id != sight.run.id:
        st.rerun()


def _into_the_address() -> None:
    """Write the code into the address bar, so that the page can be reloaded."""
    st.query_params[CODE] = kept_value(KEY, "")
