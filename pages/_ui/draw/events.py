"""What is clicked in a component, from the browser to the page: no click is lost or misread.

The browser sends what was meant (a token, a cell, a row) and the version of the view in which it
was clicked. It sends every event again until the server confirms its number, because Streamlit
keeps one value for each component and a second click overwrites the first, and because a run that
is interrupted loses what it was started for. The server takes each number once, and keeps the
events until the component is drawn again: by then the page has stored what they led to.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import streamlit as st

from pages._ui.base.mounting import mount

MOST_WAITING = 100
_LONGEST_NAME = 40


@dataclass(frozen=True)
class Event:
    """One click: what kind of click, in which view, and what was meant by it."""

    kind: str
    view: str
    meant: Any


@dataclass
class Inbox:
    """The events of one component that the page has not handled yet.

    mount: the browser's name for its nodes; a new one counts from 1 again.  seen: the number of
    the last event that was taken.  view: the version that was drawn last.
    """

    mount: str = ""
    seen: int = 0
    view: str = ""
    waiting: list[Event] = field(default_factory=list)

    def receive(self, sent: object) -> None:
        """Add the events that were not seen before; ignore what is not an event."""
        if not isinstance(sent, dict) or not isinstance(sent.get("events"), list):
            return
        name = sent.get("mount")
        if not isinstance(name, str) or len(name) > _LONGEST_NAME:
            return
        if name != self.mount:
            self.mount, self.seen = name, 0
        for each in sent["events"][-MOST_WAITING:]:
            if isinstance(each, list) and len(each) == 4:
                self._add(*each)

    def _add(self, number: object, kind: object, view: object, meant: object) -> None:
        whole = isinstance(number, int | float) and self.seen < number < 2**31
        if whole and isinstance(kind, str) and isinstance(view, str):
            self.seen = int(number)  # type: ignore[call-overload]
            self.waiting = [*self.waiting, Event(kind, view, meant)][-MOST_WAITING:]


def version(*parts: object) -> str:
    """Return a short name for a view, the same for equal parts."""
    return f"{zlib.crc32(repr(parts).encode()):08x}"


def mount_clickable(name: str, *, lab: str = "", key: str, data: dict[str, Any], view: str) -> None:
    """Draw a component, a lab's own or a shared one; its events so far count as handled."""
    box = _inbox(key)
    box.view = view
    box.waiting = []
    known = {"view": view, "seen": [box.mount, box.seen]}
    on_change: Callable[[], None] = partial(_collect, key)
    mount(name, lab)(key=key, data=data | known, on_meant_change=on_change)


def events(key: str) -> list[Event]:
    """Return what was clicked in a component and is not handled yet, first click first."""
    return list(_inbox(key).waiting)


def clicked(key: str, view: str | None = None) -> Any:
    """Return what the last click chose, None without one.

    view: the version the page would draw now, by default the one it has drawn last. A click in
    another view is ignored: it may have been meant for something else.
    """
    box = _inbox(key)
    current = box.view if view is None else view
    chosen = [e.meant for e in box.waiting if e.kind == "chosen" and e.view == current]
    return chosen[-1] if chosen else None


def _inbox(key: str) -> Inbox:
    box: Inbox = st.session_state.setdefault(f"owi.inbox.{key}", Inbox())
    return box


def _collect(key: str) -> None:
    _inbox(key).receive(getattr(st.session_state.get(key), "meant", None))
