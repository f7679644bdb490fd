"""Who may train when: a queue, a few worker processes, results that are shared or private.

No page waits here: every call returns at once, and a page asks again for what has changed.
"""

import atexit
import shutil
import tempfile
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from owi_core.errors import OwiError, RunError
from owi_core.events import Event, from_json
from owi_core.jobs.deadlines import Deadlines
from owi_core.jobs.limits import Limits
from owi_core.jobs.root_folder import RootFolder, sweep
from owi_core.jobs.runs import Run
from owi_core.jobs.tasks import ENDED, HAS_WORKER, SHAREABLE, State, Task
from owi_core.jobs.worker_process import Start, Worker, start_worker

Recipe = Callable[[str, Mapping[str, Any]], str]
MEGABYTE = 2**20


class JobManager:
    """Hands trainings to worker processes, first come, first served."""

    def __init__(self, recipe: Recipe, limits: Limits, start: Start | None = None) -> None:
        self.limits = limits
        self._recipe = recipe
        self._start = start or partial(start_worker, limits.nice)
        self._changed = threading.Condition(threading.RLock())
        self._queue: deque[Task] = deque()
        self._tasks: list[Task] = []
        self._runs: defaultdict[str, list[Run]] = defaultdict(list)
        self._workers: dict[Worker, Task | None] = {}
        self._failed_starts = 0
        self._clock = 0
        self._closed = False
        self._began = time.monotonic()
        self._deadlines = Deadlines()
        sweep()
        self._root = RootFolder()
        self.root = self._root.path
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
        """Queue a training, or share the one of the same recipe that is there already.

        private: other sessions never share it.  fresh: train even if a result is stored.
        Raises RunError("too_many_runs", limit) and RunError("disk_full").
        """
        key = (self._recipe(experiment, params), session if private else "")
        with self._changed:
            self.touch(session)
            task = None if fresh else self._stored(key)
            shared = task is not None
            if task is None:
                self._make_room(session)
                folder = self._new_folder()
                task = Task(experiment, dict(params), key, folder, private, {session})
                self._tasks.append(task)
                self._queue.append(task)
            self._use(task)
            task.watchers.add(session)
            run = Run(self, task, session, shared)
            self._runs[session].append(run)
            self._failed_starts = 0
            self._dispatch()
            return run

    def runs(self, session: str) -> list[Run]:
        """What a session has started or shared, oldest first."""
        with self._changed:
            return list(self._runs.get(session, ()))

    def pause(self, task: Task) -> bool:
        with self._changed:
            if len(task.watchers) > 1 or task.state not in ("queued", "running"):
                return False
            if task.state == "queued":
                self._queue.remove(task)
                self._set(task, "paused")
                return True
            if task.begun:
                self._set(task, "pausing")
                self._ask(task, "pause", self.limits.pause_seconds)
            else:
                self._set(task, "paused")
                self._kill(task)
            return True

    def resume(self, task: Task) -> bool:
        with self._changed:
            if task.state != "paused":
                return False
            self._queue.append(task)
            self._set(task, "queued")
            self._dispatch()
            return True

    def stop(self, task: Task, session: str) -> bool:
        """End a run, or leave it while others watch: then the answer is True."""
        with self._changed:
            if task.state in ENDED:
                return False
            task.watchers.discard(session)
            if task.watchers:
                return True
            task.watchers.add(session)
            self._end(task)
            return False

    def queue_position(self, task: Task) -> int:
        with self._changed:
            return self._queue.index(task) + 1 if task in self._queue else 0

    def session_folder(self, session: str) -> Path:
        """A folder for what a session brings along; it goes when the session goes."""
        folder = self.root / f"session-{session}"
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise RunError("disk_full") from error
        return folder

    # The life of a session

    def touch(self, session: str) -> None:
        """It is there: call off what `leave` has set going."""
        self._deadlines.cancel(("end", session))
        self._deadlines.cancel(("drop", session))

    def leave(self, session: str) -> None:
        """Its connection is gone: end its runs, then drop its results, unless it comes back."""
        end, drop = self.limits.grace_seconds, self.limits.keep_seconds
        self._deadlines.set(("end", session), end, lambda: self._end_runs(session))
        self._deadlines.set(("drop", session), drop, lambda: self.release(session))

    def release(self, session: str) -> None:
        """Forget a session now: its runs, its private results, its folder."""
        self.touch(session)
        with self._changed:
            for run in self._runs.pop(session, ()):
                self._unwatch(run)
            shutil.rmtree(self.root / f"session-{session}", ignore_errors=True)

    def wait(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Block until the condition holds or the time is over; for tests and scripts."""
        with self._changed:
            return self._changed.wait_for(condition, seconds)

    def pids(self) -> dict[int, int | None]:
        """The workers' process ids, and the run that each is busy with."""
        with self._changed:
            busy = self._workers.items()
            return {worker.pid: task.number if task else None for worker, task in busy}

    def tasks(self) -> tuple[Task, ...]:
        """All trainings whose results are here or still to come, oldest first."""
        with self._changed:
            return tuple(self._tasks)

    @property
    def seconds_up(self) -> float:
        return time.monotonic() - self._began

    def idle(self) -> bool:
        """Is nobody training, and a warm worker there?"""
        with self._changed:
            return any(w.ready for w in self._workers) and not any(self._workers.values())

    def close(self) -> None:
        """End every worker and thread, and delete every file."""
        atexit.unregister(self.close)
        with self._changed:
            self._closed = True
            workers = list(self._workers)
        self._deadlines.close()
        for worker in workers:
            worker.kill()
        for worker in workers:
            worker.join(self.limits.kill_seconds)
        self._root.delete()

    # Workers (the lock is held from here on, except in what a worker's thread calls)

    def _dispatch(self) -> None:
        """Give waiting tasks to warm workers, and keep one more warm where slots allow."""
        while self._queue and (worker := self._warm()) is not None:
            self._assign(self._queue.popleft(), worker)
        while not self._closed and self._wants_worker():
            try:
                worker = Worker(self._start, self._on_line, self._on_exit)
            except OSError:
                self._note_failed_start()
                return
            self._workers[worker] = None
            self._deadlines.set(worker, self.limits.start_seconds, worker.kill)

    def _warm(self) -> Worker | None:
        idle = (w for w, task in self._workers.items() if task is None and w.ready)
        return next(idle, None)

    def _wants_worker(self) -> bool:
        free = sum(task is None for task in self._workers.values())
        has_slot = len(self._workers) < self.limits.slots
        return has_slot and free < max(1, len(self._queue)) and self._failed_starts < 2

    def _assign(self, task: Task, worker: Worker) -> None:
        self._workers[worker] = task
        task.begun = False
        self._set(task, "running")
        worker.send(task.job(self.limits.caps).to_json())
        # It watches its own time; one that hangs as a whole, or is held, is ended from here.
        patience = self.limits.caps.seconds + self.limits.pause_seconds
        self._deadlines.set(worker, patience, lambda: self._give_up(worker, task))

    def _give_up(self, worker: Worker, task: Task) -> None:
        """End a worker that has not ended its run in time, nor said that it cannot."""
        with self._changed:
            if task.state in HAS_WORKER:
                task.fail("failed", "run_too_long", limit=self.limits.caps.seconds)
                self._changed.notify_all()
        worker.kill()

    def _ask(self, task: Task, wish: str, seconds: float) -> None:
        """Ask a task's worker; end it when it does not heed in time."""
        for worker, busy_with in self._workers.items():
            if busy_with is task:
                worker.ask(wish)
                self._deadlines.set(worker, seconds, worker.kill)

    def _kill(self, task: Task) -> None:
        """End the worker of a task that only prepares: it listens to nobody yet."""
        for worker, busy_with in self._workers.items():
            if busy_with is task:
                worker.kill()

    def _on_line(self, worker: Worker, line: str) -> None:
        try:
            event = from_json(line)
        except OwiError:
            event = None
        with self._changed:
            task = self._workers.get(worker)
            if task is not None:
                self._take(worker, task, line, event)
            elif '"ready"' in line:
                worker.ready = True
                self._deadlines.cancel(worker)
                self._failed_starts = 0
                self._dispatch()
            self._changed.notify_all()

    def _take(self, worker: Worker, task: Task, line: str, event: Event | None) -> None:
        if event is None:
            task.skipped += 1
        elif task.state in HAS_WORKER and task.take(line, event):
            self._deadlines.set(worker, self.limits.kill_seconds, worker.kill)

    def _on_exit(self, worker: Worker) -> None:
        self._deadlines.cancel(worker)
        with self._changed:
            task = self._workers.pop(worker, None)
            if task is not None:
                self._settle(task)
            elif not worker.ready:
                self._note_failed_start()
            self._dispatch()
            self._changed.notify_all()

    def _settle(self, task: Task) -> None:
        """A task's worker has ended: whatever it left unsaid is decided here."""
        if task.state == "stopping":
            task.state = "stopped"
        elif task.state in HAS_WORKER:
            task.fail("lost", "worker_lost")
        if task not in self._tasks:
            shutil.rmtree(task.folder, ignore_errors=True)
        self._keep_quota()

    def _note_failed_start(self) -> None:
        """Two workers in a row that never got warm: say so instead of trying for ever."""
        self._failed_starts += 1
        if self._failed_starts >= 2:
            while self._queue:
                self._queue.popleft().fail("failed", "worker_not_started")

    # Tasks

    def _new_folder(self) -> Path:
        try:
            return Path(tempfile.mkdtemp(prefix="run-", dir=self.root))
        except OSError as error:
            raise RunError("disk_full") from error

    def _stored(self, key: tuple[str, str]) -> Task | None:
        same = (t for t in reversed(self._tasks) if t.key == key and t.state in SHAREABLE)
        return next(same, None)

    def _use(self, task: Task) -> None:
        self._clock += 1
        task.used = self._clock

    def _set(self, task: Task, state: State) -> None:
        task.state = state
        self._changed.notify_all()

    def _end(self, task: Task) -> None:
        """Stop a task in whatever state it is."""
        if task.state in ("running", "pausing") and task.begun:
            self._set(task, "stopping")
            self._ask(task, "stop", self.limits.kill_seconds)
        elif task.state == "running":
            self._set(task, "stopped")
            self._kill(task)
        elif task.state in ("queued", "paused"):
            if task in self._queue:
                self._queue.remove(task)
            self._set(task, "stopped")

    def _end_runs(self, session: str) -> None:
        """Free what a session that is away holds; what it had paused stays for a while."""
        with self._changed:
            for run in self._runs.get(session, ()):
                if run.under_way:
                    run.stop()

    def _unwatch(self, run: Run) -> None:
        """A session lets go of a run; nobody left to see it, it goes, unless it can be shared."""
        task = run._task
        task.watchers.discard(run.session)
        if task.watchers or task not in self._tasks:
            return
        if task.private or task.state not in ("finished", "diverged"):
            self._end(task)
            self._forget(task)

    def _forget(self, task: Task) -> None:
        self._tasks.remove(task)
        if task not in self._workers.values():
            shutil.rmtree(task.folder, ignore_errors=True)

    def _make_room(self, session: str) -> None:
        """Refuse one unfinished run too many; let go of the oldest of too many ended ones."""
        runs = self._runs[session]
        unfinished = sum(run.state not in ENDED for run in runs)
        if unfinished >= self.limits.unfinished_per_session:
            raise RunError("too_many_runs", limit=self.limits.unfinished_per_session)
        ended = [run for run in runs if run.state in ENDED]
        for run in ended[: -self.limits.ended_per_session]:
            runs.remove(run)
            self._unwatch(run)

    def _keep_quota(self) -> None:
        """Delete the results that were not used for longest, first those that nobody watches."""
        pools: defaultdict[str, list[Task]] = defaultdict(list)
        for task in self._tasks:
            if task.state in ENDED:
                pools[task.key[1]].append(task)
        for owner, pool in pools.items():
            limit = self.limits.private_mb if owner else self.limits.shared_mb
            self._shrink(pool, limit * MEGABYTE)

    def _shrink(self, pool: list[Task], limit: float) -> None:
        pool.sort(key=lambda task: (bool(task.watchers), task.used))
        sizes = [task.size for task in pool]
        total = sum(sizes)
        for task, size in list(zip(pool, sizes, strict=True))[:-1]:
            if total <= limit:
                return
            total -= size
            self._forget(task)
