"""What a run reports while it goes on: frozen events, one JSON line each.

The lines pass from a worker process to the server, and stay in a file beside the model.
"""

import json
import math
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from msgspec import Struct

from owi_core.errors import RunError
from owi_core.untrusted import MisfitError, checked, short

EVENT_VERSION = 1

# JSON has no NaN and no infinity: `to_json` writes null, and a line that is read back holds None.
# Code that draws tests for it; for the type checker such a field is a number.
if TYPE_CHECKING:
    Number = float
else:
    Number = float | None


@dataclass(frozen=True)
class Event:
    """What every event has: its name, which is also the key `event` of its JSON line."""

    event: ClassVar[str]


@dataclass(frozen=True)
class Remark:
    """A sentence about a run's settings: code and values, as those of an OwiError."""

    code: str
    values: dict[str, Any]


@dataclass(frozen=True)
class Started(Event):
    """A run begins; `recipe` is the hash of experiment, parameters and code version.

    remarks: what was set and does not act as its name says; code and values of a sentence each.
    uniform_nats: ln V, the loss of giving every token of the vocabulary the same probability;
    None where a run has no single vocabulary.
    """

    event: ClassVar[str] = "started"
    experiment: str
    params: dict[str, Any]
    recipe: str
    steps: int
    n_params: int
    remarks: list[Remark] = field(default_factory=list)
    uniform_nats: float | None = None


@dataclass(frozen=True)
class StepDone(Event):
    """One training step: its loss before the update, and how fast the run is."""

    event: ClassVar[str] = "step"
    step: int
    steps: int
    loss_nats: Number
    lr: Number
    tokens_per_second: Number
    seconds: Number
    seconds_left: Number


@dataclass(frozen=True)
class Snapshot(Event):
    """The watched sentence's pattern [layer][head][query_pos][key_pos] after `step` steps.

    keys: the words looked at, where they are another text's than the words that look.
    """

    event: ClassVar[str] = "snapshot"
    step: int
    tokens: list[str]
    query: int
    pattern: list[list[list[list[Number]]]]
    keys: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Evaluated(Event):
    """Measured with dropout off, on the data that the metric's name says."""

    event: ClassVar[str] = "evaluated"
    step: int
    metrics: dict[str, Number]


@dataclass(frozen=True)
class Diverged(Event):
    """The loss is not a finite number any more; the run ended here."""

    event: ClassVar[str] = "diverged"
    step: int
    settings: dict[str, Any]
    remedy: str


@dataclass(frozen=True)
class Paused(Event):
    """The run's state is saved in its folder and can be continued from there."""

    event: ClassVar[str] = "paused"
    step: int


@dataclass(frozen=True)
class Stopped(Event):
    """The run was ended early; the model as it was then is saved in its folder."""

    event: ClassVar[str] = "stopped"
    step: int


@dataclass(frozen=True)
class Finished(Event):
    """The run completed; `verdict` holds code, passed and the values it was chosen by."""

    event: ClassVar[str] = "finished"
    experiment: str
    params: dict[str, Any]
    result: dict[str, Any]
    verdict: dict[str, Any]


@dataclass(frozen=True)
class Failed(Event):
    """The run could not go on: the code and values of an OwiError."""

    event: ClassVar[str] = "failed"
    code: str
    values: dict[str, Any] = field(default_factory=dict)


KINDS: dict[str, type[Event]] = {
    kind.event: kind
    for kind in (
        Started, StepDone, Snapshot, Evaluated, Diverged, Paused, Stopped, Finished, Failed
    )
}  # fmt: skip


@dataclass
class Control:
    """What another thread requests of a run; the run looks at it once a step."""

    request: Literal["run", "pause", "stop"] = "run"


def to_json(event: Event) -> str:
    """Return the event as one line of JSON; a number that is not finite becomes null."""
    values = {"event": event.event, "version": EVENT_VERSION} | asdict(event)
    return json.dumps(_finite(values), ensure_ascii=False, allow_nan=False)


class _Envelope(Struct, frozen=True):
    """What a line must say before the rest of it can be read."""

    event: str
    version: Literal[1]


def from_json(line: str) -> Event:
    """Return the event in `line`.

    Raises RunError("event_unreadable", reason), naming the field and its value, for a line of
    another version or of any other form.
    """
    try:
        # Not msgspec's JSON: it refuses half characters, and what a user typed may contain one.
        values = json.loads(line)
        envelope = checked(values, _Envelope)
        kind = KINDS.get(envelope.event)
        if kind is None:
            raise MisfitError("unknown event", ("event",), envelope.event)
        del values["event"], values["version"]
        # msgspec ignores what a dataclass does not name; a line with more is not one of ours.
        for name in values.keys() - {f.name for f in fields(kind)}:
            raise MisfitError("unknown field", (short(name),), values[name])
        return checked(values, kind)
    except MisfitError as error:
        raise RunError("event_unreadable", reason=error.where) from error
    except (ValueError, RecursionError) as error:
        raise RunError("event_unreadable", reason="not JSON") from error


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
