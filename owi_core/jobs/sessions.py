"""The sessions: which runs each one holds, how many it may have, and when it counts as gone."""

import shutil
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from owi_core.errors import RunError
from owi_core.jobs.deadlines import Deadlines
from owi_core.jobs.limits import Limits
from owi_core.jobs.runs import Run
from owi_core.jobs.tasks import ENDED


class Sessions:
    """The runs and the folder of each session, by the session's name.

    Guarded by the manager's lock, except `touch`, `leave` and `folder`, which any thread may call.
    """

    def __init__(self, root: Path, limits: Limits, deadlines: Deadlines) -> None:
        self._root, self._limits, self._deadlines = root, limits, deadlines
        self._runs: defaultdict[str, list[Run]] = defaultdict(list)
        self._joined: set[str] = set()  # sessions whose runs another session holds as well

    def runs(self, session: str) -> list[Run]:
        """Return what a session has started or shared, oldest first."""
        return list(self._runs.get(session, ()))

    def join(self, session: str) -> list[Run]:
        """Return the runs of a session for another one, which holds them as well from now on."""
        self._joined.add(session)
        return self.runs(session)

    def is_succeeded(self, session: str) -> bool:
        """Whether the session's connection is gone and another session has joined its runs."""
        # After a reload the old connection counts as present until its grace time is over, but the
        # reader is the same: to that reader nobody else is watching.
        return session in self._joined and ("end", session) in self._deadlines

    def add(self, run: Run) -> None:
        self._runs[run.session].append(run)

    def make_room(self, session: str) -> list[Run]:
        """Remove and return the oldest ended runs, where a session has too many of them.

        Raises RunError("too_many_runs", limit) when too many of its runs have not ended.
        """
        runs = self._runs[session]
        limit = self._limits.unfinished_per_session
        if sum(run.state not in ENDED for run in runs) >= limit:
            raise RunError("too_many_runs", limit=limit)
        ended = [run for run in runs if run.state in ENDED]
        surplus = ended[: -self._limits.ended_per_session]
        for run in surplus:
            runs.remove(run)
        return surplus

    def remove(self, session: str) -> list[Run]:
        """Forget a session and delete its folder; return the runs that it held."""
        shutil.rmtree(self._folder(session), ignore_errors=True)
        self._joined.discard(session)
        return self._runs.pop(session, [])

    def folder(self, session: str) -> Path:
        """Return a folder for the session's own files; it is deleted with the session.

        Raises RunError("disk_full").
        """
        folder = self._folder(session)
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise RunError("disk_full") from error
        return folder

    def touch(self, session: str) -> None:
        """Note that a session is present: cancel what `leave` has scheduled."""
        self._deadlines.cancel(("end", session))
        self._deadlines.cancel(("drop", session))

    def leave(self, session: str, end: Callable[[], None], drop: Callable[[], None]) -> None:
        """Note that the connection of a session is gone; a browser may reconnect for a while.

        end: end its runs, after `grace_seconds`, so that others get the slot soon.
        drop: delete its results, after `keep_seconds`, when no browser can come back to them.
        """
        self._deadlines.set(("end", session), self._limits.grace_seconds, end)
        self._deadlines.set(("drop", session), self._limits.keep_seconds, drop)

    def _folder(self, session: str) -> Path:
        return self._root / f"session-{session}"
