"""The most memory that a piece of work held at one time, as torch's allocator saw it."""

import os
from collections.abc import Callable

from torch.autograd.profiler import profile


def peak_bytes(work: Callable[[], object]) -> int:
    """Return the highest sum of what `work` had allocated and not yet freed.

    What was there before it began does not count; scratch space inside torch's kernels does.
    """
    # The profiler announces its start and its end on standard error; here that is no news.
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
    with profile(profile_memory=True) as seen:
        work()
    kineto = seen.kineto_results
    assert kineto is not None
    changes = [(e.start_ns(), e.nbytes()) for e in kineto.events() if e.name() == "[memory]"]
    held = most = 0
    for _, change in sorted(changes, key=lambda at: at[0]):
        held += change
        most = max(most, held)
    return most
