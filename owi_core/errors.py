"""Failures that a user can fix: a code and its values; the page or command finds the sentence.

OwiError
├── SettingError     a setting outside its range, or settings that exclude each other
├── TextError        a sentence, a word or a text file that cannot be used
├── ModelFileError   a checkpoint, a vocabulary or a record that cannot be read
├── LessonError      a lesson's file that cannot be read, with its line
└── RunError         a run that cannot be started, read or continued
"""

from typing import Any


class OwiError(Exception):
    """A rule that was broken: `code` names it, `values` holds what the sentence needs."""

    def __init__(self, code: str, /, **values: Any) -> None:
        # Positional-only: a sentence may have a value called `code` of its own.
        self.code = code
        self.values = values
        super().__init__(code)

    def __str__(self) -> str:
        values = ", ".join(f"{name}={value}" for name, value in self.values.items())
        return f"{self.code}: {values}" if values else self.code


class SettingError(OwiError):
    """A setting outside its range, or settings that exclude each other."""


class TextError(OwiError):
    """A sentence, a word or a text file that cannot be used."""


class ModelFileError(OwiError):
    """A checkpoint, a vocabulary or a record that cannot be read."""


class LessonError(OwiError):
    """A lesson's file that cannot be read; its values name the file and the line."""


class RunError(OwiError):
    """A run that cannot be started, read or continued."""
