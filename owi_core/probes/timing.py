"""How long a computation takes by its length, measured up to a cap of time or memory."""

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

Work = Callable[[], object]
Clock = Callable[[], float]
Reason = Literal["", "time", "memory"]

REPEATS = 3


@dataclass(frozen=True)
class Sweep:
    """CPU seconds at each length that was reached, and where and why the sweep ended early.

    stopped_at: the first length that was not measured; None when all were.
    slope: the exponent p of seconds ~ lengthᵖ over the upper half; NaN with fewer than two points.
    """

    lengths: tuple[int, ...]
    seconds: tuple[float, ...]
    stopped: Reason
    stopped_at: int | None
    slope: float


def sweep(
    make: Callable[[int], Work],
    lengths: Sequence[int],
    *,
    cap_seconds: float,
    cap_bytes: int,
    bytes_of: Callable[[int], int],
    repeats: int = REPEATS,
    clock: Clock = time.process_time,
) -> Sweep:
    """Return the time of `make(length)()` at each of the rising `lengths`, as far as the caps go.

    make: prepares the work of one length; the preparing counts for the cap, not for the time.
    bytes_of: the memory that a length needs; called before anything is allocated.
    cap_seconds and all measured times are CPU time of this process: other processes on a busy
    machine slow down wall-clock time, and CPU time hardly.
    The next length is left out when its warm-up and repetitions, predicted from the last two
    lengths, would take more than what is left.
    """
    began, done, seconds = clock(), list[int](), list[float]()
    stopped: Reason = ""
    stopped_at = None
    for length in lengths:
        stopped = "memory" if bytes_of(length) > cap_bytes else ""
        stopped = stopped or _out_of_time(
            length, done, seconds, cap_seconds - (clock() - began), repeats
        )
        if stopped:
            stopped_at = length
            break
        done.append(length)
        seconds.append(cpu_seconds(make(length), repeats=repeats, clock=clock))
    return Sweep(tuple(done), tuple(seconds), stopped, stopped_at, slope(done, seconds))


def cpu_seconds(work: Work, *, repeats: int = REPEATS, clock: Clock = time.process_time) -> float:
    """Return the median CPU time of `repeats` calls after a warm-up call."""
    # The first call allocates and fills caches; the median ignores one disturbed call.
    work()
    taken = []
    for _ in range(repeats):
        began = clock()
        work()
        taken.append(clock() - began)
    return statistics.median(taken)


def slope(lengths: Sequence[int], seconds: Sequence[float]) -> float:
    """Return the least-squares slope of log seconds over log length, upper half of the points.

    1 is linear, 2 is quadratic.  NaN with fewer than two points or a time of 0.
    """
    # The upper half: at small lengths a constant overhead hides the power.
    n = max(2, math.ceil(len(lengths) / 2))
    x, y = lengths[-n:], seconds[-n:]
    if len(x) < 2 or min(y) <= 0:
        return math.nan
    return statistics.linear_regression([math.log(t) for t in x], [math.log(s) for s in y]).slope


def _out_of_time(
    length: int, done: list[int], seconds: list[float], seconds_left: float, repeats: int
) -> Reason:
    """Return "time" when measuring `length` is predicted to take longer than what is left."""
    if seconds_left <= 0:
        return "time"
    if not done:
        return ""
    growth = slope(done[-2:], seconds[-2:])
    # At least linear: two short lengths may measure as equal, and predict no growth at all.
    growth = max(1.0, growth) if math.isfinite(growth) else 1.0
    # + 1: the warm-up call takes as long as a measured one.
    one = seconds[-1] * (length / done[-1]) ** growth
    return "time" if one * (repeats + 1) > seconds_left else ""
