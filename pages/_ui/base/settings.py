"""The settings of a server, from environment variables OWI_…: each with its default and bounds.

A value that breaks its rule is reported and its default is used: a typing error before a lesson
must not leave a class without the app.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from owi_core.assets import ASSETS
from owi_core.errors import OwiError, SettingError

PREFIX = "OWI_"
AUTO = "auto"
PAGES = ASSETS.parent / "pages"
LEAST_TOKEN, LONGEST_TOKEN = 16, 200
LONGEST_SHOWN = 40

Rule = Callable[[str, str], Any]


@dataclass(frozen=True)
class Number:
    """A number from `low` to `high`, whole or not."""

    low: int
    high: int
    whole: bool = True

    def __call__(self, variable: str, text: str) -> int | float:
        try:
            value = int(text) if self.whole else float(text)
        except ValueError as error:
            code = "setting_not_whole" if self.whole else "setting_not_a_number"
            raise SettingError(code, name=variable, value=_cut(text)) from error
        if not self.low <= value <= self.high:
            raise SettingError(
                "setting_out_of_range",
                name=variable,
                low=self.low,
                high=self.high,
                value=_cut(text),
            )
        return value

    def __str__(self) -> str:
        return f"{self.low} … {self.high}"


@dataclass(frozen=True)
class OneOf:
    """One of a few words."""

    choices: tuple[str, ...]

    def __call__(self, variable: str, text: str) -> str:
        if text not in self.choices:
            raise SettingError(
                "setting_not_a_choice", name=variable, choices=self.choices, value=_cut(text)
            )
        return text

    def __str__(self) -> str:
        return " ".join(f"`{choice}`" for choice in self.choices)


def page_names(variable: str, text: str) -> frozenset[str]:
    """Return names of pages, separated by commas; the home page cannot be one of them."""
    known = OneOf(tuple(sorted(path.stem for path in PAGES.glob("*.py"))))
    return frozenset(known(variable, name.strip()) for name in text.split(",") if name.strip())


def folder(variable: str, text: str) -> Path:
    """Return an existing folder."""
    path = Path(text)
    if not path.is_dir():
        raise SettingError("setting_no_folder", name=variable, value=_cut(text))
    return path


def secret(variable: str, text: str) -> str:
    """Return a word that is too long to be guessed; an error does not repeat it."""
    if not LEAST_TOKEN <= len(text) <= LONGEST_TOKEN:
        limits = {"low": LEAST_TOKEN, "high": LONGEST_TOKEN}
        raise SettingError("setting_length", name=variable, length=len(text), **limits)
    return text


def spare_cores() -> int:
    """Return the number of cores minus one, at least one."""
    return max(1, (os.cpu_count() or 1) - 1)


def _variable(name: str, rule: Rule, default: Any, shown: str = "") -> Any:
    """Declare a setting; shown: its default as docs/deploy.md writes it."""
    meta = {"variable": PREFIX + name, "rule": rule, "shown": shown or str(default)}
    if callable(default):
        return field(default_factory=default, metadata=meta)
    return field(default=default, metadata=meta)


@dataclass(frozen=True)
class Settings:
    """All settings of a server."""

    # Trainings at once, how far they step back behind the pages, the hard caps of one.
    slots: int = _variable("SLOTS", Number(1, 64), spare_cores, "cores − 1")
    nice: int = _variable("NICE", Number(0, 19), 10)
    run_seconds: float = _variable("RUN_SECONDS", Number(10, 86_400), 600)
    run_mb: float = _variable("RUN_MB", Number(300, 100_000), 1500)
    # How long a session may be away before its runs end; its results go after 150 s.
    grace_seconds: float = _variable("GRACE_SECONDS", Number(0, 140, whole=False), 20.0, "20")
    # On disk: results that all share, and one session's own.
    shared_mb: float = _variable("SHARED_MB", Number(10, 100_000), 200)
    private_mb: float = _variable("PRIVATE_MB", Number(10, 10_000), 40)
    longest_text: int = _variable("LONGEST_TEXT", Number(100, 1_000_000), 1_000_000)
    language: str = _variable("LANGUAGE", OneOf((AUTO, "zh", "en")), AUTO, f"`{AUTO}`")
    hidden: frozenset[str] = _variable("HIDDEN_PAGES", page_names, frozenset(), "–")
    lessons: Path | None = _variable("LESSONS", folder, None, "–")  # noqa: RUF009
    status_token: str = _variable("STATUS_TOKEN", secret, "", "–")
    # For tests: a sentence that is missing raises instead of showing its key.
    strict_text: str = _variable("STRICT_TEXT", OneOf(("0", "1")), "0")


def read(environment: Mapping[str, str]) -> tuple[Settings, tuple[OwiError, ...]]:
    """Return the settings of an environment, and an error for each variable that is not used."""
    values, wrong = {}, []
    known = {each.metadata["variable"]: each for each in fields(Settings)}
    for variable in sorted(name for name in environment if name.startswith(PREFIX)):
        text = environment[variable].strip()
        try:
            if variable not in known:
                raise SettingError("setting_unknown", name=_cut(variable), known=list(known))
            if text:
                each = known[variable]
                values[each.name] = each.metadata["rule"](variable, text)
        except SettingError as error:
            wrong.append(error)
    return Settings(**values), tuple(wrong)


def current() -> Settings:
    """Return this server's settings now."""
    return read(os.environ)[0]


def wrong_now() -> tuple[OwiError, ...]:
    """Return an error for each variable that is not used."""
    return read(os.environ)[1]


def table() -> list[tuple[str, str, str]]:
    """Return each variable with its default and its bounds, as docs/deploy.md lists them."""
    rows = []
    for each in fields(Settings):
        rule = each.metadata["rule"]
        bounds = str(rule) if isinstance(rule, Number | OneOf) else ""
        rows.append((each.metadata["variable"], each.metadata["shown"], bounds))
    return rows


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"
