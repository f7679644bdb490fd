"""Finds the line of a value in a TOML text, for messages: tomllib does not report it."""

import re

from owi_core.untrusted import Place

DEEPEST = 8  # parts of a dotted name that are distinguished

# Strings of every kind and comments: text inside them may look like TOML and is not.
_QUOTED = re.compile(
    r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*', re.DOTALL
)
_HEADER = re.compile(r"\s*(\[\[?)\s*([\w.\s-]+?)\s*\]")
_KEY = re.compile(r"\s*([\w-]+(?:\s*\.\s*[\w-]+)*)\s*=")
_SYNTAX = re.compile(r"\(at line (\d+), column \d+\)\Z")
# For each part of a dotted name the parser keeps all parts before it: a name that fills a file of
# 100 kB takes gigabytes.
_MANY_PARTS = re.compile(r"(?<![\w-])(?:(?:[\w-]++|\"[^\"\n]*+\"|'[^'\n]*+')[ \t]*+\.[ \t]*+){32}")


def line_of_long_name(text: str) -> int | None:
    """Return the line of the first dotted name of more than 32 parts, or None."""
    found = _MANY_PARTS.search(text)
    return None if found is None else text.count("\n", 0, found.start()) + 1


def line_of_fault(message: str, text: str) -> int:
    """Return the line in tomllib's message; it has none when the text ends too early."""
    found = _SYNTAX.search(message)
    return int(found[1]) if found else max(1, text.count("\n") + (not text.endswith("\n")))


class Lines:
    """The lines of a text's tables and keys; a place is like ("step", 2, "choice", 0, "means").

    The text is valid TOML: only there does each quotation mark have its other half.
    """

    def __init__(self, text: str) -> None:
        self._found: dict[Place, int] = {}
        self._count: dict[Place, int] = {}
        here: Place = ()
        for number, line in enumerate(_QUOTED.sub(_blank, text).split("\n"), start=1):
            header, key = _HEADER.match(line), _KEY.match(line)
            if header:
                here = self._table(_parts(header[2]), header[1] == "[[")
                self._note(here, number)
            elif key:
                self._note((*here, *_parts(key[1])), number)

    def of(self, place: Place) -> int:
        """Return the line of a value, or of the nearest table around it that has one."""
        for end in range(len(place), 0, -1):
            if place[:end] in self._found:
                return self._found[place[:end]]
        return 1

    def _table(self, names: list[str], repeated: bool) -> Place:
        """Return the path of a header: of repeated tables the newest, or one more of them."""
        here: Place = ()
        for depth, name in enumerate(names):
            here = (*here, name)
            if repeated and depth == len(names) - 1:
                self._count[here] = self._count.get(here, 0) + 1
            if here in self._count:
                here = (*here, self._count[here] - 1)
        return here

    def _note(self, place: Place, number: int) -> None:
        for end in range(1, len(place) + 1):
            self._found.setdefault(place[:end], number)


def _parts(dotted: str) -> list[str]:
    return [part.strip() for part in dotted.split(".", DEEPEST)[:DEEPEST]]


def _blank(match: re.Match[str]) -> str:
    return "\n" * match.group().count("\n")
