"""The tasks that wait for a worker, in the order in which they get one."""

from collections import deque

from owi_core.jobs.tasks import Task


class TaskQueue:
    """First come, first served. Guarded by the manager's lock."""

    def __init__(self) -> None:
        self._waiting: deque[Task] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, task: Task) -> None:
        self._waiting.append(task)

    def pop(self) -> Task:
        """Remove and return the next task; raises IndexError when none waits."""
        return self._waiting.popleft()

    def remove(self, task: Task) -> None:
        """Take a task out of the queue, if it waits there."""
        if task in self._waiting:
            self._waiting.remove(task)

    def place(self, task: Task) -> int:
        """Return 1 for the next task, 0 for one that does not wait."""
        return self._waiting.index(task) + 1 if task in self._waiting else 0
