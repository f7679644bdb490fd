"""All labs' engines; a module dropped into this folder is one more.

An experiment is a module or package here that says `NAME = "…"` at its top.  The names are read
from the sources, and a module is imported only when its experiment is asked for: neither the
command line's start nor the memory of a page grows with the number of labs.
"""

import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.abc import InspectLoader

from owi_core.errors import SettingError
from owi_core.experiments._kit.params import Experiment, parameters, parse_params, recipe

__all__ = ["EXPERIMENTS", "Experiment", "find", "parameters", "parse_params", "recipe"]

_NAME = re.compile(r'^NAME = "(\w+)"', re.MULTILINE)


class _Experiments(Mapping[str, Experiment]):
    """All experiments by name; listing the names imports none of them."""

    def __getitem__(self, name: str) -> Experiment:
        return _load(_modules()[name])

    def __contains__(self, name: object) -> bool:
        return name in _modules()  # Mapping's own version would import the module

    def __iter__(self) -> Iterator[str]:
        return iter(_modules())

    def __len__(self) -> int:
        return len(_modules())


EXPERIMENTS: Mapping[str, Experiment] = _Experiments()


def find(name: str) -> Experiment:
    """Return the experiment called `name`; raise SettingError for another name."""
    if name not in EXPERIMENTS:
        raise SettingError("experiment_unknown", name=name, known=", ".join(EXPERIMENTS))
    return EXPERIMENTS[name]


@cache
def _modules() -> dict[str, str]:
    """Return the module of each experiment by the experiment's name."""
    found = {}
    for info in pkgutil.iter_modules(__path__):
        if named := _NAME.search(_source(info)):
            found[named[1]] = f"{__name__}.{info.name}"
    return found


def _source(info: pkgutil.ModuleInfo) -> str:
    # The finder locates a submodule without importing it, and its loader reads the text.
    spec = info.module_finder.find_spec(info.name, None)
    if spec is None or not isinstance(spec.loader, InspectLoader):
        return ""
    return spec.loader.get_source(info.name) or ""


@cache
def _load(module: str) -> Experiment:
    experiment = importlib.import_module(module)
    return Experiment(experiment.NAME, experiment.Params, experiment.run)
