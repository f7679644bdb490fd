"""The few lines of owi_core that train what the page has trained: they run as shown."""

from collections.abc import Mapping
from typing import Any

from pages._ui.draw.code import experiment_code


def run_code(experiment: str, params: Mapping[str, Any]) -> str:
    """Lines that train the same recipe and print the loss and the watched row as they form."""
    return experiment_code(
        experiment,
        params,
        "import numpy as np",
        "from owi_core.events import Evaluated, Finished, Snapshot, StepDone",
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
    )
