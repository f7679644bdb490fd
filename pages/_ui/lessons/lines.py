"""On which line of a TOML text a value stands, for messages; tomllib itself does not say."""

import re

Path = tuple[str | int, ...]
DEEPEST = 8  # parts of a dotted name that are told apart

# Strings of every kind and comments: what looks like TOML inside them is none.
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
    """Return the line of a dotted name of more than 32 parts, None where there is none."""
    found = _MANY_PARTS.search(text)
    return None if found is None else text.count("\n", 0, found.start()) + 1


def line_of_fault(message: str, text: str) -> int:
    """Return the line that tomllib's message names; it says none where the text ends too early."""
    told = _SYNTAX.search(message)
    return int(told[1]) if told else max(1, text.count("\n") + (not text.endswith("\n")))


class Lines:
    """The lines of a text's tables and keys; a path is like ("step", 2, "choice", 0, "means").

    The text is valid TOML: only there does each quotation mark have its other half.
    """

    def __init__(self, text: str) -> None:
        self._found: dict[Path, int] = {}
        self._count: dict[Path, int] = {}
        here: Path = ()
        for number, line in enumerate(_QUOTED.sub(_blank, text).split("\n"), start=1):
            header, key = _HEADER.match(line), _KEY.match(line)
            if header:
                here = self._table(_parts(header[2]), header[1] == "[[")
                self._note(here, number)
            elif key:
                self._note((*here, *_parts(key[1])), number)

    def of(self, path: Path) -> int:
        """Return the line of a value, or of the nearest thing around it that has one."""
        for end in range(len(path), 0, -1):
            if path[:end] in self._found:
                return self._found[path[:end]]
        return 1

    def _table(self, names: list[str], repeated: bool) -> Path:
        """Return the path of a header: of repeated tables the newest, or one more of them."""
        here: Path = ()
        for place, name in enumerate(names):
            here = (*here, name)
            if repeated and place == len(names) - 1:
                self._count[here] = self._count.get(here, 0) + 1
            if here in self._count:
                here = (*here, self._count[here] - 1)
        return here

    def _note(self, path: Path, number: int) -> None:
        for end in range(1, len(path) + 1):
            self._found.setdefault(path[:end], number)


def _parts(dotted: str) -> list[str]:
    return [part.strip() for part in dotted.split(".", DEEPEST)[:DEEPEST]]


def _blank(match: re.Match[str]) -> str:
    return "\n" * match.group().count("\n")
