"""The visits: what each tab has chosen and made, kept while its page is loaded again.

A reload ends the connection of a tab and opens another one that knows nothing.  The address of the
tab carries the token of its visit, by which the new connection takes over what the old one left.
A token opens a visit only in the browser that it was issued to, and only for a while.
"""

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

# Long enough for a phone that drops its tab while its owner reads a message; what a visit holds is
# small (settings and typed sentences), its runs and files end sooner: see `Limits`.
KEEP_SECONDS = 1800.0
MOST_VISITS = 2000
TOKEN_BYTES = 12  # 96 random bits, 16 characters of an address

# same: the tab goes on.  resumed: it was loaded again.  copied: the visit belongs to a tab that is
# still open.  lost: the visit is over, or the server has been restarted.  foreign: the address was
# copied to another browser.  new: the address names no visit.
Arrival = Literal["same", "resumed", "copied", "lost", "foreign", "new"]


@dataclass(frozen=True)
class HeldRun:
    """A run that a visit had when its connection ended."""

    number: int
    under_way: bool


@dataclass
class Visit:
    """One tab.  kept: by name, what its pages want to find again; runs: what it left behind."""

    token: str
    browser: str
    owner: str
    kept: dict[str, Any] = field(default_factory=dict)
    runs: tuple[HeldRun, ...] = ()
    left: float | None = None  # when its connection ended; None while it is open


class Visits:
    """The visits of one server; any thread may call it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._visits: dict[str, Visit] = {}

    def arrive(
        self, token: str, browser: str, owner: str
    ) -> tuple[Visit, Arrival, dict[str, Any] | None]:
        """Return the visit of a connection, how it came to it, and what another tab has kept.

        token: what the address carries, or "".  browser: a mark of the browser, "" if it has none.
        owner: the connection.  The third value is only given for a copied tab: the visit of the
        other tab is not changed.
        """
        with self._lock:
            self._sweep()
            found = self._visits.get(token)
            if found is None:
                return self._new(browser, owner), "lost" if token else "new", None
            if not secrets.compare_digest(found.browser, browser):
                return self._new(browser, owner), "foreign", None
            if found.owner == owner:
                found.left = None
                return found, "same", None
            if found.left is None:
                return self._new(browser, owner), "copied", found.kept
            found.owner, found.left = owner, None
            return found, "resumed", None

    def leave(self, owner: str) -> None:
        """Note that a connection has ended; its visit waits for another one."""
        with self._lock:
            for visit in self._of(owner):
                visit.left = self._clock()

    def holds(self, name: str, value: Any, *, but: str = "") -> bool:
        """Return whether an open visit, other than that of the connection `but`, keeps a value."""
        with self._lock:
            return any(
                visit.kept.get(name) == value and visit.owner != but and visit.left is None
                for visit in self._visits.values()
            )

    def note_runs(self, owner: str, runs: tuple[HeldRun, ...]) -> None:
        """Note which runs a connection had when it ended."""
        with self._lock:
            for visit in self._of(owner):
                visit.runs = runs

    def __len__(self) -> int:
        with self._lock:
            return len(self._visits)

    def _of(self, owner: str) -> Iterator[Visit]:
        return (visit for visit in self._visits.values() if visit.owner == owner)

    def _new(self, browser: str, owner: str) -> Visit:
        visit = Visit(secrets.token_urlsafe(TOKEN_BYTES), browser, owner)
        # Too many: the abandoned ones go before those that are still open, the oldest first.
        by_use = sorted(self._visits.values(), key=lambda each: each.left is None)
        for surplus in by_use[: max(0, len(by_use) + 1 - MOST_VISITS)]:
            del self._visits[surplus.token]
        self._visits[visit.token] = visit
        return visit

    def _sweep(self) -> None:
        """Forget the visits that were left for too long."""
        now = self._clock()
        self._visits = {
            token: visit
            for token, visit in self._visits.items()
            if visit.left is None or now - visit.left < KEEP_SECONDS
        }
