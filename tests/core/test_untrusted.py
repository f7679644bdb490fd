"""Data from outside: strict kinds, and an error that names the field and its value."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from owi_core.untrusted import LONGEST_SHOWN, Count, MisfitError, Share, Text, checked, decoded


class Inner(Struct, frozen=True, forbid_unknown_fields=True):
    share: Share
    counts: list[Count]


class Outer(Struct, frozen=True, forbid_unknown_fields=True):
    name: Text
    inner: Inner
    table: dict[str, int] = {}


GOOD: dict[str, Any] = {"name": "它", "inner": {"share": 1, "counts": [0, 2]}}


def test_what_fits_comes_back_in_its_kind() -> None:
    outer = checked(GOOD, Outer)
    assert outer == Outer("它", Inner(1.0, [0, 2]))
    assert type(outer.inner.share) is float
    assert decoded(json.dumps(GOOD), Outer) == outer


@pytest.mark.parametrize(
    ("change", "place", "where"),
    [
        ({"name": 3}, ("name",), "name = 3"),
        ({"name": "\ud83d"}, ("name",), "name = ?"),
        ({"name": "字" * 5_001}, ("name",), f"name = {'字' * (LONGEST_SHOWN - 1)}…"),
        ({"inner": {"share": 1, "counts": [0, True]}}, ("inner", "counts", 1), None),
        ({"inner": {"share": 1, "counts": [-1]}}, ("inner", "counts", 0), "inner.counts[0] = -1"),
        ({"inner": {"share": 1}}, ("inner", "counts"), "inner.counts = –"),
        ({"inner": {"share": 2, "counts": []}}, ("inner", "share"), "inner.share = 2"),
        ({"inner": {"share": math.nan, "counts": []}}, ("inner", "share"), "inner.share = nan"),
        ({"inner": 10**400}, ("inner",), None),
        ({"more": 1}, ("more",), "more = 1"),
        ({"table": {"a": "b"}}, ("table",), "table = {'a': 'b'}"),
    ],
)
def test_a_misfit_names_the_place_and_the_value(
    change: dict[str, Any], place: tuple[str | int, ...], where: str | None
) -> None:
    with pytest.raises(MisfitError) as caught:
        checked(GOOD | change, Outer)
    assert caught.value.place == place
    assert where is None or caught.value.where == where


@pytest.mark.parametrize(
    "data", ["", "nonsense", "[" * 100_000, '"\\ud83d"', b"\xff", "NaN", "\ud83d"]
)
def test_what_is_not_json_is_a_misfit(data: bytes | str) -> None:
    with pytest.raises(MisfitError) as caught:
        decoded(data, Any)
    caught.value.where.encode()


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
))  # fmt: skip
def test_anything_fits_or_is_a_misfit_that_can_be_printed(value: Any) -> None:
    for change in ({"name": value}, {"inner": value}, {"table": value}, value):
        try:
            checked(GOOD | change if isinstance(change, dict) else change, Outer)
        except MisfitError as misfit:
            assert len(misfit.where.encode()) < 10 * LONGEST_SHOWN  # noqa: PT017
