"""The few lines of owi_core behind the mask page: they run as shown and print its numbers."""

from collections.abc import Mapping
from typing import Any

from pages._ui.draw.code import FINISHED, experiment_code


def run_code(params: Mapping[str, Any]) -> str:
    """Lines that train the same two models and print what was measured."""
    return experiment_code(
        "masking",
        params,
        FINISHED,
        "for name, part in finished.result.items():",
        '    print(name, part["train_loss_nats"], part["prefix_only_loss_nats"])',
        '    print(part["next_token_accuracy"], part["leak_max"], part["sample"])',
    )
