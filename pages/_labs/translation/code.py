"""The few lines of owi_core behind the translation page: they run as shown."""

from collections.abc import Mapping
from typing import Any

from pages._ui.draw.code import FINISHED, PRINTED, experiment_code


def run_code(params: Mapping[str, Any]) -> str:
    """Lines that train the same translator and print what was measured."""
    return experiment_code("translation", params, FINISHED, *PRINTED)


def words_code(params: Mapping[str, Any], text: str, cut: int | None) -> str:
    """Lines that translate a sentence with the trained model, with a word cut out or not."""
    return experiment_code(
        "translation",
        params,
        "from pathlib import Path",
        "from tempfile import mkdtemp",
        "from owi_core.translating import look",
        "from owi_core.translator_file import load",
        "folder = Path(mkdtemp())",
        "*_, finished = experiment.run(params, folder)",
        f"seen = look(load(folder), {text!r}, cut={cut})",
        "print(seen.target, seen.cross.shape)  # (L, H, T, S)",
        "print(seen.cross.mean(axis=1)[-1])  # the rows of the last layer, mean over heads",
    )
