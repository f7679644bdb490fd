"""What sessions may take up, together and one by one, as far as a server does not say otherwise."""

from dataclasses import dataclass, field
from typing import Any

from owi_core.jobs.worker import Caps
from pages._ui.base import settings


def _set(name: str) -> Any:
    """A field that starts from a setting of the server."""
    return field(default_factory=lambda: getattr(settings.current(), name))


def _caps() -> Caps:
    told = settings.current()
    return Caps(seconds=told.run_seconds, memory_mb=told.run_mb)


@dataclass(frozen=True)
class Limits:
    """What sessions may take up together and one by one."""

    slots: int = _set("slots")
    shared_mb: float = _set("shared_mb")
    private_mb: float = _set("private_mb")
    unfinished_per_session: int = 4
    ended_per_session: int = 8
    # A dropped connection may come back: its runs end first, its results only later.
    grace_seconds: float = _set("grace_seconds")
    keep_seconds: float = 150.0
    # A worker that is not warm by then hangs; on a busy machine torch alone takes half a minute.
    start_seconds: float = 180.0
    kill_seconds: float = 2.0
    pause_seconds: float = 10.0
    caps: Caps = field(default_factory=_caps)
