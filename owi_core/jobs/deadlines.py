"""Actions to be done later unless they are cancelled: one thread, however many wait."""

import threading
import time
from collections.abc import Callable, Hashable


class Deadlines:
    """Calls functions when their time has come, from its own thread, which ends with `close`.

    Not threading.Timer: that is one thread per action, and a class that leaves makes a hundred.
    Times are of the monotonic clock: setting the system's clock delays nothing.
    """

    def __init__(self) -> None:
        self._due: dict[Hashable, tuple[float, Callable[[], None]]] = {}
        self._changed = threading.Condition()
        self._open = True
        self._thread = threading.Thread(target=self._wait, name="owi-deadlines", daemon=True)
        self._thread.start()

    def set(self, key: Hashable, seconds: float, action: Callable[[], None]) -> None:
        """Call `action` after so many seconds; it replaces an older one under the same key."""
        with self._changed:
            self._due[key] = (time.monotonic() + seconds, action)
            self._changed.notify()

    def cancel(self, key: Hashable) -> None:
        """Forget an action, if it has not begun."""
        with self._changed:
            self._due.pop(key, None)

    def __contains__(self, key: Hashable) -> bool:
        """Whether an action waits under this key."""
        with self._changed:
            return key in self._due

    def close(self) -> None:
        """Forget everything and end the thread."""
        with self._changed:
            self._open = False
            self._changed.notify()
        # An action may close the deadlines itself; a thread cannot wait for its own end.
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _wait(self) -> None:
        while True:
            with self._changed:
                if not self._open:
                    return
                action = self._pop_due()
                if action is None:
                    self._changed.wait(self._seconds_left())
            # Outside the lock: an action may set or cancel others, and wait for other locks.
            if action is not None:
                action()

    def _pop_due(self) -> Callable[[], None] | None:
        for key, (moment, action) in self._due.items():
            if moment <= time.monotonic():
                del self._due[key]
                return action
        return None

    def _seconds_left(self) -> float | None:
        if not self._due:
            return None
        return max(0.0, min(moment for moment, _ in self._due.values()) - time.monotonic())
