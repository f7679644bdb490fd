"""A lesson read from its file: steps through the labs, each with a view, a text, a question.

A lesson is one TOML per language.  What is right is never written in it: a question names a
measure, and each choice says for which outcome it stands.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from owi_core.errors import LessonError
from owi_core.measures import MEASURES, Measure
from pages._ui.base import links
from pages._ui.lessons.lines import Lines, line_of_fault, line_of_long_name
from pages._ui.lessons.lines import Path as Place

LESSON_VERSION = 1
USUAL_ORDER = 100  # the shipped ones come first
MOST_BYTES = 100_000
MOST_STEPS, MOST_CHOICES, LEAST_CHOICES = 40, 6, 2
LONGEST_LINE, LONGEST_PROSE, MOST_PARAMETERS = 200, 2_000, 40
DEEPEST = 4  # dots in a parameter's name
_NEEDS = {
    int: "lesson_needs_int", str: "lesson_needs_str",
    list: "lesson_needs_list", dict: "lesson_needs_dict",
}  # fmt: skip
NUMBERS = {name for measure in MEASURES.values() for name in measure.numbers}


@dataclass(frozen=True)
class Choice:
    """One answer that can be picked: for which outcome it stands, and what to say if it comes."""

    text: str
    means: str
    reveal: str = ""


@dataclass(frozen=True)
class Question:
    """What is asked before it is measured."""

    ask: str
    measure: str
    values: Mapping[str, Any]
    choices: tuple[Choice, ...]

    def of_outcome(self, outcome: str) -> int | None:
        """Return which choice stands for an outcome, None when none does."""
        return next((i for i, c in enumerate(self.choices) if c.means == outcome), None)


@dataclass(frozen=True)
class Step:
    """A page in a state, as a link says it, and what is told and asked there."""

    page: str
    text: str
    view: Mapping[str, str]
    question: Question | None = None


@dataclass(frozen=True)
class Lesson:
    """What a file says."""

    title: str
    about: str
    order: int
    steps: tuple[Step, ...]


def load(path: Path, pages: Sequence[str]) -> Lesson:
    """Return the lesson in a file; pages: the names that a step may go to.

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
    return _Reader(file, text, pages).lesson(table)


class _Reader:
    """Takes a file's tables apart; a fault is told with its line."""

    def __init__(self, file: str, text: str, pages: Sequence[str]) -> None:
        self.file, self.text, self.pages = file, text, pages

    def lesson(self, table: dict[str, Any]) -> Lesson:
        self._known(table, (), ("version", "order", "title", "about", "step"))
        version = self._value(table, (), "version", int)
        if version != LESSON_VERSION:
            raise self._fault("lesson_version", ("version",), found=version, known=LESSON_VERSION)
        steps = self._tables(table, (), "step", 1, MOST_STEPS)
        return Lesson(
            self._line(table, (), "title"),
            self._prose(table, (), "about"),
            self._value(table, (), "order", int) if "order" in table else USUAL_ORDER,
            tuple(self._step(step, ("step", i)) for i, step in enumerate(steps)),
        )

    def _step(self, table: dict[str, Any], at: Place) -> Step:
        self._known(table, at, ("page", "text", "view", "ask", "measure", "choice"))
        page = self._one_of(table, at, "page", self.pages)
        text = self._prose(table, at, "text")
        view = self._value(table, at, "view", dict) if "view" in table else {}
        return Step(page, text, self._view(view, (*at, "view")), self._question(table, at))

    def _view(self, table: dict[str, Any], at: Place) -> dict[str, str]:
        """Return the link's parameters as texts, written as a link writes them."""
        view = {}
        pairs = list(self._flat(table, at))
        if len(pairs) > MOST_PARAMETERS:
            size = {"found": len(pairs), "low": 0, "high": MOST_PARAMETERS}
            raise self._fault("lesson_count", at, key="view", **size)
        for name, value in pairs:
            told = None
            if name.partition(".")[0] not in links.OWN:
                told = links.written(value, "" if isinstance(value, str) else None)
            if told is None or not 0 < len(told) + len(name) <= LONGEST_PROSE:
                raise self._fault("lesson_view", (*at, *name.split(".")), key=name[:LONGEST_LINE])
            view[name] = told
        return view

    def _flat(
        self, table: dict[str, Any], at: Place, prefix: str = ""
    ) -> Iterator[tuple[str, Any]]:
        """Yield what is in a table and in tables within: text.A = "…" makes one, as TOML has it."""
        for name, value in table.items():
            if not isinstance(value, dict):
                yield prefix + name, value
            elif prefix.count(".") < DEEPEST:
                yield from self._flat(value, at, f"{prefix}{name}.")
            else:
                raise self._fault("lesson_view", at, key=name[:LONGEST_LINE])

    def _question(self, table: dict[str, Any], at: Place) -> Question | None:
        if not {"ask", "measure", "choice"} & set(table):
            return None
        ask = self._line(table, at, "ask")
        where = (*at, "measure")
        values = dict(self._value(table, at, "measure", dict))
        name = self._one_of(values, where, "name", tuple(MEASURES))
        measure = MEASURES[name]
        self._known(values, where, ("name", *measure.needs, *measure.may))
        for key in [*measure.needs, *(key for key in measure.may if key in values)]:
            self._value(values, where, key, int if key in NUMBERS else str)
        choices = self._tables(table, at, "choice", LEAST_CHOICES, MOST_CHOICES)
        told = tuple(self._choice(c, (*at, "choice", i), measure) for i, c in enumerate(choices))
        for i, choice in enumerate(told):
            if choice.means in [earlier.means for earlier in told[:i]]:
                raise self._fault("lesson_twice", (*at, "choice", i, "means"), value=choice.means)
        del values["name"]
        return Question(ask, name, values, told)

    def _choice(self, table: dict[str, Any], at: Place, measure: Measure) -> Choice:
        self._known(table, at, ("text", "means", "reveal"))
        text = self._line(table, at, "text")
        if measure.outcomes:
            means = self._one_of(table, at, "means", measure.outcomes)
        else:
            means = self._line(table, at, "means")
        return Choice(text, means, self._prose(table, at, "reveal") if "reveal" in table else "")

    def _known(self, table: dict[str, Any], at: Place, known: Sequence[str]) -> None:
        for key in table:
            if key not in known:
                raise self._fault("lesson_unknown_key", (*at, key), key=key, known=list(known))

    def _one_of(self, table: dict[str, Any], at: Place, key: str, choices: Sequence[str]) -> str:
        value = self._line(table, at, key)
        if value not in choices:
            raise self._fault(
                "lesson_no_such", (*at, key), key=key, value=value, choices=list(choices)
            )
        return value

    def _line(self, table: dict[str, Any], at: Place, key: str) -> str:
        return self._bounded(table, at, key, LONGEST_LINE)

    def _prose(self, table: dict[str, Any], at: Place, key: str) -> str:
        return self._bounded(table, at, key, LONGEST_PROSE)

    def _bounded(self, table: dict[str, Any], at: Place, key: str, limit: int) -> str:
        text = str(self._value(table, at, key, str)).strip()
        if not 0 < len(text) <= limit:
            raise self._fault("lesson_length", (*at, key), key=key, length=len(text), limit=limit)
        return text

    def _tables(
        self, table: dict[str, Any], at: Place, key: str, low: int, high: int
    ) -> list[dict[str, Any]]:
        found = self._value(table, at, key, list)
        if not low <= len(found) <= high:
            raise self._fault(
                "lesson_count", (*at, key), key=key, found=len(found), low=low, high=high
            )
        for i, item in enumerate(found):
            if not isinstance(item, dict):
                raise self._fault("lesson_needs_dict", (*at, key, i), key=key)
        return list(found)

    def _value(self, table: dict[str, Any], at: Place, key: str, kind: type) -> Any:
        if key not in table:
            raise self._fault("lesson_missing_key", at, key=key)
        value = table[key]
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self._fault(_NEEDS[kind], (*at, key), key=key)
        return value

    def _fault(self, code: str, at: Place, **values: Any) -> LessonError:
        return LessonError(code, file=self.file, line=Lines(self.text).of(at), **values)
