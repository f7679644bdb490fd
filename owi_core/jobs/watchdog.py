"""The two threads beside a run: one listens to the server, one compares the run with its caps.

Both can only ask a run to stop, by `control.request`, which it reads once a step. A run that does
not react (a step that takes for ever, a library that hangs) cannot be interrupted from a thread,
so the process ends itself after STOP_GRACE_SECONDS.
"""

import os
import time
from collections.abc import Iterator

from owi_core.events import Control, Event, Failed, to_json
from owi_core.jobs.memory import memory_mb
from owi_core.jobs.messages import LAST_EVENTS, Caps, read_request
from owi_core.jobs.output import Pipe

STOP_GRACE_SECONDS = 2.0
# Memory can grow by some hundred megabytes in this time, and reading it costs 20 microseconds.
LOOK_SECONDS = 0.2


def listen(lines: Iterator[bytes], control: Control) -> None:
    """Pass the server's requests on to the run; when the server is gone, end run and process.

    The operating system closes the pipe of a killed server, so the end of `lines` is the one sign
    that works without a cooperating parent: no worker is left behind.
    """
    for line in lines:
        request = read_request(line)
        # A pause that arrives after a stop must not bring the run back.
        if request and control.request != "stop":
            control.request = request
    control.request = "stop"
    # A run that obeys ends the process before this; exit code 1 says that it did not.
    time.sleep(STOP_GRACE_SECONDS)
    os._exit(1)


class Watchdog:
    """Stops a run that takes longer or more memory than its caps allow."""

    def __init__(self, caps: Caps, control: Control, pipe: Pipe) -> None:
        self._caps, self._control, self._pipe = caps, control, pipe
        self._began = time.monotonic()
        self._failed: Failed | None = None

    def watch(self) -> None:
        """Look at time and memory until a cap is exceeded; the body of a thread."""
        while self._failed is None:
            time.sleep(LOOK_SECONDS)
            self._failed = self._breach()
        self._control.request = "stop"
        time.sleep(STOP_GRACE_SECONDS)
        self._pipe.write(to_json(self._failed))
        os._exit(1)

    def verdict(self, event: Event) -> Event:
        """Return the event, or the exceeded cap where the run only reports that it was stopped."""
        if self._failed is not None and isinstance(event, LAST_EVENTS):
            return self._failed
        return event

    def _breach(self) -> Failed | None:
        if time.monotonic() - self._began > self._caps.seconds:
            return Failed("run_too_long", {"limit": self._caps.seconds})
        used = memory_mb()
        if used > self._caps.memory_mb:
            return Failed("run_too_large", {"used": round(used), "limit": self._caps.memory_mb})
        return None
