"""The visit of a tab: what a reload, a dropped tab or a copied tab finds again.

Streamlit forgets a session with its connection.  What must outlive it is kept in the visit, whose
token the address carries; `owi_core.jobs.visits` says to whom it is given.
"""

import copy
import hashlib
from collections.abc import MutableMapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import streamlit as st

from owi_core.jobs.visits import Arrival, Visit
from pages._ui.base import links
from pages._ui.session import state
from pages._ui.session.connection import JOBS_USED, connection, visits
from pages._ui.session.state import Opened

CURRENT_MODEL, CURRENT_RECIPE = "current_model", "current_recipe"
PREFIX = "owi.carried."  # a value of a lab that a reload must not lose has such a key
COOKIE = "_streamlit_xsrf"
_CARRIED = (
    state.LANGUAGE, state.SESSION_ID, state.KEPT, state.LINKS, state.ADDRESSES,
    CURRENT_MODEL, CURRENT_RECIPE, JOBS_USED,
)  # fmt: skip
_VISIT, _LOSS = "owi.visit", "owi.loss"


@dataclass(frozen=True)
class Loss:
    """What a reload could not find again, for the line under the title of that page.

    visit: all that the address does not hold.  stopped: how many runs were ended because their
    reader was away.  gone: how many results were deleted.  model: the session's own model.
    """

    visit: bool = False
    stopped: int = 0
    gone: int = 0
    model: bool = False

    @property
    def any(self) -> bool:
        return self.visit or self.stopped > 0 or self.gone > 0 or self.model


def begin() -> None:
    """Find the visit of this connection; give its values back if the page was loaded again.

    The frame calls it first in each run, before anything is read from the session.
    """
    me = connection()
    _present(me)
    visit: Visit | None = st.session_state.get(_VISIT)
    if visit is None or visit.owner != me:
        token = visit.token if visit else st.query_params.get(links.VISIT, "")
        visit, arrival, other = visits().arrive(token, browser(), me)
        st.session_state[_VISIT] = visit
        _take(visit, arrival, other)
    visit.left = None
    save()


def save() -> None:
    """Copy into the visit what the session holds now."""
    visit: Visit | None = st.session_state.get(_VISIT)
    if visit is None:
        return
    names = [name for name in st.session_state if _is_carried(name)]
    visit.kept = {name: st.session_state[name] for name in names}


def token() -> str:
    """Return the token of this visit; "" before `begin`."""
    visit: Visit | None = st.session_state.get(_VISIT)
    return visit.token if visit else ""


def loss(page: str) -> Loss | None:
    """Return what was lost by the reload of this page, until another page is opened."""
    at, found = st.session_state.get(_LOSS, ("", None))
    if at not in ("", page):
        st.session_state.pop(_LOSS)
        return None
    if found is not None:
        st.session_state[_LOSS] = (page, found)
    return found if found is not None and found.any else None


def browser() -> str:
    """Return a mark of the browser, by Streamlit's own cookie; "" where it has none.

    The cookie masks its token with other bits at each page, so the token is read out of it.
    """
    cookie = st.context.cookies.get(COOKIE)
    if not isinstance(cookie, str) or not cookie:
        return ""
    try:
        _, mask, masked, _ = cookie.strip("\"'").split("|")
        key = bytes.fromhex(mask)
        value = bytes(b ^ key[i % len(key)] for i, b in enumerate(bytes.fromhex(masked)))
    except (ValueError, ZeroDivisionError):
        value = cookie.encode()
    return hashlib.sha256(value).hexdigest()


# Streamlit releases this when the connection ends; a run of the script makes it again.
@st.cache_resource(
    show_spinner=False, scope="session", on_release=lambda owner: visits().leave(owner)
)
def _present(owner: str) -> str:
    return owner


def _take(visit: Visit, arrival: Arrival, other: dict[str, Any] | None) -> None:
    if arrival == "lost":
        st.session_state[_LOSS] = ("", Loss(visit=True))
    elif arrival == "resumed":
        st.session_state.update(visit.kept)
        if visit.kept.get(JOBS_USED):
            st.session_state[_LOSS] = ("", _missing(visit))
    elif arrival == "copied" and other is not None:
        _copy(other)


def _missing(visit: Visit) -> Loss:
    """Return what of the visit's runs and models is not there any more; keep what is."""
    from pages._ui.session.jobs import session_jobs

    now = {run.id: run.state for run in session_jobs().runs}
    model = visit.kept.get(CURRENT_MODEL)
    return Loss(
        stopped=sum(run.under_way and now.get(run.number) == "stopped" for run in visit.runs),
        gone=sum(run.number not in now for run in visit.runs),
        model=model is not None and not Path(model).is_dir(),
    )


def _copy(other: dict[str, Any]) -> None:
    """Begin with what another tab holds, so that each goes its own way from here."""
    mine = st.session_state
    for name, value in other.items():
        if name.startswith(PREFIX) or name in (state.LANGUAGE, CURRENT_RECIPE):
            mine[name] = value
    mine[state.KEPT] = copy.deepcopy(other.get(state.KEPT, {}))
    if state.ADDRESSES in other:
        mine[state.ADDRESSES] = other[state.ADDRESSES].copied()
    mine.pop(state.SESSION_ID, None)
    mine.pop(CURRENT_MODEL, None)
    runs: dict[int, Any] = {}
    if other.get(JOBS_USED):
        from pages._ui.session.jobs import session_jobs

        jobs = session_jobs()
        runs = {run.id: run for run in jobs.manager.join(other[state.SESSION_ID], jobs.session)}
        model = other.get(CURRENT_MODEL)
        if model is not None and jobs.copy_folder(Path(model)):
            mine[CURRENT_MODEL] = str(jobs.folder / Path(model).name)
    opened: MutableMapping[str, Opened] = other.get(state.LINKS, {})
    mine[state.LINKS] = {page: _own(link, runs) for page, link in opened.items()}


def _own(opened: Opened, runs: dict[int, Any]) -> Opened:
    return replace(
        opened,
        waiting=dict(opened.waiting),
        refused=dict(opened.refused),
        claimed=set(opened.claimed),
        offered=dict(opened.offered),
        agreed=set(opened.agreed),
        runs={name: runs[run.id] for name, run in opened.runs.items() if run.id in runs},
    )


def _is_carried(name: Any) -> bool:
    return isinstance(name, str) and (name in _CARRIED or name.startswith(PREFIX))
