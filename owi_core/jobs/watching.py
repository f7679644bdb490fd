"""Which runs a class may follow: a short code for each place on a page that shows one.

The code belongs to the place, not to one run: when its owner trains again there, the class follows
the new run.  It is valid as long as the session that made it keeps the run.
"""

import threading
import unicodedata
import uuid
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from owi_core.jobs.runs import Onlooker, Run

# How the page draws the run; this module stores it and passes it on.
Draw = TypeVar("Draw")
# No letter that looks like another one on a projector: no O and 0, no I, L and 1.
LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
# 31 ** 6 codes, nearly 900 million: trying one costs the server a drawn page, some 30 ms, so that
# half of them keep a core busy for five months, and a code is gone with its teacher.
LENGTH = 6
MOST_CODES = 500


@dataclass(frozen=True)
class Sight(Generic[Draw]):
    """What a class sees: a run that it cannot change, the lab of the run, and how it is drawn."""

    run: Onlooker
    lab: str
    draw: Draw


@dataclass(frozen=True)
class _Shown(Generic[Draw]):
    code: str
    run: Run
    lab: str
    draw: Draw


class Register(Generic[Draw]):
    """The codes of one server; any thread may call it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shown: dict[tuple[str, str], _Shown[Draw]] = {}

    def show(self, place: str, run: Run, lab: str, draw: Draw) -> str:
        """Let everyone who has the code follow the run in this place; return the code.

        place: a part of a page; there is one code for each and each session.
        """
        with self._lock:
            self._sweep()
            old = self._shown.pop((run.session, place), None)
            code = old.code if old else self._new_code()
            self._shown[run.session, place] = _Shown(code, run, lab, draw)
            while len(self._shown) > MOST_CODES:
                del self._shown[next(iter(self._shown))]
            return code

    def follow(self, place: str, run: Run) -> str | None:
        """Let the class follow the run that is now in this place; return its code, if any.

        Not if it is another private run: its owner has not agreed to show that one.
        """
        with self._lock:
            at = (run.session, place)
            shown = self._shown.get(at)
            if shown is None or (run.private and shown.run.id != run.id):
                return None
            self._shown[at] = replace(shown, run=run)
            return shown.code

    def end(self, place: str, session: str) -> None:
        """End the code of this place."""
        with self._lock:
            self._shown.pop((session, place), None)

    def sight(self, code: str) -> Sight[Draw] | None:
        """Return what a code shows; None if it is not a code, or no longer valid."""
        asked = plain(code)
        with self._lock:
            shown = next((each for each in self._shown.values() if each.code == asked), None)
        if shown is None or not shown.run.held:
            return None
        return Sight(shown.run.onlooker(), shown.lab, shown.draw)

    def __len__(self) -> int:
        with self._lock:
            return len(self._shown)

    def _sweep(self) -> None:
        self._shown = {at: shown for at, shown in self._shown.items() if shown.run.held}

    def _new_code(self) -> str:
        taken = {shown.code for shown in self._shown.values()}
        while (code := _drawn()) in taken:
            pass
        return code


def plain(code: str) -> str:
    """Return a code as it was issued, however it was typed: lower case, full width, with spaces."""
    return "".join(
        letter for letter in unicodedata.normalize("NFKC", code).upper() if letter.isalnum()
    )


def _drawn() -> str:
    number = uuid.uuid4().int  # from the system's source of randomness
    letters = []
    for _ in range(LENGTH):
        number, at = divmod(number, len(LETTERS))
        letters.append(LETTERS[at])
    return "".join(letters)
