"""The few lines of owi_core that train what the page has trained: they run as shown."""

from collections.abc import Mapping
from typing import Any

from owi_core.experiments import find
from owi_core.jobs.runs import Run

# A text of one's own may be long: it is read from where it lies.
OWN_FILE = "my_text.txt"


def run_code(run: Run) -> str:
    """Lines that train the same recipe and print the loss and the watched row as they form."""
    changed = _changed(run.experiment, run.params)
    settings = [f"    {name}={value!r}," for name, value in changed.items() if name != "own_text"]
    if changed.get("own_text"):
        settings.append(f'    own_text=read_text_file(Path("{OWN_FILE}").read_bytes()),')
    imports = ["import numpy as np", ""]
    if changed.get("own_text"):
        imports = ["from pathlib import Path", "", *imports, _import("corpora", "read_text_file")]
    lines = [
        *imports,
        _import("events", "Evaluated, Finished, Snapshot, StepDone"),
        _import("experiments", "find"),
        "",
        f"experiment = find({run.experiment!r})",
        "params = experiment.params(",
        *settings,
        ")",
        "for event in experiment.run(params):",
        "    match event:",
        "        case StepDone():",
        '            print(event.step, f"{event.loss_nats:.3f} nats")',
        "        case Snapshot():",
        "            pattern = np.array(event.pattern)  # (L, H, T, T)",
        "            row = pattern[-1, :, event.query].mean(axis=0)  # (T,), last layer, all heads",
        "        case Evaluated():",
        "            print(event.metrics)",
        "        case Finished():",
        "            print(event.result, event.verdict)",
    ]
    return "\n".join(lines)


def _import(module: str, names: str) -> str:
    return f"from owi_core.{module} import {names}"


def _changed(experiment: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """What has to be said: the settings that neither a default nor the family or preset gives."""
    kind = find(experiment).params
    decided = {name: params[name] for name in ("family", "preset") if name in params}
    usual = vars(kind(**decided))
    return decided | {name: value for name, value in params.items() if usual[name] != value}
