"""Who may train when: the one object through which pages reach queue, workers and results.

    JobManager    the state of each task, and the one lock
    ├ TaskQueue   which task is next
    ├ WorkerPool  which worker does what
    ├ Results     what is on disk, and what is deleted
    └ Sessions    who holds which runs, and who has left

No call waits for a worker: a page asks again for what has changed. Pages, the threads that read
the workers and the thread of the deadlines call from everywhere, so that every method takes the
one lock, `_changed`; the parts below are only touched while it is held.
"""

import atexit
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from owi_core.jobs.deadlines import Deadlines
from owi_core.jobs.limits import Limits
from owi_core.jobs.pool import WorkerPool
from owi_core.jobs.queue import TaskQueue
from owi_core.jobs.results import Results
from owi_core.jobs.root_folder import RootFolder, sweep
from owi_core.jobs.runs import Run
from owi_core.jobs.sessions import Sessions
from owi_core.jobs.tasks import ENDED, HAS_WORKER, Key, State, Task
from owi_core.jobs.worker_process import Start, start_worker

Recipe = Callable[[str, Mapping[str, Any]], str]


class JobManager:
    """Hands trainings to worker processes, first come, first served."""

    def __init__(self, recipe: Recipe, limits: Limits, start: Start | None = None) -> None:
        """recipe: experiment and parameters → the same text where the result would be the same."""
        self.limits = limits
        self._recipe = recipe
        # Reentrant: one method calls another, and a callback of the pool comes with the lock held.
        self._changed = threading.Condition(threading.RLock())
        self._began = time.monotonic()
        self._deadlines = Deadlines()
        sweep()
        self._root = RootFolder()
        self.root = self._root.path
        self._queue = TaskQueue()
        self._pool = WorkerPool(
            limits,
            start or partial(start_worker, limits.nice),
            self._deadlines,
            self._changed,
            on_end=self._settle,
            on_free=self._dispatch,
        )
        self._results = Results(self.root, limits, self._pool.is_busy_with)
        self._sessions = Sessions(self.root, limits, self._deadlines)
        atexit.register(self.close)
        with self._changed:
            self._dispatch()

    # What a session may ask for

    def submit(
        self,
        experiment: str,
        params: Mapping[str, Any],
        session: str,
        *,
        private: bool = False,
        fresh: bool = False,
    ) -> Run:
        """Queue a training, or share the one of the same recipe that exists already.

        private: other sessions never share it.  fresh: train even if a result is stored.
        Raises RunError("too_many_runs", limit) and RunError("disk_full").
        """
        key = (self._recipe(experiment, params), session if private else "")
        with self._changed:
            self.touch(session)
            stored = None if fresh else self._results.find(key)
            task = stored or self._new_task(experiment, params, key, session)
            self._results.note_use(task)
            task.watchers.add(session)
            run = Run(self, task, session, shared=stored is not None)
            self._sessions.add(run)
            self._pool.try_again()
            self._dispatch()
            return run

    def has(self, experiment: str, params: Mapping[str, Any]) -> bool:
        """Return whether `submit` would share a training that exists, instead of queueing one."""
        key = (self._recipe(experiment, params), "")
        with self._changed:
            return self._results.find(key) is not None

    def seconds_of(self, experiment: str, params: Mapping[str, Any]) -> float | None:
        """Return how long this training took on this server; None if none is stored."""
        key = (self._recipe(experiment, params), "")
        with self._changed:
            return self._results.seconds_of(key)

    def runs(self, session: str) -> list[Run]:
        """Return what a session has started or shared, oldest first."""
        with self._changed:
            return self._sessions.runs(session)

    def join(self, session: str, by: str) -> list[Run]:
        """Let another session hold the runs of a session as well; return its holds on them."""
        with self._changed:
            self.touch(by)
            for run in self._sessions.join(session):
                run.task.watchers.add(by)
                self._sessions.add(Run(self, run.task, by, run.shared))
            return self._sessions.runs(by)

    def pause(self, task: Task) -> bool:
        """Save a run and free its slot; False if others watch it or it is not under way."""
        with self._changed:
            if len(self._watching(task)) > 1 or task.state not in ("queued", "running"):
                return False
            if task.state == "running" and task.begun:
                self._set(task, "pausing")
                self._pool.ask(task, "pause", self.limits.pause_seconds)
                return True
            # Nothing is trained yet, so nothing is lost: it simply begins again later.
            self._withdraw(task, "paused")
            return True

    def resume(self, task: Task) -> bool:
        """Queue a paused run again, behind those that wait; False if it is not paused."""
        with self._changed:
            if task.state != "paused":
                return False
            self._queue.add(task)
            self._set(task, "queued")
            self._pool.try_again()
            self._dispatch()
            return True

    def stop(self, task: Task, session: str) -> bool:
        """End a run. True: other sessions watch it, so this one only leaves it."""
        with self._changed:
            if task.state in ENDED:
                return False
            task.watchers.discard(session)
            if self._watching(task):
                return True
            task.watchers.add(session)
            self._end(task)
            return False

    def others(self, task: Task, session: str) -> int:
        """Return how many other sessions watch a task; a reader's own lost session is none."""
        with self._changed:
            return len(self._watching(task) - {session})

    def queue_position(self, task: Task) -> int:
        """Return 1 for the next task, 0 for one that does not wait."""
        with self._changed:
            return self._queue.place(task)

    def session_folder(self, session: str) -> Path:
        """Return a folder for a session's own files; it is deleted with the session."""
        return self._sessions.folder(session)

    # The life of a session

    def touch(self, session: str) -> None:
        """Note that a session is present; this cancels `leave`."""
        self._sessions.touch(session)

    def leave(self, session: str) -> None:
        """Note that a connection is gone: the runs end, then the results go, unless it returns."""
        self._sessions.leave(
            session, partial(self._end_runs, session), partial(self.release, session)
        )

    def release(self, session: str) -> None:
        """Forget a session now: its runs, its private results, its folder."""
        self.touch(session)
        with self._changed:
            for run in self._sessions.remove(session):
                self._unwatch(run)

    # The whole server

    def wait(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Block until the condition holds or the time is over; for tests and scripts."""
        with self._changed:
            return self._changed.wait_for(condition, seconds)

    def pids(self) -> dict[int, int | None]:
        """Return the workers' process ids, each with the number of the run that it does."""
        with self._changed:
            return self._pool.pids()

    def tasks(self) -> tuple[Task, ...]:
        """Return all trainings whose results exist or are still to come, oldest first."""
        with self._changed:
            return self._results.tasks()

    @property
    def seconds_up(self) -> float:
        return time.monotonic() - self._began

    def idle(self) -> bool:
        """Return whether no run goes on and a worker is warm."""
        with self._changed:
            return self._pool.idle

    def close(self) -> None:
        """End every worker and thread, and delete every file."""
        atexit.unregister(self.close)
        # Not under the lock: each thread that is waited for may want it before it ends.
        self._deadlines.close()
        self._pool.close()
        self._root.delete()

    # Tasks (the lock is held from here on)

    def _new_task(self, experiment: str, params: Mapping[str, Any], key: Key, session: str) -> Task:
        for run in self._sessions.make_room(session):
            self._unwatch(run)
        task = Task(experiment, dict(params), key, self._results.new_folder(), {session})
        self._results.add(task)
        self._queue.add(task)
        return task

    def _dispatch(self) -> None:
        """Give waiting tasks to warm workers, and let the pool start what is missing."""
        while self._queue and self._pool.has_warm:
            task = self._queue.pop()
            self._pool.assign(task)
            self._set(task, "running")
        self._pool.fill(len(self._queue))
        # Say so instead of letting the tasks wait for ever.
        while self._queue and self._pool.cannot_start:
            self._queue.pop().fail("failed", "worker_not_started")

    def _settle(self, task: Task) -> None:
        """Decide the state of a task whose worker has exited, where it did not report it."""
        if task.state == "stopping":
            task.state = "stopped"
        elif task.state in HAS_WORKER:
            task.fail("lost", "worker_lost")
        self._results.settle(task)

    def _set(self, task: Task, state: State) -> None:
        task.state = state
        self._changed.notify_all()

    def _end(self, task: Task) -> None:
        """Stop a task, whatever its state."""
        if task.state in ("running", "pausing") and task.begun:
            self._set(task, "stopping")
            self._pool.ask(task, "stop", self.limits.kill_seconds)
        elif task.state in ("queued", "paused", "running"):
            self._withdraw(task, "stopped")

    def _withdraw(self, task: Task, state: State) -> None:
        """Take a task that has not begun from the queue or from its worker."""
        self._queue.remove(task)
        # The state first: the exit of the worker must not look like a loss.
        self._set(task, state)
        self._pool.kill(task)

    def _end_runs(self, session: str) -> None:
        """Free the slots of a session that is away; its paused runs stay until it is released."""
        with self._changed:
            for run in self._sessions.runs(session):
                if run.under_way:
                    run.stop()

    def _watching(self, task: Task) -> set[str]:
        return {each for each in task.watchers if not self._sessions.is_succeeded(each)}

    def _unwatch(self, run: Run) -> None:
        """Let a session's run go; a task without watchers goes too, unless others may share it."""
        task = run.task
        task.watchers.discard(run.session)
        if task.watchers or task not in self._results:
            return
        if task.private or task.state not in ("finished", "diverged"):
            self._end(task)
            self._results.forget(task)
