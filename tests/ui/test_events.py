"""Clicks on their way from the browser to the page: each is taken once, in its own view."""

from pages._ui.draw.events import MOST_WAITING, Event, Inbox, version


def sent(*events: tuple[int, str, str, object], mount: str = "m") -> dict[str, object]:
    """Return what the browser sends: every event that is not confirmed yet."""
    return {"mount": mount, "events": [list(event) for event in events]}


def test_an_event_that_is_sent_again_is_taken_once() -> None:
    box = Inbox()
    first, second = (1, "chosen", "v", 3), (2, "chosen", "v", 4)
    box.receive(sent(first))
    box.receive(sent(first, second))
    assert [event.meant for event in box.waiting] == [3, 4]
    assert box.seen == 2


def test_an_event_whose_own_message_was_overwritten_arrives_with_the_next() -> None:
    box = Inbox()
    box.receive(sent((1, "edited", "v", "a"), (2, "edited", "v", "b"), (3, "edited", "v", "c")))
    assert box.waiting == [Event("edited", "v", meant) for meant in "abc"]


def test_nodes_that_the_browser_has_built_again_count_from_one() -> None:
    box = Inbox()
    box.receive(sent((7, "chosen", "v", 1)))
    box.receive(sent((1, "chosen", "v", 2), mount="other"))
    assert [event.meant for event in box.waiting] == [1, 2]


def test_what_is_not_an_event_is_ignored() -> None:
    box = Inbox()
    events = [[1], ["1", "chosen", "v", 0], [float("nan"), "chosen", "v", 0], [1, 2, "v", 0], None]
    for foreign in (None, [], {"mount": 3, "events": []}, {"mount": "m", "events": events}):
        box.receive(foreign)
    assert box == Inbox(mount="m")


def test_a_flood_is_bounded() -> None:
    box = Inbox()
    box.receive(sent(*((number, "chosen", "v", number) for number in range(1, 1000))))
    assert len(box.waiting) == MOST_WAITING
    assert box.waiting[-1].meant == 999


def test_a_version_tells_views_apart() -> None:
    assert version((1, 2)) == version((1, 2))
    assert version((1, 2)) != version((1, 2, 3))
