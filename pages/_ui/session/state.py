"""What a session remembers: values that outlive a change of page, and those that a link brings.

Streamlit forgets the widgets of a page that is left. What must stay is stored a second time
under `kept`, copied at the start of every run and given back when the widget is drawn again.
At first sight a value comes from the link by which the page was opened. Keys are `page.name`;
links call the same thing `name`.
"""

import time
import uuid
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import streamlit as st

from owi_core.jobs.runs import Run
from owi_core.jobs.tasks import ENDED
from owi_core.untrusted import MisfitError
from pages._ui.base import links
from pages._ui.base.links import Limits, Link
from pages._ui.session.addresses import Address, Addresses

T = TypeVar("T")

LANGUAGE = "owi.language"
LANGUAGE_WIDGET = "owi.language_widget"
SESSION_ID = "owi.session_id"
KEPT, LINKS, ADDRESSES = "owi.kept", "owi.links", "owi.addresses"
_VIEW, _SHOWN, _ARRIVED = "owi.view", "owi.shown", "owi.arrived"
_NO_PAGE = (links.LANGUAGE, links.VISIT)  # parameters that say nothing of a page
# After which even a slow phone has built what a page consists of.
BUILT_SECONDS = 15.0


@dataclass
class Opened:
    """A link that a page was opened by, and what has become of it.

    waiting: what no part of the page has asked for yet.  refused: what did not fit, with its range.
    claimed: names of runs that belong on this page.  runs: those that were started here.
    offered: parameters of runs that wait for the user's word.  agreed: names that have it.
    early: something did not fit while a run was under way, and may fit when it has ended.
    """

    address: tuple[tuple[str, str], ...]
    link: Link
    waiting: dict[str, str]
    refused: dict[str, str] = field(default_factory=dict)
    claimed: set[str] = field(default_factory=set)
    runs: dict[str, Run] = field(default_factory=dict)
    offered: dict[str, dict[str, Any]] = field(default_factory=dict)
    agreed: set[str] = field(default_factory=set)
    settled: bool = False  # its trained model is in use, or was given up
    early: bool = False

    @property
    def under_way(self) -> bool:
        """Whether a run that it named has not ended yet, or not begun."""
        return bool(self.offered) or any(run.state not in ENDED for run in self.runs.values())


@dataclass
class View:
    """What a page has shown since it began: its keys with their defaults and limits, its runs.

    labels: what a key's field is called on the page.
    usual: every default that a key was asked for with, as a link writes it.
    awaits_run: a run whose result brings further fields has not ended.
    """

    page: str = ""
    keys: dict[str, Any] = field(default_factory=dict)
    usual: dict[str, list[str | None]] = field(default_factory=dict)
    limits: dict[str, Limits] = field(default_factory=dict)
    private: set[str] = field(default_factory=set)
    labels: dict[str, str] = field(default_factory=dict)
    runs: dict[int, Run] = field(default_factory=dict)
    own_model: bool = False
    awaits_run: bool = False
    line: Any = None  # where the page reports what became of its link
    drawn: set[str] = field(default_factory=set)  # keys of a run that came to its end
    ended: float = 0.0


def keep(
    key: str,
    default: Any,
    *,
    among: Sequence[Any] | None = None,
    low: float | None = None,
    high: float | None = None,
    private: bool = False,
) -> str:
    """Return `key` for a widget whose value survives page changes; `default` on first sight.

    Use as `st.text_area(label, key=keep("rows.a", "…"))` and give the widget no value of its own.
    among, or low and high (the length of a text): what the widget takes; a value that does not
    fit is brought to the nearest that does.  private: never part of a link.
    """
    assert _name(key).partition(".")[0] not in links.RESERVED, key
    limits = Limits(among, low, high)
    value = _value(key, default, limits, private)
    asked = _waiting(key)
    if asked is not None:
        del asked[_name(key)]
    shown = st.session_state.get(key, _NOTHING)
    if type(shown) is not type(value) or shown != value:
        set_kept(key, value)
    elif not has_arrived(key):
        st.session_state[key] = value
    _kept()[key] = value
    view = current_view()
    view.keys[key], view.limits[key] = default, limits
    view.usual.setdefault(key, []).append(links.written(default, default))
    if private:
        view.private.add(key)
    return key


def note_label(key: str, label: str) -> None:
    """Note what the field of a key is called on the page."""
    current_view().labels[key] = label


def held(key: str, default: T, **limits: Any) -> T:
    """Return the value kept under `key`, for a value without a widget; see `keep`."""
    value: T = st.session_state[keep(key, default, **limits)]
    return value


def kept_value(key: str, default: T, **limits: Any) -> T:
    """Return the value kept under `key`, also where its widget is not on this page.

    It is of the default's kind and within the limits, whatever a link says; see `keep`.
    """
    value: T = _value(key, default, Limits(**limits), private=False)
    return value


def set_kept(key: str, value: Any) -> None:
    """Set a kept value; before the widget of that key is drawn, or in a callback."""
    st.session_state[key] = value
    _kept()[key] = value
    for arrived in (_arrived(), st.session_state.get(_SHOWN, View()).drawn):
        arrived.discard(key)


def is_new(key: str) -> bool:
    """Whether nothing is kept under `key` yet; a link may have something for it."""
    return key not in st.session_state and key not in _kept()


def linked(key: str) -> bool:
    """Whether the link has a value for `key` that no part of the page has used yet."""
    return _waiting(key) is not None


def refuse(key: str) -> None:
    """Report that what the link says of `key` was not, or not all, used."""
    opened = opened_link(_page(key))
    if opened is not None and _name(key) in opened.link.values:
        opened.refused[_name(key)] = ""


def renew(stamp_key: str, stamp: Any, *keys: str) -> None:
    """Forget the values of `keys` when the stamp, which they were chosen for, has changed.

    At the first sight of a stamp, values from a link or an earlier visit stay.
    """
    before = st.session_state.get(stamp_key, _NOTHING)
    st.session_state[stamp_key] = stamp
    if before is not _NOTHING and before != stamp:
        for key in keys:
            forget(key)


def follow(key: str, usual: Any) -> None:
    """Let a value that is still the default follow the default; before its widget is drawn."""
    stamp = f"{key}.usual"
    before = st.session_state.get(stamp, usual)
    st.session_state[stamp] = usual
    if before != usual and _kept().get(key) == before:
        forget(key)


def forget(key: str) -> None:
    """Go back to the default of a kept value; before its widget is drawn, or in a callback."""
    st.session_state.pop(key, None)
    _kept().pop(key, None)


def remember() -> None:
    """Copy what the widgets hold now; the frame calls it at the start of each run."""
    _note_arrivals()
    kept = _kept()
    for key in kept:
        if key in st.session_state:
            kept[key] = st.session_state[key]


def open_link(page: str) -> Opened | None:
    """Take the link in the address bar if this page was not opened by it yet; return it.

    The link's values replace everything that the page kept.  An address that the page itself has
    written is no link; an older one of them, found by going back, brings what it kept then.
    """
    params, address = _asked()
    opened: MutableMapping[str, Opened] = st.session_state.setdefault(LINKS, {})
    if links.VISIT in st.query_params and _addresses().knows(page, address):
        _go_back(page, address)
        return _looked_after(page, opened.get(page))
    if not address:
        return None
    if page not in opened or opened[page].address != address:
        repeated = (name for name in params if len(st.query_params.get_all(name)) > 1)
        link = links.read(params, repeated)
        opened[page] = Opened(address, link, dict(link.values), dict.fromkeys(link.ignored, ""))
        _clear(page)
    return _looked_after(page, opened[page])


def _looked_after(page: str, found: Opened | None) -> Opened | None:
    """Try again what did not fit while a run of the link was under way; return the link."""
    if found is not None and found.early and not found.under_way:
        found.early, found.waiting = False, dict(found.link.values)
        found.refused = {k: v for k, v in found.refused.items() if k not in found.waiting}
        _clear(page)
    return found


def note_address(page: str, params: Mapping[str, str]) -> None:
    """Note the address that the page is about to write, and what it keeps."""
    kept = {key: value for key, value in _kept().items() if _page(key) == page}
    _addresses().note(page, _address(params), kept)


def opened_link(page: str) -> Opened | None:
    """Return the link that a page was opened by last."""
    found: Opened | None = st.session_state.get(LINKS, {}).get(page)
    return found


def forget_link(page: str) -> None:
    """Let the same link open a page a second time."""
    st.session_state.get(LINKS, {}).pop(page, None)


def current_view() -> View:
    """Return what the page has shown so far."""
    view: View = st.session_state.setdefault(_VIEW, View())
    return view


def is_usual(view: View, key: str, text: str) -> bool:
    """Return whether a page shows a value without being asked to, so that no link has to say it.

    Parts of a page may ask for the same key with different defaults, and the first one counts where
    nothing is kept; only a value that is the default of all of them can be left out.
    """
    return all(usual == text for usual in view.usual.get(key, [None]))


def begin_view(page: str) -> View:
    """Start a page's view; return the last complete one of this page."""
    before = [st.session_state.get(_SHOWN), current_view(), View(page)]
    st.session_state[_VIEW] = View(page)
    return next(view for view in before if view is not None and view.page == page)


def end_view() -> None:
    """Note that the page has been drawn to its end: a click may come before that."""
    view = current_view()
    view.drawn, view.ended = set(view.keys), time.monotonic()
    st.session_state[_SHOWN] = view


def session_id() -> str:
    """Return an id of this session, the same at every run and on every page."""
    return fresh_id(SESSION_ID)


def fresh_id(key: str) -> str:
    """Return the id that this session has under `key`, made when it is first asked for."""
    if key not in st.session_state:
        st.session_state[key] = uuid.uuid4().hex
    return str(st.session_state[key])


class _Nothing:
    """No value at all, where None is one."""


_NOTHING = _Nothing()


def _value(key: str, default: Any, limits: Limits, private: bool) -> Any:
    for place in (st.session_state, _kept()):
        if key in place:
            return links.nearest(place[key], default, limits)
    asked = _waiting(key)
    if asked is not None:
        try:
            if private:
                raise MisfitError(key)
            return _linked(asked[_name(key)], default, limits)
        except MisfitError:
            opened: Opened = st.session_state[LINKS][_page(key)]
            opened.refused[_name(key)] = _bounds(default, limits)
            opened.early |= opened.under_way
    return links.nearest(default, default, limits)


def _asked() -> tuple[dict[str, str], Address]:
    """Return what the address bar says of a page, and the part by which links are told apart."""
    query = st.query_params.to_dict()
    return {name: query[name] for name in query if name not in _NO_PAGE}, _address(query)


def _address(params: Mapping[str, str]) -> Address:
    # What was said in a lesson changes nothing on the page; another step of it shows another view.
    apart = {*_NO_PAGE, links.SAID}
    # Sorted: Streamlit does not promise to keep the order of an address.
    return tuple(sorted((name, text) for name, text in params.items() if name not in apart))


def _addresses() -> Addresses:
    found: Addresses = st.session_state.setdefault(ADDRESSES, Addresses())
    return found


def _go_back(page: str, address: Address) -> None:
    """Keep what the page kept under an older address of its own, if the reader went back to it.

    Only a change of page can mean that: within a page, an older address belongs to a click that
    was made before the browser had the newer one.  A new session was loaded again, and its visit
    knows more than the address.
    """
    before = current_view().page
    kept = _addresses().earlier(page, address) if before not in ("", page) else None
    if kept is None:
        return
    _clear(page)
    for key, value in kept.items():
        set_kept(key, value)
    _addresses().note(page, address, kept)


def _linked(text: str, default: Any, limits: Limits) -> Any:
    """Return the value that a link gives; one with marks behind it means the one without."""
    try:
        return links.fitted(links.parse(text, default), default, limits)
    except MisfitError:
        plain = links.without_marks(text)
        if plain == text:
            raise
        return links.fitted(links.parse(plain, default), default, limits)


def _bounds(default: Any, limits: Limits) -> str:
    """Return the range that a number must be in, as a sentence shows it; empty for other kinds."""
    number = isinstance(default, int | float) and not isinstance(default, bool)
    if not number or limits.low is None or limits.high is None:
        return ""
    return f"{limits.low} … {limits.high}"


def _clear(page: str) -> None:
    for key in [*st.session_state, *_kept()]:
        if isinstance(key, str) and key.startswith(f"{page}."):
            forget(key)


def has_arrived(key: str) -> bool:
    """Whether the browser knows the value of a widget.

    Streamlit sends a value that was set here with the run that set it, and never again. When
    another run follows before the browser has built the field, nothing is in it, and that comes
    back as if the user had emptied it.
    """
    _note_arrivals()
    return key in _arrived()


def _note_arrivals() -> None:
    """Count a page as built once it was used, or has been shown for long enough."""
    shown: View | None = st.session_state.get(_SHOWN)
    if shown is None or not shown.drawn:
        return
    state = st.session_state
    used = any(key in state and state[key] != value for key, value in _kept().items())
    if used or time.monotonic() - shown.ended > BUILT_SECONDS:
        _arrived().update(shown.drawn)
        shown.drawn = set()


def _arrived() -> set[str]:
    arrived: set[str] = st.session_state.setdefault(_ARRIVED, set())
    return arrived


def _waiting(key: str) -> dict[str, str] | None:
    opened = opened_link(_page(key))
    return opened.waiting if opened and _name(key) in opened.waiting else None


def _page(key: str) -> str:
    return key.partition(".")[0]


def _name(key: str) -> str:
    return key.partition(".")[2]


def _kept() -> MutableMapping[str, Any]:
    if KEPT not in st.session_state:
        st.session_state[KEPT] = {}
    kept: MutableMapping[str, Any] = st.session_state[KEPT]
    return kept
