"""Links that version 0.1.0 made, kept as it made them: they open the same view."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.pages_under_test import SHARE, calm, kept_by, reopened

# Each entry: the page, a link that its share button gave, and the values that the page held then.
OLD: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("old_links.json").read_text("utf-8")
)
# One changed view a page in the default run; the untouched views and English ones are slow.
QUICK = {id(entry) for entry in {e["page"]: e for e in OLD if "lang=zh" in e["link"]}.values()}


def plain(value: Any) -> Any:
    """Return a kept value as JSON holds it."""
    return [plain(part) for part in value] if isinstance(value, tuple | list) else value


def as_then(key: str, value: Any) -> Any:
    """Return a kept value in the form of the version before.

    A branch of the feedback page has had a seventh part since then: how each forced token was
    drawn, which is empty for a link that does not say.
    """
    if key != "feedback.branches":
        return value
    assert all(branch[6:] == [[]] for branch in value)
    return [branch[:6] for branch in value]


@pytest.mark.parametrize(
    "entry",
    [pytest.param(entry, marks=() if id(entry) in QUICK else pytest.mark.slow) for entry in OLD],
    ids=lambda entry: f"{entry['page']}-{entry['link'][1:].partition('lang=')[2][:2]}",
)
def test_a_link_of_the_version_before_opens_the_same_view(entry: dict[str, Any]) -> None:
    app = calm(reopened(entry["page"], entry["link"]))
    held = {key: as_then(key, plain(value)) for key, value in kept_by(app).items()}
    assert {key: held.get(key, "gone") for key in entry["kept"]} == entry["kept"]
    assert not [c.value for c in app.caption if c.value.startswith(SHARE)]  # nothing was left out
