"""The largest amount of memory that a call held at one time, as torch's allocator counts it."""

from collections.abc import Callable

from torch.autograd.profiler import profile

from owi_core.process import quiet_profiler


def peak_bytes(work: Callable[[], object]) -> int:
    """Return the highest sum of what `work` had allocated and not yet freed.

    Memory allocated before it does not count; scratch space inside torch's kernels does.
    """
    quiet_profiler()
    with profile(profile_memory=True) as seen:
        work()
    kineto = seen.kineto_results
    assert kineto is not None
    changes = [(e.start_ns(), e.nbytes()) for e in kineto.events() if e.name() == "[memory]"]
    # A running sum of allocations (positive) and frees (negative), in the order of time.
    held = most = 0
    for _, change in sorted(changes, key=lambda at: at[0]):
        held += change
        most = max(most, held)
    return most
