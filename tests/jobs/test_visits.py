"""Visits: who is given what a tab has left behind, and until when."""

import pytest

from owi_core.jobs.visits import KEEP_SECONDS, MOST_VISITS, HeldRun, Visits


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def visits(clock: Clock) -> Visits:
    return Visits(clock)


def test_a_reload_takes_over_what_its_tab_left(visits: Visits) -> None:
    first, arrival, _ = visits.arrive("", "browser", "first")
    assert arrival == "new"
    first.kept = {"text": "typed"}
    visits.note_runs("first", (HeldRun(1, under_way=True),))
    visits.leave("first")
    again, arrival, other = visits.arrive(first.token, "browser", "second")
    assert (arrival, again.kept, other) == ("resumed", {"text": "typed"}, None)
    assert again.runs == (HeldRun(1, under_way=True),)
    assert (again.token, again.owner, again.left) == (first.token, "second", None)


def test_a_copied_tab_begins_with_the_same_and_takes_nothing_away(visits: Visits) -> None:
    first, _, _ = visits.arrive("", "browser", "first")
    first.kept = {"text": "typed"}
    copy, arrival, other = visits.arrive(first.token, "browser", "second")
    assert (arrival, other) == ("copied", {"text": "typed"})
    assert copy.token != first.token
    assert (first.owner, first.left) == ("first", None)
    assert visits.arrive(first.token, "browser", "first")[1] == "same"


@pytest.mark.parametrize("left", [True, False])
def test_a_token_opens_nothing_in_another_browser(visits: Visits, left: bool) -> None:
    first, _, _ = visits.arrive("", "browser", "first")
    first.kept = {"text": "private"}
    if left:
        visits.leave("first")
    for browser in ("", "another"):
        other, arrival, kept = visits.arrive(first.token, browser, f"guest {browser}")
        assert (arrival, other.kept, kept) == ("foreign", {}, None)
        assert other.token != first.token
    assert first.owner == "first"


def test_a_token_is_good_for_a_while_and_cannot_be_guessed(visits: Visits, clock: Clock) -> None:
    first, _, _ = visits.arrive("", "browser", "first")
    clock.now = 10 * KEEP_SECONDS  # an open tab does not expire
    assert visits.arrive(first.token, "browser", "first")[1] == "same"
    visits.leave("first")
    clock.now += KEEP_SECONDS - 1
    assert visits.arrive(first.token, "browser", "second")[1] == "resumed"
    visits.leave("second")
    clock.now += KEEP_SECONDS
    assert visits.arrive(first.token, "browser", "third")[1] == "lost"
    assert len(first.token) >= 16
    assert visits.arrive("guessed", "browser", "fourth")[1] == "lost"


def test_too_many_visits_drop_the_abandoned_ones_first(visits: Visits) -> None:
    kept, _, _ = visits.arrive("", "browser", "kept")
    left, _, _ = visits.arrive("", "browser", "left")
    visits.leave("left")
    for number in range(MOST_VISITS - 1):
        visits.arrive("", "browser", str(number))
    assert len(visits) == MOST_VISITS
    assert visits.arrive(kept.token, "browser", "kept")[1] == "same"
    assert visits.arrive(left.token, "browser", "again")[1] == "lost"


def test_a_session_that_a_reload_has_taken_over_is_still_held(visits: Visits) -> None:
    first, _, _ = visits.arrive("", "browser", "first")
    first.kept = {"session": "S"}
    assert not visits.holds("session", "S", but="first")
    visits.leave("first")
    assert not visits.holds("session", "S")
    visits.arrive(first.token, "browser", "second")
    assert visits.holds("session", "S", but="first")
