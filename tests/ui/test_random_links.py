"""A link made from any state of a page gives the numbers that were on the screen, to 1e-6."""

import json
import math
import random
from collections.abc import Iterator
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from owi_core.gallery import READY_PAIRS
from pages._ui.base.links import Limits
from pages._ui.draw.decimals import typed_key
from tests.pages_under_test import calm, kept_by, opened, reopened, shared_link
from tests.ui.test_share import CHOOSING, NAMES

pytestmark = pytest.mark.usefixtures("own_workers")

TOLERANCE = 1e-6
AT_ONCE = 3  # values that are changed between two links
# What a browser has told of its clicks, and the names of its nodes: no part of what is drawn.
# Changed: marks of the last edit; to who opens a link, all its edits come at once.
NOT_DRAWN = {"seen", "taken", "changed"}
SENTENCES = [text for pair in READY_PAIRS for text in (pair.a, pair.b)]


@pytest.mark.parametrize(
    ("name", "states"),
    [(name, 1) for name in NAMES]
    + [pytest.param(name, 200, marks=pytest.mark.exhaustive) for name in NAMES],
)
def test_a_link_made_from_any_state_gives_the_numbers_that_were_on_the_screen(
    name: str, states: int
) -> None:
    drawn = random.Random(f"{name} {states}")
    app = calm(opened(name))
    for _ in range(states):
        change_some(app, drawn)
        if app.error:  # a state that the page refuses shows no numbers
            app = calm(opened(name))
            continue
        shown = list(numbers(app))
        again = calm(reopened(name, shared_link(app)))
        assert_same(list(numbers(again)), shown)


def change_some(app: AppTest, drawn: random.Random) -> None:
    """Choose something else in a few fields, and do what only a click can do."""
    view = app.session_state["owi.view"]
    for key in drawn.sample(sorted(kept_by(app)), min(AT_ONCE, len(kept_by(app)))):
        names = (key, typed_key(key))
        fields = [w for kind in CHOOSING for w in getattr(app.main, kind) if w.key in names]
        if not fields or key in view.private or key not in app.session_state:
            continue
        value = drawn_value(app.session_state[key], view.limits[key], drawn)
        fields[0].set_value(value if fields[0].key == key else repr(value))
        calm(app.run())
    {"step": edit_cells, "feedback": write}.get(view.page, lambda app, drawn: None)(app, drawn)


def drawn_value(value: Any, limits: Limits, drawn: random.Random) -> Any:
    """Return any value that the field takes."""
    if limits.among is not None:
        chosen = drawn.choice(list(limits.among))
        return [chosen] if isinstance(value, list) else chosen
    if isinstance(value, bool):
        return drawn.random() < 0.5
    if isinstance(value, str):
        return drawn.choice(SENTENCES)
    low = value if limits.low is None else limits.low
    high = 2 * value + 1 if limits.high is None else limits.high
    if isinstance(value, int):
        return drawn.randint(int(low), int(min(high, low + 10 * (value - low) + 10)))
    return round(drawn.uniform(low, min(high, 3 * value + low)) / 0.05) * 0.05 or value


def edit_cells(app: AppTest, drawn: random.Random) -> None:
    """Type over numbers of the board and switch cells of its mask, as clicks do."""
    if app.error:
        return
    board, inbox = app.session_state["step.board"], app.session_state["owi.inbox.step.chain"]
    n = min(4, len(board.inputs.x))
    edits = [["x", drawn.randrange(n), drawn.randrange(4), round(drawn.uniform(-3, 3), 2)]]
    edits += [["mask", drawn.randrange(n), drawn.randrange(n), drawn.randrange(2)]]
    sent = [[k + 1, "edited", inbox.view, meant] for k, meant in enumerate(edits)]
    inbox.receive({"mount": str(drawn.random()), "events": sent})
    calm(app.run())


def write(app: AppTest, drawn: random.Random) -> None:
    """Step a few times, or force a character in."""
    key = "feedback.step.pressed"
    before = app.session_state[key] if key in app.session_state else 0  # noqa: SIM401
    app.session_state[key] = before + drawn.randint(0, 4)
    calm(app.run())
    if app.error:
        return
    if drawn.random() < 0.5 and not app.button(key="feedback.force_it").disabled:
        app.button(key="feedback.force_it").click().run()
        calm(app)


def numbers(app: AppTest) -> Iterator[list[Any]]:
    """Yield what every component, figure, metric and text of the page shows, with its type."""
    for node in _leaves(app.main):
        proto = getattr(node, "proto", None)
        for field in ("json", "spec", "body"):
            text = getattr(proto, field, None)
            if isinstance(text, str) and text:
                yield [node.type, json.loads(text) if field != "body" else text]


def _leaves(block: Any) -> Iterator[Any]:
    for child in getattr(block, "children", {}).values():
        yield child
        yield from _leaves(child)


def assert_same(found: Any, wanted: Any, place: str = "") -> None:
    """Demand equal structures whose numbers differ by at most the tolerance."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        assert found.keys() == wanted.keys(), place
        for key in wanted.keys() - NOT_DRAWN:
            assert_same(found[key], wanted[key], f"{place} {key}")
    elif isinstance(wanted, list) and isinstance(found, list):
        assert len(found) == len(wanted), place
        for at, pair in enumerate(zip(found, wanted, strict=True)):
            assert_same(*pair, f"{place} {at}")
    elif isinstance(wanted, float) and isinstance(found, int | float):
        assert math.isclose(found, wanted, rel_tol=0, abs_tol=TOLERANCE), place
    else:
        assert found == wanted, place
