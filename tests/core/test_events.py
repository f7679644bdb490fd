"""Events: one JSON line each, that comes back the same, without NaN, whatever was typed."""

import json
import math
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from owi_core import events
from owi_core.errors import RunError
from tests.tiny import refused

EXAMPLES = (
    events.Started("pronoun", {"seed": 0, "watch": "它\n她"}, "a1", 7, 11),
    events.StepDone(1, 7, 2.5, 1e-3, 1000.0, 0.25, 1.5),
    events.Snapshot(3, ["苹果", "它"], 1, [[[[1.0, 0.0], [0.25, 0.75]]]]),
    events.Evaluated(5, {"accuracy_heldout": 0.5}),
    events.Diverged(5, {"lr": 10.0, "optimizer": "adam"}, "lower_lr"),
    events.Paused(2),
    events.Stopped(2),
    events.Finished(
        "pronoun", {"seed": 0}, {"steps": 7}, {"code": "x", "passed": True, "values": {}}
    ),
    events.Failed("text_empty", {"limit": 1}),
)


def test_there_is_an_example_of_every_kind() -> None:
    assert {type(event) for event in EXAMPLES} == set(events.KINDS.values())


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda event: event.event)
def test_an_event_comes_back_from_its_one_line(event: events.Event) -> None:
    line = events.to_json(event)
    assert "\n" not in line
    values = json.loads(line)
    assert values["event"] == event.event
    assert values["version"] == 1
    assert events.from_json(line) == event


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_becomes_null(value: float) -> None:
    line = events.to_json(events.Finished("x", {}, {"loss": [value, {"deep": (value, 1.0)}]}, {}))
    assert json.loads(line)["result"] == {"loss": [None, {"deep": [None, 1.0]}]}


@given(st.text(), st.floats())
def test_any_text_and_number_stay_on_one_line(text: str, number: float) -> None:
    line = events.to_json(events.Failed("text_empty", {"typed": text, "number": number}))
    assert "\n" not in line
    assert json.loads(line, parse_constant=pytest.fail)["values"]["typed"] == text


@pytest.mark.parametrize(
    "line",
    [
        "", "nonsense", "[]", "3", "null", "{}", "[" * 100_000,
        '{"event": "paused"}',
        '{"event": "paused", "version": 2, "step": 1}',
        '{"event": "paused", "version": 1}',
        '{"event": "paused", "version": 1, "step": 1, "more": 2}',
        '{"event": "nothing", "version": 1, "step": 1}',
        '{"event": ["paused"], "version": 1, "step": 1}',
        '{"event": "paused", "version": true, "step": 1}',
        '{"event": "paused", "version": 1, "step": "1"}',
        '{"event": "paused", "version": 1, "step": true}',
        '{"event": "paused", "version": 1, "step": null}',
        '{"event": "evaluated", "version": 1, "step": 1, "metrics": {"loss": "low"}}',
    ],
)  # fmt: skip
def test_what_is_no_event_is_refused(line: str) -> None:
    with refused("event_unreadable", RunError):
        events.from_json(line)


def test_a_refusal_names_the_field_and_its_value() -> None:
    with refused("event_unreadable", RunError, reason="step = x"):
        events.from_json('{"event": "paused", "version": 1, "step": "x"}')
    with refused("event_unreadable", RunError, reason="more = 2"):
        events.from_json('{"event": "paused", "version": 1, "step": 1, "more": 2}')


def test_a_number_that_was_not_finite_and_half_a_character_are_read_back() -> None:
    event = events.from_json(events.to_json(events.Evaluated(5, {"loss": math.nan})))
    assert isinstance(event, events.Evaluated)
    assert event.metrics == {"loss": None}
    typed = events.Started("pronoun", {"watch": "它\ud83d"}, "a1", 7, 11)
    assert (
        events.from_json(events.to_json(typed).encode("utf-8", "backslashreplace").decode())
        == typed
    )


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(["event", "version", "step"]), JSON | st.just("paused")))
def test_rubbish_gives_an_event_or_a_refusal(values: dict[str, Any]) -> None:
    with suppress(RunError):
        assert isinstance(events.from_json(json.dumps(values)), events.Event)
