"""Results for tests that look at a few of their fields."""

import types
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


def some(kind: type[T], **values: Any) -> T:
    """Return an object of a frozen dataclass; fields that are left out are empty or 0."""
    hints = get_type_hints(kind)
    empty = {f.name: _empty(hints[f.name]) for f in fields(kind)}  # type: ignore[arg-type]
    return kind(**(empty | values))


def _empty(hint: Any) -> Any:
    if get_origin(hint) in (types.UnionType, Union):  # `Number` is a float that may be None
        hint = get_args(hint)[0]
    plain = get_origin(hint) or hint
    return some(plain) if is_dataclass(plain) else plain()
