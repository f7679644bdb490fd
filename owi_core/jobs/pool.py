"""The worker processes: how many there are, which task each one has, and when one is killed.

A worker does one task and ends. It starts before it has a task, because importing torch takes
longer than a user wants to wait: the warm worker then becomes the run, and another one warms up.

    starting -- "ready" --> warm -- assign --> busy -- last event --> exits
        |                                       |
        start_seconds                           caps.seconds, pause_seconds, kill_seconds: kill
"""

import threading
from collections.abc import Callable

from owi_core.errors import OwiError
from owi_core.events import Event, from_json
from owi_core.jobs.deadlines import Deadlines
from owi_core.jobs.limits import Limits
from owi_core.jobs.tasks import HAS_WORKER, Task
from owi_core.jobs.worker_process import Start, Worker

# A worker that cannot start once may be bad luck (no memory at this moment); twice in a row is a
# fault of the installation, and every further start would fail in the same way.
MOST_FAILED_STARTS = 2


class WorkerPool:
    """At most `limits.slots` workers.

    Every method expects the caller to hold `changed`, the manager's lock, except `close`. The
    reader threads of the workers take it before they call `on_end` and `on_free`.
    """

    def __init__(
        self,
        limits: Limits,
        start: Start,
        deadlines: Deadlines,
        changed: threading.Condition,
        *,
        on_end: Callable[[Task], None],
        on_free: Callable[[], None],
    ) -> None:
        """on_end: the worker of a task has exited.  on_free: a slot or a warm worker is free."""
        self._limits, self._start = limits, start
        self._deadlines, self._changed = deadlines, changed
        self._on_end, self._on_free = on_end, on_free
        self._task_of: dict[Worker, Task | None] = {}
        self._failed_starts = 0
        self._closed = False

    @property
    def cannot_start(self) -> bool:
        """Whether workers fail before they are warm, so that the pool has stopped trying."""
        return self._failed_starts >= MOST_FAILED_STARTS

    @property
    def idle(self) -> bool:
        """Whether no worker has a task and one is warm."""
        return self.has_warm and not any(self._task_of.values())

    @property
    def has_warm(self) -> bool:
        return self._warm() is not None

    def pids(self) -> dict[int, int | None]:
        """Return each worker's process id with the number of its task."""
        busy = self._task_of.items()
        return {worker.pid: task.number if task else None for worker, task in busy}

    def is_busy_with(self, task: Task) -> bool:
        return task in self._task_of.values()

    def try_again(self) -> None:
        """Forget the failed starts: a user has asked for a run."""
        self._failed_starts = 0

    def fill(self, waiting: int) -> None:
        """Start workers for the tasks that wait, and keep one more warm, where slots allow."""
        while not self._closed and self._wants_worker(waiting):
            try:
                worker = Worker(self._start, self._on_line, self._on_exit)
            except OSError:  # no process or no memory left
                self._failed_starts += 1
                continue
            self._task_of[worker] = None
            self._deadlines.set(worker, self._limits.start_seconds, worker.kill)

    def assign(self, task: Task) -> None:
        """Send a task to a warm worker; there must be one."""
        worker = self._warm()
        assert worker is not None
        self._task_of[worker] = task
        task.begun = False
        worker.send(task.job(self._limits.caps).to_json())
        # The worker watches its own time. This deadline is for one that hangs as a whole, or that
        # the system has suspended: it comes later, so that the worker's own message wins.
        patience = self._limits.caps.seconds + self._limits.pause_seconds
        self._deadlines.set(worker, patience, lambda: self._give_up(worker, task))

    def ask(self, task: Task, request: str, seconds: float) -> None:
        """Ask the worker of a task to "pause" or "stop"; kill it if it has not after `seconds`."""
        for worker in self._workers_of(task):
            worker.ask(request)
            self._deadlines.set(worker, seconds, worker.kill)

    def kill(self, task: Task) -> None:
        """Kill the worker of a task that still prepares: it does not read requests yet."""
        for worker in self._workers_of(task):
            worker.kill()

    def close(self) -> None:
        """Kill all workers and wait for their threads. The caller must not hold the lock."""
        with self._changed:
            self._closed = True
            workers = list(self._task_of)
        for worker in workers:
            worker.kill()
        for worker in workers:
            worker.join(self._limits.kill_seconds)

    def _warm(self) -> Worker | None:
        idle = (worker for worker, task in self._task_of.items() if task is None and worker.ready)
        return next(idle, None)

    def _workers_of(self, task: Task) -> list[Worker]:
        return [worker for worker, busy_with in self._task_of.items() if busy_with is task]

    def _wants_worker(self, waiting: int) -> bool:
        free = sum(task is None for task in self._task_of.values())
        has_slot = len(self._task_of) < self._limits.slots
        return has_slot and free < max(1, waiting) and not self.cannot_start

    def _give_up(self, worker: Worker, task: Task) -> None:
        """Kill a worker that has neither ended its task in time nor reported why not."""
        with self._changed:
            if task.state in HAS_WORKER:
                task.fail("failed", "run_too_long", limit=self._limits.caps.seconds)
                self._changed.notify_all()
        worker.kill()

    def _on_line(self, worker: Worker, line: str) -> None:
        event = _event(line)  # parsed before the lock is taken: snapshots are long
        with self._changed:
            task = self._task_of.get(worker)
            if task is not None:
                if task.report(line, event):
                    # Its last event is here; a process that still does not exit is stuck.
                    self._deadlines.set(worker, self._limits.kill_seconds, worker.kill)
            elif '"ready"' in line:
                worker.ready = True
                self._deadlines.cancel(worker)
                self._failed_starts = 0
                self._on_free()
            self._changed.notify_all()

    def _on_exit(self, worker: Worker) -> None:
        self._deadlines.cancel(worker)
        with self._changed:
            task = self._task_of.pop(worker, None)
            if task is not None:
                # A task that was paused and resumed may have its next worker before the old one
                # has exited: only the exit of its last worker says something about it.
                if not self.is_busy_with(task):
                    self._on_end(task)
            elif not worker.ready:
                self._failed_starts += 1
            self._on_free()
            self._changed.notify_all()


def _event(line: str) -> Event | None:
    try:
        return from_json(line)
    except OwiError:
        return None
