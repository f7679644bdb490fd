"""What goes on in this server, for its teacher: counts and sizes, no names and no words."""

from dataclasses import dataclass

from streamlit import runtime

from owi_core.events import Started, StepDone
from owi_core.jobs.manager import JobManager
from owi_core.jobs.memory import memory_mb
from owi_core.jobs.tasks import ENDED, HAS_WORKER, State, Task

SESSIONS = "active_sessions"


@dataclass(frozen=True)
class Training:
    """One run that has not ended: its lab, its progress, the memory of its worker.

    place: its place in the queue, 0 where it is not in it.  memory_mb: 0 without a worker.
    """

    number: int
    experiment: str
    state: State
    step: int
    steps: int
    place: int
    memory_mb: float


@dataclass(frozen=True)
class Overview:
    """The whole server at one moment; sessions: None where Streamlit does not report it."""

    sessions: int | None
    slots: int
    trainings: tuple[Training, ...]
    ended: int
    server_mb: float
    workers_mb: tuple[float, ...]
    seconds: float

    @property
    def running(self) -> int:
        return sum(training.state in HAS_WORKER for training in self.trainings)

    @property
    def waiting(self) -> int:
        return sum(training.place > 0 for training in self.trainings)


def overview(manager: JobManager) -> Overview:
    """Look at the server and change nothing."""
    pids = manager.pids()
    worker_of = {number: pid for pid, number in pids.items()}
    tasks = manager.tasks()
    going_on = [task for task in tasks if task.state not in ENDED]
    return Overview(
        sessions=_sessions(),
        slots=manager.limits.slots,
        trainings=tuple(
            _training(task, manager.queue_position(task), worker_of.get(task.number))
            for task in going_on
        ),
        ended=len(tasks) - len(going_on),
        server_mb=memory_mb(),
        workers_mb=tuple(memory_mb(pid) for pid in pids),
        seconds=manager.seconds_up,
    )


def _training(task: Task, place: int, pid: int | None) -> Training:
    done, started = task.latest.get(StepDone), task.latest.get(Started)
    step = done.step if isinstance(done, StepDone) else 0
    steps = started.steps if isinstance(started, Started) else 0
    size = 0.0 if pid is None else memory_mb(pid)
    return Training(task.number, task.experiment, task.state, step, steps, place, size)


def _sessions() -> int | None:
    """Return how many browsers are connected, as Streamlit's own measure has it."""
    if not runtime.exists():
        return None
    stats = runtime.get_instance().stats_mgr.get_stats([SESSIONS]).get(SESSIONS, ())
    return sum(int(getattr(stat, "value", 0)) for stat in stats) if stats else None
