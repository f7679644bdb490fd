"""What an experiment found: typed and frozen in Python, plain JSON on its way to a page.

A run's last event carries `to_dict()`, because it crosses from the worker's process as a line of
JSON; a page reads it back with `from_dict` and never handles keys.  Fields that are numbers are
declared as `events.Number`: a number that is not finite is null in JSON.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Self, TypeVar

import msgspec

from owi_core.errors import RunError
from owi_core.untrusted import MisfitError, checked

T = TypeVar("T")
Value = float | int | str | bool | None | list[str]


def given(value: T | msgspec.UnsetType, usual: T) -> T:
    """Return a field's value, or `usual` where the run did not measure it.

    A field that may be missing from the JSON defaults to msgspec.UNSET: None is a value of its
    own there ("measured, and there is none").
    """
    return usual if isinstance(value, msgspec.UnsetType) else value


@dataclass(frozen=True)
class Verdict:
    """What may be said of a result: `code` names the sentence, `values` are the numbers in it."""

    code: str
    passed: bool
    values: Mapping[str, Value]

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as the events carry it."""
        return asdict(self)


@dataclass(frozen=True)
class BaseResult:
    """The result of an experiment; each experiment declares its fields in a subclass.

    parts: the name of a field whose entries are keys of the JSON themselves, beside the other
    fields; empty where there is none.  A paired run has one: its two models are keys by name.
    """

    parts: ClassVar[str] = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the result as the command line prints it."""
        # to_builtins walks nested dataclasses and leaves out fields that are UNSET.
        values: dict[str, Any] = msgspec.to_builtins(self)
        return values | values.pop(self.parts) if self.parts else values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the result in `values`; raise RunError for what is not one."""
        if cls.parts:
            # The keys of the parts are model names, which differ from run to run.
            known = {f.name for f in fields(cls)}
            inside = {name: part for name, part in values.items() if name not in known}
            values = {k: v for k, v in values.items() if k in known} | {cls.parts: inside}
        try:
            return checked(values, cls)
        except MisfitError as error:
            raise RunError("event_unreadable", reason=error.where) from error
