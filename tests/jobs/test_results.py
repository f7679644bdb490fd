"""Results on disk: which one is found again, and which one a quota deletes."""

from pathlib import Path

import pytest

from owi_core.errors import RunError
from owi_core.events import Finished
from owi_core.jobs.results import MEGABYTE, Results
from owi_core.jobs.tasks import State, Task
from tests.jobs.conftest import LIMITS


class Shelf:
    """Results in a folder; `busy` are the tasks that a worker still writes."""

    def __init__(self, root: Path) -> None:
        self.busy: list[Task] = []
        self.results = Results(root, LIMITS, self.busy.__contains__)

    def add(
        self, recipe: str = "r", owner: str = "", state: State = "finished", mb: float = 1
    ) -> Task:
        task = Task("fake", {}, (recipe, owner), self.results.new_folder(), set(), state=state)
        (task.folder / "model.safetensors").write_bytes(b"\0" * int(mb * MEGABYTE))
        self.results.add(task)
        self.results.note_use(task)
        return task

    def kept(self, *tasks: Task) -> list[bool]:
        return [task in self.results and task.folder.exists() for task in tasks]


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def test_the_newest_result_of_a_recipe_is_found(shelf: Shelf) -> None:
    shelf.add()
    newest = shelf.add()
    shelf.add("other")
    assert shelf.results.find(("r", "")) is newest


@pytest.mark.parametrize("state", ["stopped", "failed", "lost", "paused"])
def test_a_result_that_another_run_would_not_repeat_is_not_found(
    shelf: Shelf, state: State
) -> None:
    shelf.add(state=state)
    assert shelf.results.find(("r", "")) is None


def test_a_private_result_is_found_by_its_owner_alone(shelf: Shelf) -> None:
    mine = shelf.add(owner="a")
    assert shelf.results.find(("r", "a")) is mine
    assert shelf.results.find(("r", "b")) is None
    assert shelf.results.find(("r", "")) is None


def test_the_least_recently_used_result_is_deleted_first(shelf: Shelf) -> None:
    first, second, third = (shelf.add(str(n), mb=80) for n in range(3))
    shelf.results.note_use(first)
    shelf.results.settle(third)
    assert shelf.kept(first, second, third) == [True, False, True]


def test_a_result_that_a_session_watches_is_deleted_last(shelf: Shelf) -> None:
    first, second, third = (shelf.add(str(n), mb=80) for n in range(3))
    first.watchers.add("a")
    shelf.results.settle(third)
    assert shelf.kept(first, second, third) == [True, False, True]


def test_each_owner_has_a_quota_of_its_own(shelf: Shelf) -> None:
    tasks = [shelf.add(str(n), owner, mb=30) for n, owner in enumerate(["", "", "a", "b", "b"])]
    shelf.results.settle(tasks[-1])
    assert shelf.kept(*tasks) == [True, True, True, False, True]


def test_a_result_larger_than_its_quota_stays_while_it_is_the_only_one(shelf: Shelf) -> None:
    only = shelf.add(owner="a", mb=50)
    shelf.results.settle(only)
    assert shelf.kept(only) == [True]


def test_a_folder_is_deleted_only_when_its_worker_has_ended(shelf: Shelf) -> None:
    task = shelf.add()
    shelf.busy.append(task)
    shelf.results.forget(task)
    assert task.folder.exists()
    shelf.busy.clear()
    shelf.results.settle(task)
    assert not task.folder.exists()


def test_a_disk_that_takes_no_folder_has_a_code(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="disk_full"):
        Shelf(tmp_path / "absent").results.new_folder()


def test_a_training_takes_as_long_as_the_newest_one_of_its_recipe_took(shelf: Shelf) -> None:
    assert shelf.results.seconds_of(("r", "")) is None
    for recipe, seconds in (("r", 7.5), ("r", 5.25), ("other", 90.0)):
        shelf.add(recipe).latest[Finished] = Finished("fake", {}, {"train_seconds": seconds}, {})
    shelf.add()  # still under way: it says nothing yet
    shelf.add("no-training").latest[Finished] = Finished("fake", {}, {}, {})
    assert shelf.results.seconds_of(("r", "")) == 5.25
    assert shelf.results.seconds_of(("r", "someone")) is None
    assert shelf.results.seconds_of(("no-training", "")) is None
