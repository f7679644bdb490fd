"""Runs by their recipe: what a link says of one, and what it takes to make the same again."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from owi_core.errors import OwiError
from owi_core.experiments import find, parameters, parse_params
from owi_core.experiments._kit.params import Experiment, needed
from pages._ui.base.links import Recipe


def recipe_of(experiment: str, params: Mapping[str, Any]) -> Recipe | None:
    """Return a run's recipe as a link carries it; None where it contains typed text."""
    kind = find(experiment)
    full = parse_params(kind, params)
    settings = needed(full)
    if settings.keys() & _free_texts(kind.params):
        return None
    return Recipe(experiment, {name: str(value) for name, value in settings.items()})


_UNUSABLE = (OwiError, TypeError, ValueError, OverflowError)


def params_of(recipe: Recipe) -> dict[str, Any] | None:
    """Return the complete parameters of a link's recipe; None where it is not a safe one.

    A link may choose and count, but not type: a text could be anything, a path for instance.
    """
    try:
        kind = find(recipe.experiment)
        if recipe.settings.keys() & _free_texts(kind.params):
            return None
        return asdict(parse_params(kind, recipe.settings))
    except _UNUSABLE:
        return None


def unusable(recipe: Recipe) -> list[str]:
    """Return the settings of a recipe that are refused, each taken by itself.

    Empty where the experiment does not exist, or where only their combination is refused.
    """
    try:
        kind = find(recipe.experiment)
    except OwiError:
        return []
    texts, given = _free_texts(kind.params), recipe.settings
    return [name for name in given if name in texts or _refused(kind, name, given[name])]


def _refused(kind: Experiment, name: str, value: str) -> bool:
    try:
        parse_params(kind, {name: value})
    except _UNUSABLE:
        return True
    return False


def parts(name: str, recipe: Recipe) -> list[tuple[str, str]]:
    """Return a recipe as a link's parameters, under `name`."""
    settings = [(f"{name}.{setting}", value) for setting, value in recipe.settings.items()]
    return [(name, recipe.experiment), *settings]


def _free_texts(params: type[Any]) -> set[str]:
    return {p.name for p in parameters(params) if p.kind is str and not p.choices}
