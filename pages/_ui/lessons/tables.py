"""What the tables of a lesson's file may hold, as strict types, and the error for anything else.

msgspec checks kinds and bounds and reports the place; `Faults` turns its report into the code, the
values and the line that a teacher sees.
"""

from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

from msgspec import Meta, Struct, defstruct

from owi_core.errors import LessonError
from owi_core.measures import MEASURES
from owi_core.untrusted import MisfitError, Place
from pages._ui.lessons.lines import Lines

USUAL_ORDER = 100  # the shipped lessons come first
MOST_STEPS, MOST_CHOICES, LEAST_CHOICES = 40, 6, 2
LONGEST_LINE, LONGEST_PROSE = 200, 2_000
NUMBERS = {name for measure in MEASURES.values() for name in measure.numbers}

# \S: a text of white space would show nothing.
Line = Annotated[str, Meta(max_length=LONGEST_LINE, pattern=r"\S")]
Prose = Annotated[str, Meta(max_length=LONGEST_PROSE, pattern=r"\S")]


class ChoiceTable(Struct, frozen=True, forbid_unknown_fields=True):
    """One `[[step.choice]]`."""

    text: Line
    means: Line
    reveal: Prose | None = None


class StepTable(Struct, frozen=True, forbid_unknown_fields=True):
    """One `[[step]]`; a question is all of ask, measure and choice, or none of them."""

    page: Line
    text: Prose
    view: dict[str, Any] = {}
    ask: Line | None = None
    measure: dict[str, Any] | None = None
    choice: (
        Annotated[tuple[ChoiceTable, ...], Meta(min_length=LEAST_CHOICES, max_length=MOST_CHOICES)]
        | None
    ) = None


class LessonTable(Struct, frozen=True, forbid_unknown_fields=True):
    """A whole file."""

    version: int
    title: Line
    about: Prose
    step: Annotated[tuple[StepTable, ...], Meta(min_length=1, max_length=MOST_STEPS)]
    order: int = USUAL_ORDER


class MeasureName(Struct, frozen=True):
    """The part of a `measure = { … }` that decides which other keys it may have."""

    name: Line


@cache
def measure_table(name: str) -> type[Struct]:
    """Return the type of a `measure = { … }`: the values that this measure needs and may have."""
    measure = MEASURES[name]
    kinds = {key: int if key in NUMBERS else str for key in (*measure.needs, *measure.may)}
    return defstruct(
        name,
        [("name", Line)]
        + [(key, kinds[key]) for key in measure.needs]
        + [(key, kinds[key] | None, None) for key in measure.may],
        frozen=True,
        forbid_unknown_fields=True,
    )


# By the kind that was expected.
_NEEDS = {
    "int": "lesson_needs_int", "str": "lesson_needs_str",
    "array": "lesson_needs_list", "object": "lesson_needs_dict",
}  # fmt: skip
_COUNTS = {"step": (1, MOST_STEPS), "choice": (LEAST_CHOICES, MOST_CHOICES)}
# A table by the number of steps that lead to it: (), ("step", 0), ("step", 0, "choice", 1).
_TABLES = {0: LessonTable, 2: StepTable, 4: ChoiceTable}


class Faults:
    """The errors of one file, each with the file's name and the line."""

    def __init__(self, file: str, text: str) -> None:
        self._file, self._text = file, text

    def at(self, code: str, place: Place, **values: Any) -> LessonError:
        """Return an error of what is at a place."""
        return LessonError(code, file=self._file, line=Lines(self._text).of(place), **values)

    def of(self, misfit: MisfitError, inside: Place = (), known: Sequence[str] = ()) -> LessonError:
        """Return the error of what msgspec found.

        inside: where the checked value is in the file.  known: its keys, for a table of none of
        the types above.
        """
        place, rule = (*inside, *misfit.place), misfit.rule
        key = next((part for part in reversed(place) if isinstance(part, str)), "")
        if rule.startswith("Object missing"):
            return self.at("lesson_missing_key", place[:-1], key=key)
        if rule.startswith("Object contains"):
            keys = known or _TABLES[len(place) - 1].__struct_fields__
            return self.at("lesson_unknown_key", place, key=key, known=list(keys))
        if isinstance(misfit.value, str) and ("length" in rule or "matching" in rule):
            limit = LONGEST_PROSE if _is_prose(place) else LONGEST_LINE
            length = len(misfit.value.strip())
            return self.at("lesson_length", place, key=key, length=length, limit=limit)
        if " of length " in rule:
            low, high = _COUNTS[key]
            found = len(misfit.value) if isinstance(misfit.value, list) else 0
            return self.at("lesson_count", place, key=key, found=found, low=low, high=high)
        kind = rule.removeprefix("Expected `").partition("`")[0].partition(" ")[0]
        return self.at(_NEEDS[kind], place, key=key)


def _is_prose(place: Place) -> bool:
    """Return whether a text may be long: a step's is, a choice's is a line on a button."""
    return place[-1] in ("about", "reveal") or (place[-1] == "text" and len(place) == 3)
