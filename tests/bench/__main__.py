"""Run measurements by name, or all: `python -m tests.bench start`. Each has NAME and `run()`.

What it finds is written to results/NAME.json beside this file, and printed as a table.
"""

import importlib
import json
import pkgutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE / "results"


def main(asked: list[str]) -> int:
    """Run what was asked for, or say what there is; return the exit code."""
    benches = {module.NAME: module for module in _modules()}
    if asked == ["all"]:
        asked = sorted(benches)
    if not asked or set(asked) - set(benches):
        print(f"python -m tests.bench NAME … or all; there are: {', '.join(sorted(benches))}")
        return 2
    RESULTS.mkdir(exist_ok=True)
    for name in asked:
        found = benches[name].run()
        text = json.dumps(found, ensure_ascii=False, indent=1)
        (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        for place, value in _lines(found):
            print(f"{name:10} {place:58} {value}")
    return 0


def _modules() -> Iterator[ModuleType]:
    for found in pkgutil.iter_modules([str(HERE)]):
        if found.name != "__main__":
            module = importlib.import_module(f"tests.bench.{found.name}")
            if hasattr(module, "NAME"):
                yield module


def _lines(found: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Yield each number with the names that lead to it; lists of single values stay in the file."""
    for name, value in found.items():
        if isinstance(value, Mapping):
            yield from _lines(value, f"{above}{name} · ")
        elif not isinstance(value, list):
            yield f"{above}{name}", f"{value:.3f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
