"""The few lines of owi_core behind the mask page: they run as shown and print its numbers."""

from collections.abc import Mapping
from typing import Any

from owi_core.experiments.masking import Params

OWN_FILE = "my_text.txt"  # one's own text may be long: it is read from where it lies


def run_code(params: Mapping[str, Any]) -> str:
    """Lines that train the same two models and print what was measured."""
    usual = vars(Params())
    changed = {k: v for k, v in params.items() if k != "own_text" and v != usual[k]}
    given = [f"{name}={value!r}" for name, value in changed.items()]
    imports = ["from owi_core.experiments import find"]
    if params.get("own_text"):
        imports = ["from pathlib import Path", "", *imports]
        given.append(f'own_text=Path("{OWN_FILE}").read_text(encoding="utf-8")')
    return "\n".join(
        [
            *imports,
            "",
            'experiment = find("masking")',
            f"params = experiment.params({', '.join(given)})",
            "*_, finished = experiment.run(params)",
            "for name, part in finished.result.items():",
            '    print(name, part["train_loss_nats"], part["prefix_only_loss_nats"])',
            '    print(part["next_token_accuracy"], part["leak_max"], part["sample"])',
        ]
    )
