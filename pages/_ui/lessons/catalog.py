"""Which lessons there are: those that come with the app, and those in a teacher's folder."""

from functools import lru_cache
from pathlib import Path

from owi_core.assets import ASSETS
from owi_core.errors import LessonError
from pages._ui.base import settings
from pages._ui.base.entries import page_entries
from pages._ui.base.i18n import LANGUAGES
from pages._ui.base.links import LESSON, TEACHING
from pages._ui.lessons.file import Lesson, load

SHIPPED = ASSETS / "lessons"
MOST_LISTED = 60


def lesson(name: str, lang: str) -> Lesson:
    """Return a lesson by its name, in another language where this one has none.

    Raises LessonError with file, line and reason.  A lesson that uses a page hidden on this server
    counts as unknown.
    """
    found = _found(name, lang)
    if _is_hidden(found):
        raise LessonError("lesson_unknown", name=name)
    return found


def _found(name: str, lang: str) -> Lesson:
    sound = TEACHING[LESSON].fullmatch(name) is not None
    path = next((path for path in _places(name, lang) if sound and path.is_file()), None)
    if path is None:
        raise LessonError("lesson_unknown", name=name)
    return _loaded(path, path.stat().st_mtime_ns)


def available(lang: str) -> list[tuple[str, Lesson | LessonError]]:
    """Return all lessons with their names, in order; broken ones as their errors, at the end."""
    files = (path for folder in _folders() for path in folder.glob("*/*.toml"))
    names = sorted({path.stem for path in files if TEACHING[LESSON].fullmatch(path.stem)})
    found: list[tuple[str, Lesson | LessonError]] = []
    for name in names[:MOST_LISTED]:
        try:
            found.append((name, _found(name, lang)))
        except LessonError as error:
            found.append((name, error))
    shown = [each for each in found if not _is_hidden(each[1])]
    return sorted(shown, key=lambda each: _order(each[1]))


def page_names() -> tuple[str, ...]:
    """Return the names of the pages that a step may use."""
    return tuple(entry.name for entry in page_entries(LANGUAGES[0]))


def _places(name: str, lang: str) -> list[Path]:
    """Return the paths to try: the teacher's folder before the app's, the asked language first."""
    languages = sorted(LANGUAGES, key=lambda other: other != lang)
    return [folder / each / f"{name}.toml" for folder in _folders() for each in languages]


def _folders() -> list[Path]:
    own = settings.current().lessons
    return [*([own] if own else []), SHIPPED]


def _is_hidden(found: Lesson | LessonError) -> bool:
    """Return whether a step uses a page that this server hides."""
    steps = found.steps if isinstance(found, Lesson) else ()
    return any(step.page in settings.current().hidden for step in steps)


def _order(found: Lesson | LessonError) -> float:
    return found.order if isinstance(found, Lesson) else float("inf")


@lru_cache(maxsize=200)
def _loaded(path: Path, _changed_ns: int) -> Lesson:
    return load(path, page_names())
