"""How much memory a process takes up."""

import os
import sys
from contextlib import suppress
from pathlib import Path


def memory_mb(pid: int | None = None) -> float:
    """Return the resident memory of this process (its peak, where only that is known).

    pid: another process instead; 0 where it is gone or the system does not report it.
    """
    with suppress(OSError, ValueError, AttributeError):
        pages = int(Path(f"/proc/{pid or 'self'}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
    if pid is not None:
        return 0.0
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    unit = 2**20 if sys.platform == "darwin" else 2**10  # bytes there, kilobytes on Linux
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
