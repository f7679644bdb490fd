"""A lesson read from its file: steps through the labs, each with a view, a text, a question.

A lesson is one TOML per language.  The right answer is never written in it: a question names a
measure, and each choice names the outcome for which it is right.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import structs

from owi_core.errors import LessonError
from owi_core.measures import MEASURES, Measure
from owi_core.untrusted import MisfitError, Place, checked
from pages._ui.base import links
from pages._ui.lessons.lines import line_of_fault, line_of_long_name
from pages._ui.lessons.tables import (
    LONGEST_LINE,
    LONGEST_PROSE,
    ChoiceTable,
    Faults,
    LessonTable,
    MeasureName,
    StepTable,
    measure_table,
)

LESSON_VERSION = 1
MOST_BYTES = 100_000
MOST_PARAMETERS = 40
DEEPEST = 4  # dots in a parameter's name


@dataclass(frozen=True)
class Choice:
    """One answer: its text, the outcome for which it is right, and what to say when that comes."""

    text: str
    means: str
    reveal: str = ""


@dataclass(frozen=True)
class Question:
    """A question, asked before its answer is measured."""

    ask: str
    measure: str
    values: Mapping[str, Any]
    choices: tuple[Choice, ...]

    def of_outcome(self, outcome: str) -> int | None:
        """Return the index of the choice that is right for an outcome, None when none is."""
        return next((i for i, c in enumerate(self.choices) if c.means == outcome), None)


@dataclass(frozen=True)
class Step:
    """A page in the state that a link describes, with a text and maybe a question."""

    page: str
    text: str
    view: Mapping[str, str]
    question: Question | None = None


@dataclass(frozen=True)
class Lesson:
    """The content of a file."""

    title: str
    about: str
    order: int
    steps: tuple[Step, ...]


def load(path: Path, pages: Sequence[str]) -> Lesson:
    """Return the lesson in a file; pages: the names of the pages that a step may use.

    Raises LessonError with file, line and reason.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise LessonError("lesson_unreadable", file=path.name, line=1) from error
    return parse(data, path.name, pages)


def parse(data: bytes, file: str, pages: Sequence[str]) -> Lesson:
    """Return the lesson in a file's bytes; see `load`."""
    if len(data) > MOST_BYTES:
        raise LessonError("lesson_too_large", file=file, line=1, limit=MOST_BYTES)
    try:
        text = data.decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise LessonError("lesson_no_text", file=file, line=line) from error
    long = line_of_long_name(text)
    if long is not None:
        raise LessonError("lesson_name", file=file, line=long)
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        line, problem = line_of_fault(str(error), text), str(error)[:LONGEST_LINE]
        raise LessonError("lesson_toml", file=file, line=line, problem=problem) from error
    return _Reader(Faults(file, text), pages).lesson(table)


class _Reader:
    """Turns a file's tables into a lesson; each fault is reported with its line."""

    def __init__(self, faults: Faults, pages: Sequence[str]) -> None:
        self.faults, self.pages = faults, pages

    def lesson(self, data: dict[str, Any]) -> Lesson:
        # Another version may have any other keys, so the version is compared before them.
        version = data.get("version")
        if isinstance(version, int) and version is not True and version != LESSON_VERSION:
            raise self.faults.at(
                "lesson_version", ("version",), found=version, known=LESSON_VERSION
            )
        try:
            table = checked(data, LessonTable)
        except MisfitError as error:
            raise self.faults.of(error) from error
        steps = tuple(self._step(step, ("step", i)) for i, step in enumerate(table.step))
        return Lesson(table.title.strip(), table.about.strip(), table.order, steps)

    def _step(self, table: StepTable, at: Place) -> Step:
        page = self._one_of(table.page, (*at, "page"), self.pages)
        view = self._view(table.view, (*at, "view"))
        return Step(page, table.text.strip(), view, self._question(table, at))

    def _view(self, table: dict[str, Any], at: Place) -> dict[str, str]:
        """Return the link's parameters as texts, in the form that a link has."""
        view = {}
        pairs = list(self._flat(table, at))
        if len(pairs) > MOST_PARAMETERS:
            size = {"found": len(pairs), "low": 0, "high": MOST_PARAMETERS}
            raise self.faults.at("lesson_count", at, key="view", **size)
        for name, value in pairs:
            text = None
            if name.partition(".")[0] not in links.OWN:
                text = links.written(value, "" if isinstance(value, str) else None)
            if text is None or not 0 < len(text) + len(name) <= LONGEST_PROSE:
                place = (*at, *name.split("."))
                raise self.faults.at("lesson_view", place, key=name[:LONGEST_LINE])
            view[name] = text
        return view

    def _flat(
        self, table: dict[str, Any], at: Place, prefix: str = ""
    ) -> Iterator[tuple[str, Any]]:
        """Yield names and values of a table and of tables in it: TOML reads text.A = "…" as one."""
        for name, value in table.items():
            if not isinstance(value, dict):
                yield prefix + name, value
            elif prefix.count(".") < DEEPEST:
                yield from self._flat(value, at, f"{prefix}{name}.")
            else:
                raise self.faults.at("lesson_view", at, key=name[:LONGEST_LINE])

    def _question(self, table: StepTable, at: Place) -> Question | None:
        parts = {"ask": table.ask, "measure": table.measure, "choice": table.choice}
        missing = [key for key, part in parts.items() if part is None]
        if len(missing) == len(parts):
            return None
        if table.ask is None or table.measure is None or table.choice is None:
            raise self.faults.at("lesson_missing_key", at, key=missing[0])
        name, values = self._measure(table.measure, (*at, "measure"))
        choices = tuple(
            self._choice(choice, (*at, "choice", i), MEASURES[name])
            for i, choice in enumerate(table.choice)
        )
        for i, choice in enumerate(choices):
            if choice.means in [earlier.means for earlier in choices[:i]]:
                place = (*at, "choice", i, "means")
                raise self.faults.at("lesson_twice", place, value=choice.means)
        return Question(table.ask.strip(), name, values, choices)

    def _measure(self, table: dict[str, Any], at: Place) -> tuple[str, dict[str, Any]]:
        """Return a measure's name and its values; which values it has depends on the name."""
        try:
            name = self._one_of(checked(table, MeasureName).name, (*at, "name"), tuple(MEASURES))
            kind = measure_table(name)
            values = structs.asdict(checked(table, kind))
        except MisfitError as error:
            measure = MEASURES.get(str(table.get("name")))
            known = ("name", *measure.needs, *measure.may) if measure else ("name",)
            raise self.faults.of(error, at, known) from error
        return name, {key: values[key] for key in table if key != "name"}

    def _choice(self, table: ChoiceTable, at: Place, measure: Measure) -> Choice:
        means = table.means.strip()
        if measure.outcomes:
            means = self._one_of(means, (*at, "means"), measure.outcomes)
        return Choice(table.text.strip(), means, (table.reveal or "").strip())

    def _one_of(self, text: str, at: Place, choices: Sequence[str]) -> str:
        value = text.strip()
        if value not in choices:
            raise self.faults.at(
                "lesson_no_such", at, key=at[-1], value=value, choices=list(choices)
            )
        return value
