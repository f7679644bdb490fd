"""The folder in which a server keeps its runs: locked while it lives, deleted after a crash.

A server that is killed cannot delete its own. The lock goes with the process, so the next server
sees which folders have no owner any more.
"""

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: the folder of a killed server stays until it is deleted by hand
    fcntl = None  # type: ignore[assignment]

PREFIX, LOCK = "owi-", "lock"


class RootFolder:
    """A new folder for temporary files, this server's own until `delete` or its end."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._lock = None
        if fcntl is not None:
            # It gets its final name once it is locked: another server must not find it unlocked.
            half = self.path / f"{LOCK}.half"
            self._lock = half.open("wb")
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            half.rename(self.path / LOCK)

    def delete(self) -> None:
        """Delete it with everything in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            self._lock.close()


def sweep() -> None:
    """Delete the folders of servers that have ended without deleting them."""
    if fcntl is None:
        return
    for lock in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{LOCK}"):
        # A lock that is still held, or that another server has just deleted, raises OSError.
        with suppress(OSError):
            _sweep(lock)


def _sweep(lock: Path) -> None:
    if lock.parent.lstat().st_uid != os.getuid() or not lock.is_file():
        return
    with lock.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(lock.parent)
