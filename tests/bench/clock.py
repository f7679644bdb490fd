"""CPU time of pieces of work in turns, so that all of them see the same machine."""

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

Work = Callable[[], Any]


def in_turns(works: Mapping[str, Work], rounds: int, repeats: int = 1) -> dict[str, list[float]]:
    """Return the CPU seconds of each work in each round, after one call that warms up.

    repeats: calls within one measurement, for works shorter than a few milliseconds; the time is
    that of one call.
    """
    for work in works.values():
        work()
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            began = time.process_time()
            for _ in range(repeats):
                work()
            seconds[name].append((time.process_time() - began) / repeats)
    return seconds


def ratio(seconds: Mapping[str, list[float]], name: str, to: str) -> float:
    """Return the median over the rounds of one work's time over another's."""
    pairs = zip(seconds[name], seconds[to], strict=True)
    return statistics.median(ours / theirs for ours, theirs in pairs)
