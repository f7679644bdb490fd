"""Checks a lesson before a class sees it: `python -m pages._ui.lesson_check FILE …`.

Prints the measured answer of each question, or the line of the first fault.
"""

import sys
from functools import lru_cache
from pathlib import Path

from owi_core.checkpoints import shipped
from owi_core.errors import OwiError
from owi_core.measures import measure
from pages._ui.base.i18n import LANGUAGES, error_text, translator
from pages._ui.lessons.catalog import page_names
from pages._ui.lessons.file import load

_models = lru_cache(shipped)


def main(files: list[str]) -> int:
    """Check the files and return 0 when all are valid, else 2."""
    failed = [file for file in files if not _check(Path(file))]
    return 2 if failed or not files else 0


def _check(path: Path) -> bool:
    t = translator(LANGUAGES[0] if path.parent.name == LANGUAGES[0] else LANGUAGES[1], "lessons")
    try:
        lesson = load(path, page_names())
        for at, step in enumerate(lesson.steps, start=1):
            asked = step.question
            if asked is not None:
                found = measure(asked.measure, asked.values, _models)
                right = asked.of_outcome(found.outcome)
                choice = t("check.none") if right is None else asked.choices[right].text
                values = {"outcome": found.outcome, "number": found.number, "choice": choice}
                print(t("check.step", at=at, measure=asked.measure, **values))
    except OwiError as error:
        print(error_text(t.lang, error), file=sys.stderr)
        return False
    print(t("check.sound", file=path.name, steps=len(lesson.steps)))
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
