"""All labs' engines; a module dropped into this folder is one more."""

import importlib
import pkgutil

from owi_core.errors import SettingError
from owi_core.experiments._kit.params import Experiment, parameters, parse_params, recipe

__all__ = ["EXPERIMENTS", "Experiment", "find", "parameters", "parse_params", "recipe"]


def _discover() -> dict[str, Experiment]:
    found = {}
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        if hasattr(module, "NAME"):
            found[module.NAME] = Experiment(module.NAME, module.Params, module.run)
    return found


EXPERIMENTS: dict[str, Experiment] = _discover()


def find(name: str) -> Experiment:
    """Return the experiment called `name`; raise SettingError for another name."""
    if name not in EXPERIMENTS:
        raise SettingError("experiment_unknown", name=name, known=", ".join(EXPERIMENTS))
    return EXPERIMENTS[name]
