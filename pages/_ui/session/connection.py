"""The connection of a tab to this server, and the register that says which visit holds what.

Both the visit and the session's jobs stand on it: a visit gives the jobs back after a reload, and
the jobs ask whether a connection that ended was the last one of their session.
"""

import streamlit as st

from owi_core.jobs.visits import Visits
from pages._ui.session import state

JOBS_USED = "owi.jobs_used"
_CONNECTION = "owi.connection"


@st.cache_resource(show_spinner=False)
def visits() -> Visits:
    """Return the one register of this server."""
    return Visits()


def connection() -> str:
    """Return an id of this connection, which no reload carries over."""
    return state.fresh_id(_CONNECTION)


def leaves_session(session: str, owner: str) -> bool:
    """Return whether a connection that ended was the last one of a session of jobs."""
    return not visits().holds(state.SESSION_ID, session, but=owner)
