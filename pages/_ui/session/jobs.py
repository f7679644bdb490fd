"""The job engine as the session of a page uses it: its runs, its folder, its presence."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from owi_core.errors import RunError
from owi_core.experiments import find, parse_params, recipe
from owi_core.jobs.limits import Limits
from owi_core.jobs.manager import JobManager
from owi_core.jobs.messages import Caps
from owi_core.jobs.runs import Run
from owi_core.jobs.tasks import ENDED
from owi_core.jobs.visits import HeldRun
from pages._ui.base import settings
from pages._ui.base.settings import Settings
from pages._ui.session import connection, state


@dataclass(frozen=True)
class SessionJobs:
    """The job engine, for one session."""

    manager: JobManager
    session: str
    connection: str = ""

    def start(
        self,
        experiment: str,
        params: Mapping[str, Any],
        *,
        replaces: Run | None = None,
        private: bool = False,
        fresh: bool = False,
    ) -> Run:
        """Queue a training or share the stored one, as `JobManager.submit` does.

        replaces: an older run of this session, which is stopped if it has not ended.
        """
        if replaces is not None and replaces.state not in ENDED:
            replaces.stop()
        return self.manager.submit(experiment, params, self.session, private=private, fresh=fresh)

    def has(self, experiment: str, params: Mapping[str, Any]) -> bool:
        """Return whether this training exists already, so that starting it costs nothing."""
        return self.manager.has(experiment, params)

    @property
    def runs(self) -> list[Run]:
        return self.manager.runs(self.session)

    @property
    def folder(self) -> Path:
        return self.manager.session_folder(self.session)

    def copy_folder(self, folder: Path) -> bool:
        """Copy a folder of another session into this one's; return whether it was there."""
        try:
            shutil.copytree(folder, self.folder / folder.name, dirs_exist_ok=True)
        except (OSError, RunError):
            return False
        return True


def session_jobs() -> SessionJobs:
    """Return the job engine for this session, and note that the session is present.

    Call it in every run of a script that shows a run or a model: a session whose connection was
    dropped loses both after a while, and this call cancels that.
    """
    jobs = _session_jobs(state.session_id(), connection.connection())
    st.session_state[connection.JOBS_USED] = True
    jobs.manager.touch(jobs.session)
    return jobs


def seconds_here(experiment: str, params: Mapping[str, Any]) -> float | None:
    """Return how long this training took on this server, None if that is not known.

    A session that has not trained yet does not ask: the job engine would be started for it.
    """
    if not st.session_state.get(connection.JOBS_USED):
        return None
    return session_jobs().manager.seconds_of(experiment, params)


@st.cache_resource(show_spinner=False, on_release=JobManager.close)
def manager() -> JobManager:
    """Return the one manager of this server."""
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


def _leave(jobs: SessionJobs) -> None:
    """Note that a connection has ended, unless a reloaded page has taken its session over."""
    runs = [HeldRun(run.id, run.under_way) for run in jobs.runs]
    connection.visits().note_runs(jobs.connection, tuple(runs))
    if connection.leaves_session(jobs.session, jobs.connection):
        jobs.manager.leave(jobs.session)


# Streamlit releases this whenever the connection drops, even when the browser reconnects at once.
# So the release only starts a delay (`leave`), and each run of a script cancels it (`touch`).
@st.cache_resource(show_spinner=False, scope="session", on_release=_leave)
def _session_jobs(session: str, connection: str) -> SessionJobs:
    return SessionJobs(manager(), session, connection)


def _recipe_of(experiment: str, params: Mapping[str, Any]) -> str:
    return recipe(experiment, parse_params(find(experiment), params))
