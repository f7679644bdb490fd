"""Sentences by language: catalogs in assets/i18n/{zh,en}/NAME.toml, looked up by dotted key."""

import logging
import time
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from owi_core.assets import ASSETS
from owi_core.errors import OwiError
from owi_core.figures.numerals import with_real_minus
from pages._ui.base import settings
from pages._ui.base.escape import markdown_plain

LANGUAGES = ("zh", "en")
CATALOGS = ASSETS / "i18n"

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Translator:
    """`t(key, **values)` for one page: its own catalog first, then `common`."""

    lang: str
    name: str

    def __call__(self, key: str, /, **values: Any) -> str:
        """Return the sentence with its values as they are: for components and figures."""
        return _fill(self._sentence(key), values, key)

    def markdown(self, key: str, /, **values: Any) -> str:
        """Return the sentence with every value escaped: for st.markdown, labels and errors."""
        return _fill(self._sentence(key), _shown(values, self.lang, markdown_plain), key)

    def template(self, key: str, /) -> str:
        """Return the sentence with its places unfilled: for scripts that fill them."""
        return self._sentence(key)

    def each(self, pattern: str, /) -> Callable[[str], str]:
        """Return what names an option: the sentence of the key that the pattern `a.{}` makes."""
        return lambda option: self(pattern.format(option))

    def has(self, key: str) -> bool:
        """Return whether this page's catalog or `common` has the key."""
        return any(key in catalog(self.lang, name) for name in (self.name, "common"))

    def _sentence(self, key: str) -> str:
        for name in (self.name, "common"):
            if key in catalog(self.lang, name):
                return catalog(self.lang, name)[key]
        return _missing(f"{self.lang}/{self.name}: {key}", key)


def translator(lang: str, name: str) -> Translator:
    """Return the translator of one catalog; an unknown language is read as English."""
    return Translator(lang if lang in LANGUAGES else "en", name)


def error_text(lang: str, error: OwiError) -> str:
    """Return rule, value and remedy in the reader's language, as Markdown with values escaped."""
    t = translator(lang, "errors")
    key = f"errors.{error.code}"
    if t.has(key):
        return t.markdown(key, **error.values)
    _missing(f"{lang}/errors: {error.code}", key)
    return t.markdown("error.no_sentence", error=str(error))


def field_error_text(t: Translator, error: OwiError) -> str:
    """Return the sentence for an error on a page; a setting has the name of its field there."""
    name = f"setting.{error.values.get('name')}"
    if error.code.startswith("setting_") and t.has(name):
        error = OwiError(error.code, **(error.values | {"name": t(name)}))
    return error_text(t.lang, error)


def catalog(lang: str, name: str) -> dict[str, str]:
    """Return a catalog flattened to dotted keys; empty where the file does not exist."""
    # A page asks for hundreds of sentences, and each look at the disk hands the interpreter to
    # another thread: whether the file has changed is asked once a second at most.
    return _lately(CATALOGS / lang, name, int(time.monotonic()))


def catalog_names(lang: str) -> list[str]:
    """Return the names of a language's catalogs, sorted."""
    return sorted(path.stem for path in (CATALOGS / lang).glob("*.toml"))


@lru_cache(maxsize=128)
def _lately(folder: Path, name: str, _second: int) -> dict[str, str]:
    path = folder / f"{name}.toml"
    return _read(path, path.stat().st_mtime_ns) if path.exists() else {}


@lru_cache(maxsize=128)
def _read(path: Path, _changed_ns: int) -> dict[str, str]:
    return dict(_flat(tomllib.loads(path.read_text(encoding="utf-8"))))


def _flat(table: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for key, value in table.items():
        nested = isinstance(value, dict)
        pairs += _flat(value, f"{prefix}{key}.") if nested else [(prefix + key, str(value))]
    return pairs


class _Values(dict[str, Any]):
    """Values for a sentence; a missing one leaves a gap instead of an error."""

    def __missing__(self, name: str) -> "_Gap":
        _missing(f"no value for {name}", name)
        return _Gap()


class _Number(float):
    """A number that a sentence shows with a real minus; what rounds to zero has no sign."""

    def __format__(self, spec: str) -> str:
        return with_real_minus(super().__format__(spec))


class _Gap:
    def __format__(self, _spec: str) -> str:
        return "…"


def _fill(sentence: str, values: Mapping[str, Any], key: str) -> str:
    try:
        shown = {n: _Number(v) if isinstance(v, float) else v for n, v in values.items()}
        return sentence.format_map(_Values(shown))
    except (ValueError, IndexError, AttributeError) as error:
        return _missing(f"{key}: {error}", sentence)


def _shown(values: Mapping[str, Any], lang: str, escape: Callable[[str], str]) -> dict[str, Any]:
    comma = "、" if lang == "zh" else ", "
    return {name: _shown_value(value, comma, escape) for name, value in values.items()}


def _shown_value(value: Any, comma: str, escape: Callable[[str], str]) -> Any:
    if isinstance(value, (list, tuple, set, frozenset)):
        return comma.join(str(_shown_value(item, comma, escape)) for item in value)
    return value if isinstance(value, (int, float)) else escape(str(value))


def _missing(what: str, instead: str) -> str:
    """Log what is missing and return what is shown instead; raise KeyError where tests ask."""
    if settings.current().strict_text == "1":
        raise KeyError(what)
    _log.error("missing text: %s", what)
    return instead
