"""A session's seat at this server's one job manager: taken at each run, left at its end."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from owi_core.experiments import find, parse_params, recipe
from owi_core.jobs.limits import Limits
from owi_core.jobs.manager import JobManager
from owi_core.jobs.runs import Run
from owi_core.jobs.worker import Caps
from pages._ui.base import settings
from pages._ui.base.settings import Settings
from pages._ui.session import state

# Each part of a page that is sent lets go of the interpreter; while others draw theirs, its thread
# gets it back only after so long, a hundred times for a page. Python's own 5 ms is far too long.
SWITCH_SECONDS = 0.0005


@dataclass(frozen=True)
class Seat:
    """The manager as one session uses it."""

    manager: JobManager
    session: str

    def submit(
        self,
        experiment: str,
        params: Mapping[str, Any],
        *,
        private: bool = False,
        fresh: bool = False,
    ) -> Run:
        """Queue or share a training; see `JobManager.submit`."""
        return self.manager.submit(experiment, params, self.session, private=private, fresh=fresh)

    @property
    def runs(self) -> list[Run]:
        return self.manager.runs(self.session)

    @property
    def folder(self) -> Path:
        return self.manager.session_folder(self.session)


def seat() -> Seat:
    """Return this session's seat and note that the session is there; call it at every run."""
    taken = _seat(state.session_id())
    taken.manager.touch(taken.session)
    return taken


@st.cache_resource(show_spinner=False, on_release=JobManager.close)
def manager() -> JobManager:
    """The one manager of this server."""
    sys.setswitchinterval(SWITCH_SECONDS)
    return JobManager(_recipe_of, limits_of(settings.current()))


def limits_of(server: Settings) -> Limits:
    """Return the limits of the job engine on a server with these settings."""
    return Limits(
        slots=server.slots,
        nice=server.nice,
        shared_mb=server.shared_mb,
        private_mb=server.private_mb,
        grace_seconds=server.grace_seconds,
        caps=Caps(seconds=server.run_seconds, memory_mb=server.run_mb),
    )


# Streamlit releases this at any drop of the connection, also one that is mended at once:
# hence `leave`, which waits, and the touch at every run, which calls it off.
@st.cache_resource(
    show_spinner=False,
    scope="session",
    on_release=lambda taken: taken.manager.leave(taken.session),
)
def _seat(session: str) -> Seat:
    return Seat(manager(), session)


def _recipe_of(experiment: str, params: Mapping[str, Any]) -> str:
    return recipe(experiment, parse_params(find(experiment), params))
