"""What a run reports while it goes on: frozen events, one JSON line each."""

import json
import math
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, Literal

from owi_core.errors import RunError

EVENT_VERSION = 1


@dataclass(frozen=True)
class Event:
    """What every event has: its name, which is also what tells one JSON line from another."""

    event: ClassVar[str]


@dataclass(frozen=True)
class Started(Event):
    """A run begins; `recipe` is the hash of experiment, parameters and code version."""

    event: ClassVar[str] = "started"
    experiment: str
    params: dict[str, Any]
    recipe: str
    steps: int
    n_params: int


@dataclass(frozen=True)
class StepDone(Event):
    """One training step: its loss before the update, and how fast the run is."""

    event: ClassVar[str] = "step"
    step: int
    steps: int
    loss_nats: float
    lr: float
    tokens_per_second: float
    seconds: float
    seconds_left: float


@dataclass(frozen=True)
class Snapshot(Event):
    """The watched sentence's pattern [layer][head][query_pos][key_pos] after `step` steps."""

    event: ClassVar[str] = "snapshot"
    step: int
    tokens: list[str]
    query: int
    pattern: list[list[list[list[float]]]]


@dataclass(frozen=True)
class Evaluated(Event):
    """Measured with dropout off, on what the metric's name says."""

    event: ClassVar[str] = "evaluated"
    step: int
    metrics: dict[str, float]


@dataclass(frozen=True)
class Diverged(Event):
    """The loss is no finite number any more; the run ended here."""

    event: ClassVar[str] = "diverged"
    step: int
    settings: dict[str, Any]
    remedy: str


@dataclass(frozen=True)
class Paused(Event):
    """The run's state lies in its folder; it can go on from there."""

    event: ClassVar[str] = "paused"
    step: int


@dataclass(frozen=True)
class Stopped(Event):
    """The run was ended early; the model as it was lies in its folder."""

    event: ClassVar[str] = "stopped"
    step: int


@dataclass(frozen=True)
class Finished(Event):
    """The run came to its end; `verdict` holds code, passed and the values it was chosen by."""

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
    """What somebody outside asks of a run; the run looks at it once a step."""

    request: Literal["run", "pause", "stop"] = "run"


def to_json(event: Event) -> str:
    """Return the event as one line of JSON; a number that is not finite becomes null."""
    values = {"event": event.event, "version": EVENT_VERSION} | asdict(event)
    return json.dumps(_finite(values), ensure_ascii=False, allow_nan=False)


def from_json(line: str) -> Event:
    """Return the event in `line`; raise RunError when it is none, or of another version."""
    try:
        values = json.loads(line)
        kind = KINDS[values.pop("event")]
        if values.pop("version") != EVENT_VERSION:
            raise RunError("event_unreadable", reason="version")
        names = {f.name for f in fields(kind)}
        if names != set(values):
            raise RunError("event_unreadable", reason="fields")
        return kind(**values)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise RunError("event_unreadable", reason=type(error).__name__) from error


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
