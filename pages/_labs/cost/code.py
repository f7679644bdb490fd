"""The few lines of owi_core behind the cost page: they run as shown and print its numbers."""

from collections.abc import Mapping
from typing import Any

from pages._ui.draw.code import experiment_code


def run_code(params: Mapping[str, Any]) -> str:
    """Lines that measure the same part and print its result."""
    return experiment_code("cost", params)
