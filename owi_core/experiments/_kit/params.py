"""What every experiment shares: declared parameters, how they are read, and the recipe's hash.

An experiment is a module with NAME, Params and run(params, folder, control, resume).
"""

import hashlib
import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any, NamedTuple, get_args, get_type_hints

from owi_core import VERSION
from owi_core.errors import SettingError
from owi_core.events import Event
from owi_core.untrusted import decimal_number

MAX_SEED = 2**31 - 1
Run = Callable[..., Iterator[Event]]


@dataclass(frozen=True)
class Experiment:
    """One lab's engine: its name, its declared parameters, and the iterator of its events."""

    name: str
    params: type[Any]
    run: Run


class Parameter(NamedTuple):
    """One declared parameter as a page or the command line shows it."""

    name: str
    kind: type
    default: Any
    low: float | None
    high: float | None
    choices: tuple[str, ...]
    meaning: str
    decides: bool = False
    typed: bool = False


def setting(
    default: Any,
    meaning: str,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    decides: bool = False,
    typed: bool = False,
) -> Any:
    """Declare a parameter with its default, range or choices, and meaning.

    decides: the defaults of other parameters depend on it, so a command line always names it.
    typed: it holds text that a person wrote; `note_of` keeps it out of what is given away.
    """
    about = {"meaning": meaning, "low": low, "high": high, "choices": choices}
    about |= {"decides": decides, "typed": typed}
    return field(default=default, metadata=about)


@dataclass(frozen=True)
class BaseParams:
    """The parameters of an experiment; each experiment declares its own in a subclass.

    A value that is left out (None) takes what `usual` returns for it.
    """

    seed: int = setting(0, "seed of data, weights and batches", low=0, high=MAX_SEED)

    def __post_init__(self) -> None:
        check_params(self)
        fill_defaults(self, self.usual())

    def usual(self) -> dict[str, Any]:
        """Return the values of parameters that were left out."""
        return {}


def parameters(params: type[Any]) -> tuple[Parameter, ...]:
    """Return the declared parameters of a Params class, in order."""
    kinds = get_type_hints(params)
    return tuple(
        Parameter(f.name, _plain_kind(kinds[f.name]), f.default, **f.metadata)
        for f in fields(params)
        # A field without a default is not a setting: it cannot be left out on a command line.
        if f.default is not MISSING
    )


def parse_params(experiment: Experiment, values: Mapping[str, Any]) -> Any:
    """Return Params from names and values as typed; raise SettingError for what does not fit."""
    known = {parameter.name: parameter for parameter in parameters(experiment.params)}
    for name in values:
        if name not in known:
            raise SettingError("setting_unknown", name=name, known=", ".join(known))
    return experiment.params(**{n: _read(known[n], value) for n, value in values.items()})


def check_params(params: Any) -> None:
    """Raise SettingError when a value is not of its kind, range or choices."""
    for p in parameters(type(params)):
        value = getattr(params, p.name)
        # None means "by choice" only where the declaration says so.
        if value is None and p.default is None:
            continue
        # Before the comparisons below: "7" <= 9 would raise a TypeError, and True <= 9 would pass.
        _refuse_wrong_kind(p, value)
        if p.choices and value not in p.choices:
            listed = ", ".join(p.choices)
            raise SettingError("setting_not_a_choice", name=p.name, value=value, choices=listed)
        if p.low is not None and p.high is not None and not p.low <= value <= p.high:
            raise SettingError(
                "setting_out_of_range", name=p.name, value=value, low=p.low, high=p.high
            )


def fill_defaults(params: Any, defaults: Mapping[str, Any]) -> None:
    """Give the parameters that were left out (None) their defaults.

    A default embedding scale is cut to √d_model, the largest that ModelConfig accepts: otherwise a
    narrow model would be refused for a value that the user never chose.
    """
    for name, value in defaults.items():
        if getattr(params, name) is None:
            fitting = min(value, params.d_model**0.5) if name == "embedding_scale" else value
            # The dataclass is frozen; this runs in its __post_init__, before any other code sees
            # it.
            object.__setattr__(params, name, fitting)


def recipe(name: str, params: Any) -> str:
    """Return the hash of experiment, complete parameters and code version: same hash, same run."""
    values = asdict(params)
    for p in parameters(type(params)):
        if p.kind is float and values[p.name] is not None:  # 1 and 1.0 are one setting
            values[p.name] = float(values[p.name])
    # The version of the code is in the hash: a stored result of other code is not offered.
    text = json.dumps([name, values, VERSION], sort_keys=True, ensure_ascii=False)
    # Typed text may hold half of a surrogate pair, which plain UTF-8 refuses.
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def command(name: str, params: BaseParams) -> str:
    """Return the command line that remakes a run, with the settings that `needed` names."""
    words = [f"--set {k}={shlex.quote(str(v))}" for k, v in needed(params).items()]
    return " ".join(["python -m owi_core run", name, *words])


def needed(params: BaseParams) -> dict[str, Any]:
    """Return the settings that remake the parameters.

    These are the parameters that decide over others, the seed, and what differs from the defaults
    that follow from them.
    """
    values = asdict(params)
    chosen = {p.name: values[p.name] for p in parameters(type(params)) if p.decides}
    # Compared with the defaults that follow from what decides, not with those of Params():
    # `family=fit` alone changes many values that need not be named.
    usual = type(params)(**chosen)
    changed = {k: v for k, v in values.items() if v != getattr(usual, k)}
    return chosen | changed | {"seed": params.seed}


def note_of(name: str, params: BaseParams, *, private: bool) -> dict[str, Any]:
    """Return how a model was made, to be kept beside its weights.

    private: it was trained on text that a person typed.  Whoever is given the model must not read
    that text in the note, so the typed parameters are blank and no command is named.
    """
    typed = {p.name: "" for p in parameters(type(params)) if p.typed} if private else {}
    return {
        "experiment": name,
        "params": asdict(params) | typed,
        "recipe": recipe(name, params),
        "command": "" if private else command(name, params),
        "private": private,
    }


def holds_typed_text(kind: type[BaseParams], values: Mapping[str, Any]) -> bool:
    """Return whether a value is text that a person typed, so that the run is private."""
    texts = {p.name: p.default for p in parameters(kind) if p.typed}
    return any(values.get(name, default) != default for name, default in texts.items())


def _plain_kind(hint: Any) -> type:
    """Return int for `int | None`, str for a Literal, and so on."""
    # get_args of `int | None` is (int, NoneType), of Literal["a"] is ("a",), of a plain int is ().
    options = [option for option in get_args(hint) if option is not type(None)] or [hint]
    first = options[0]
    return first if isinstance(first, type) else str


_BOOLS = dict.fromkeys(("true", "1", "yes", "on"), True) | dict.fromkeys(
    ("false", "0", "no", "off"), False
)


def _read(parameter: Parameter, value: Any) -> Any:
    if value is None or not isinstance(value, str) or parameter.kind is str:
        return value
    if parameter.kind is bool:
        # A word that is neither stays as it is, and is refused like any other wrong choice.
        return _BOOLS.get(value.lower(), value)
    if parameter.kind is float:
        number = decimal_number(value)  # `0,003` is read as 0.003
        if number is not None:
            return number
    try:
        # "nan" and "inf" become numbers here, and are refused by the bounds.
        return parameter.kind(value)
    except ValueError:
        code = "setting_not_whole" if parameter.kind is int else "setting_not_a_number"
        raise SettingError(code, name=parameter.name, value=value) from None


def _refuse_wrong_kind(p: Parameter, value: Any) -> None:
    kinds = int | float if p.kind is float else p.kind
    # bool is a subclass of int in Python: without the second test True would be the number 1.
    if isinstance(value, kinds) and (p.kind is bool) == isinstance(value, bool):
        return
    if p.kind is bool:
        raise SettingError("setting_not_a_choice", name=p.name, value=value, choices="true, false")
    codes = {int: "setting_not_whole", float: "setting_not_a_number"}
    raise SettingError(codes.get(p.kind, "setting_not_text"), name=p.name, value=value)
