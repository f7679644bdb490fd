"""What sessions may use, together and one by one. The server that makes the engine decides."""

from dataclasses import dataclass

from owi_core.jobs.messages import Caps


@dataclass(frozen=True)
class Limits:
    """What sessions may use. A value that a server can set has no default here."""

    slots: int  # workers at the same time, warm or busy
    nice: int  # how far a worker's priority is below that of the pages
    shared_mb: float  # results on disk that all sessions share
    private_mb: float  # results on disk that one session keeps for itself
    # A dropped connection may come back: its runs end after this time, its results only after
    # `keep_seconds`.
    grace_seconds: float
    caps: Caps
    keep_seconds: float = 150.0
    unfinished_per_session: int = 4
    ended_per_session: int = 8
    # A worker that is not warm by then hangs; on a busy machine torch alone takes half a minute.
    start_seconds: float = 180.0
    kill_seconds: float = 2.0
    pause_seconds: float = 10.0
