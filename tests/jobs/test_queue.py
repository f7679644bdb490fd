"""The order in which tasks get a worker."""

from pathlib import Path

import pytest

from owi_core.jobs.queue import TaskQueue
from owi_core.jobs.tasks import Task


def task() -> Task:
    return Task("fake", {}, ("recipe", ""), Path(), set())


def test_first_come_is_first_served() -> None:
    queue, tasks = TaskQueue(), [task() for _ in range(3)]
    for each in tasks:
        queue.add(each)
    assert [queue.place(each) for each in tasks] == [1, 2, 3]
    assert [queue.pop() for _ in range(3)] == tasks


def test_a_task_that_leaves_moves_the_others_up() -> None:
    queue, tasks = TaskQueue(), [task() for _ in range(3)]
    for each in tasks:
        queue.add(each)
    queue.remove(tasks[1])
    assert [queue.place(each) for each in tasks] == [1, 0, 2]
    assert len(queue) == 2


def test_a_task_that_does_not_wait_has_no_place_and_may_be_removed() -> None:
    queue, other = TaskQueue(), task()
    queue.remove(other)
    assert queue.place(other) == 0
    with pytest.raises(IndexError):
        queue.pop()
