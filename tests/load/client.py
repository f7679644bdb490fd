"""A reader without a browser: speaks the app's websocket and keeps the page that it was sent.

Thirty of them fit beside a server on two cores, where thirty browsers do not. The page is kept by
the browser's rules: where a place does not exist, `MisplacedError` is raised as there.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.sync.client import connect
from websockets.typing import Subprotocol

PATIENCE_SECONDS = 120.0
STREAMLIT = Subprotocol("streamlit")
_ROOTS = 4  # main, sidebar, events, bottom
_WORDS = ("text", "body", "label", "message")
_ENDED = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)


class MisplacedError(AssertionError):
    """Something was sent for a place that the page has not: a browser shows a white page."""


@dataclass
class Node:
    """A place on the page: what stands there, by which run, and what stands inside."""

    run: str = ""
    fragment: str = ""
    element: Any = None
    children: list["Node"] = field(default_factory=list)

    def elements(self) -> Iterator["Node"]:
        """Yield the places that hold an element, from the top down."""
        if self.element is not None:
            yield self
        for child in self.children:
            yield from child.elements()


class Session:
    """One tab: opens pages, clicks, and waits for what is drawn."""

    def __init__(self, url: str, lang: str = "zh") -> None:
        self._url, self._lang = url, lang
        address = url.replace("http", "ws", 1) + "/_stcore/stream"
        # Messages are not compressed: it is the server that is measured.
        socket = connect(address, subprotocols=[STREAMLIT], max_size=None, compression=None)
        self._end = ExitStack()
        self._socket = self._end.enter_context(socket)
        self._root = Node(children=[Node() for _ in range(_ROOTS)])
        self._run, self._page, self._query = "", "", ""
        self._polls: dict[str, float] = {}
        self._states: dict[str, WidgetState] = {}

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave as a closed tab does."""
        self._end.close()

    def drop(self) -> None:
        """Leave as a browser does that is killed: without a word."""
        self._socket.socket.close()

    # What a reader does; each returns the seconds until the page was drawn

    def open(self, page: str = "", **link: str) -> float:
        """Open a page by its address, or change to it."""
        self._query = urlencode({"lang": self._lang, **link})
        self._states.clear()
        self._polls.clear()
        return self._ask("", (), page_name=page)

    def click_word(self, key: str, index: int) -> float:
        """Click a word of a sentence that is drawn as words."""
        place = self._widget(key)
        drawn = self.data(key)
        _, seen = drawn["seen"]
        event = [seen + 1, "chosen", drawn["view"], index]
        meant = {"mount": "load", "events": [event]}
        chosen = json.dumps([{"event": "meant", "value": meant}])
        trigger = f"$$STREAMLIT_INTERNAL_KEY_{_identity(place.element)}__events"
        click = WidgetState(id=trigger, json_trigger_value=chosen)
        return self._ask(place.fragment, (click,))

    def press(self, key: str) -> float:
        """Press a button."""
        place = self._widget(key)
        click = WidgetState(id=_identity(place.element), trigger_value=True)
        return self._ask(place.fragment, (click,))

    def enter(self, key: str, value: str | float) -> float:
        """Fill in a field of text or of a number."""
        place = self._widget(key)
        state = WidgetState(id=_identity(place.element))
        if isinstance(value, str):
            state.string_value = value
        else:
            state.double_value = value
        self._states[state.id] = state
        return self._ask(place.fragment, ())

    def poll(self) -> float:
        """Draw once more what draws itself again and again, where there is such a thing."""
        fragment, seconds = next(iter(self._polls.items()), ("", 0.0))
        if not fragment:
            return 0.0
        time.sleep(seconds)
        return self._ask(fragment, (), auto=True)

    def watch(
        self, condition: Callable[["Session"], bool], seconds: float = PATIENCE_SECONDS
    ) -> None:
        """Let the page draw itself until the condition holds."""
        until = time.monotonic() + seconds
        while not condition(self):
            assert time.monotonic() < until, f"waited in vain; the page says {self.said()}"
            assert self._polls, f"the page has come to rest; it says {self.said()}"
            self.poll()

    # What a reader sees

    def said(self, kind: str = "") -> str:
        """Return the texts on the page, or those of one kind of element: alert, progress."""
        found = []
        for node in self._root.elements():
            name = node.element.WhichOneof("type")
            drawn = getattr(node.element, name)
            words = [str(getattr(drawn, word, "")) for word in _WORDS]
            if kind in ("", name) and name != "html":
                found.append(" ".join(word for word in words if word))
        return "\n".join(found)

    def data(self, key: str) -> dict[str, Any]:
        """Return what one of our own components was given."""
        found: dict[str, Any] = json.loads(self._widget(key).element.bidi_component.json)
        return found

    @property
    def is_polling(self) -> bool:
        """Whether some part of the page asks to be drawn again."""
        return bool(self._polls)

    # The protocol

    def _ask(
        self,
        fragment: str,
        clicks: tuple[WidgetState, ...],
        page_name: str = "",
        auto: bool = False,
    ) -> float:
        message = BackMsg()
        asked = message.rerun_script
        asked.query_string, asked.fragment_id, asked.is_auto_rerun = self._query, fragment, auto
        asked.page_name = page_name
        asked.page_script_hash = "" if page_name else self._page
        asked.widget_states.widgets.extend([*self._states.values(), *clicks])
        asked.context_info.locale = "zh-CN"
        asked.context_info.url = self._url
        asked.context_info.color_scheme = "light"
        began = time.monotonic()
        self._socket.send(message.SerializeToString())
        while not self._take(began):
            pass
        return time.monotonic() - began

    def _take(self, began: float) -> bool:
        """Take one message in; return whether the page is drawn with it."""
        left = PATIENCE_SECONDS - (time.monotonic() - began)
        message = ForwardMsg.FromString(self._socket.recv(timeout=max(left, 0.01)))  # type: ignore[arg-type]
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self._begin(message)
        elif kind == "navigation":
            self._turn_to(message.navigation.page_script_hash)
        elif kind == "delta":
            self._draw(list(message.metadata.delta_path), message.delta)
        elif kind == "page_info_changed":
            self._query = message.page_info_changed.query_string
        elif kind == "auto_rerun":
            self._polls[message.auto_rerun.fragment_id] = message.auto_rerun.interval
        elif kind == "stop_auto_rerun":
            for fragment in message.stop_auto_rerun.fragment_ids:
                self._polls.pop(fragment, None)
        elif kind == "script_finished":
            assert message.script_finished != ForwardMsg.FINISHED_WITH_COMPILE_ERROR
            if message.script_finished in _ENDED:
                self._clear(self._root)
                return True
        return False

    def _begin(self, message: ForwardMsg) -> None:
        run = message.metadata.run
        self._run, self._fragments = run.script_run_id, set(run.fragment_ids)
        if not self._fragments:
            self._polls.clear()

    def _turn_to(self, page: str) -> None:
        if page != self._page:
            self._page = page
            self._root = Node(children=[Node() for _ in range(_ROOTS)])

    def _draw(self, path: list[int], delta: Any) -> None:
        above = self._root
        for index in path[:-1]:
            if index >= len(above.children):
                raise MisplacedError(f"{path} in a page that has {len(above.children)} there")
            above = above.children[index]
            above.run = self._run
        at = path[-1]
        if at > len(above.children):
            raise MisplacedError(f"{path} in a page that has {len(above.children)} there")
        node = Node(self._run, delta.fragment_id)
        old = above.children[at] if at < len(above.children) else Node()
        if delta.HasField("add_block"):
            node.children = old.children
        elif delta.HasField("new_element"):
            node.element = delta.new_element
            assert node.element.WhichOneof("type") != "exception", node.element.exception
        else:
            return  # a passing thing, such as a spinner
        above.children[at : at + 1] = [node]

    def _clear(self, node: Node, inside: bool = False) -> None:
        """Take away what this run did not draw again: of the page, or of the fragments it ran."""
        kept = []
        for child in node.children:
            drawn = child.run == self._run
            if drawn or node is self._root or (self._fragments and not inside):
                self._clear(child, inside or (drawn and child.fragment in self._fragments))
                kept.append(child)
        node.children = kept

    def _widget(self, key: str) -> Node:
        for node in self._root.elements():
            if _identity(node.element).endswith(f"-{key}"):
                return node
        raise AssertionError(f"no {key} on the page, which says {self.said()}")


def _identity(element: Any) -> str:
    return str(getattr(getattr(element, element.WhichOneof("type")), "id", ""))
