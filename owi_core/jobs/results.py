"""The results of tasks on disk: which one answers a recipe again, and which are deleted first."""

import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from owi_core.errors import RunError
from owi_core.events import Finished
from owi_core.jobs.limits import Limits
from owi_core.jobs.tasks import ENDED, SHAREABLE, Key, Task

MEGABYTE = 2**20


class Results:
    """All tasks whose results exist or are still to come, oldest first.

    Guarded by the manager's lock. is_busy: whether a worker still writes into a task's folder; such
    a folder is deleted when the worker has ended (`settle`), since the worker would make it again.
    """

    def __init__(self, root: Path, limits: Limits, is_busy: Callable[[Task], bool]) -> None:
        self._root, self._limits, self._is_busy = root, limits, is_busy
        self._tasks: list[Task] = []
        # A counter, not a clock: two uses at the same moment still have an order.
        self._uses = 0

    def __contains__(self, task: Task) -> bool:
        return task in self._tasks

    def tasks(self) -> tuple[Task, ...]:
        return tuple(self._tasks)

    def find(self, key: Key) -> Task | None:
        """Return the newest task of a recipe that need not be trained again."""
        same = (t for t in reversed(self._tasks) if t.key == key and t.state in SHAREABLE)
        return next(same, None)

    def seconds_of(self, key: Key) -> float | None:
        """Return how long the newest finished training of a recipe took, None if there is none."""
        for task in reversed(self._tasks):
            done = task.latest.get(Finished) if task.key == key else None
            # Not every experiment trains: some results have no such number.
            seconds = done.result.get("train_seconds") if isinstance(done, Finished) else None
            if isinstance(seconds, int | float):
                return float(seconds)
        return None

    def new_folder(self) -> Path:
        """Raises RunError("disk_full")."""
        try:
            return Path(tempfile.mkdtemp(prefix="run-", dir=self._root))
        except OSError as error:
            raise RunError("disk_full") from error

    def add(self, task: Task) -> None:
        self._tasks.append(task)

    def note_use(self, task: Task) -> None:
        """Note that a session asks for this task: it is the last to be deleted."""
        self._uses += 1
        task.used = self._uses

    def forget(self, task: Task) -> None:
        """Remove a task and its folder."""
        self._tasks.remove(task)
        if not self._is_busy(task):
            shutil.rmtree(task.folder, ignore_errors=True)

    def settle(self, task: Task) -> None:
        """Keep or delete what a worker has left, now that it has ended; then keep the quota."""
        if task not in self._tasks:
            shutil.rmtree(task.folder, ignore_errors=True)
        self._keep_quota()

    def _keep_quota(self) -> None:
        """Shared results have one quota, the private results of each session have their own."""
        pools: defaultdict[str, list[Task]] = defaultdict(list)
        for task in self._tasks:
            if task.state in ENDED:
                pools[task.owner].append(task)
        for owner, pool in pools.items():
            limit = self._limits.private_mb if owner else self._limits.shared_mb
            self._shrink(pool, limit * MEGABYTE)

    def _shrink(self, pool: list[Task], limit: float) -> None:
        """Delete the least recently used results, first those that no session watches.

        The last one stays even if it alone exceeds the limit: it is what a user has just made.
        """
        pool.sort(key=lambda task: (bool(task.watchers), task.used))
        sizes = [task.size for task in pool]
        total = sum(sizes)
        for task, size in list(zip(pool, sizes, strict=True))[:-1]:
            if total <= limit:
                return
            total -= size
            self.forget(task)
