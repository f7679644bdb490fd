"""What a connection costs: time and memory against length, limited ranges, the √d_k, and depth.

A run measures one part, unit by unit; a paused run keeps the units that were done.
"""

import json
import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from owi_core.corpora.recall import RECALL_VOCABULARY
from owi_core.errors import SettingError
from owi_core.events import Control, Evaluated, Event, Finished, Started
from owi_core.experiments._kit.ending import early_end
from owi_core.experiments._kit.params import BaseParams, recipe, setting
from owi_core.experiments.cost import depth, outside, ranges, scale, time
from owi_core.experiments.cost.unit import Interrupted, Result
from owi_core.masks import Reach

NAME = "cost"
PARTS: dict[str, ModuleType] = {
    "time": time,
    "ranges": ranges,
    "outside": outside,
    "scale": scale,
    "depth": depth,
}
RESULTS: dict[str, type[Result]] = {name: part.Result for name, part in PARTS.items()}
_STATE = "units.json"
__all__ = ["NAME", "PARTS", "RESULTS", "Params", "Result", "run"]


@dataclass(frozen=True)
class Params(BaseParams):
    """What may be set; None takes the value that suits the part."""

    part: str = setting("time", "what is measured", choices=tuple(PARTS), decides=True)
    length: int | None = setting(None, "tokens in the longest sequence", low=16, high=4096)
    window: int | None = setting(None, "keys in a window, itself counted", low=1, high=512)
    n_global: int = setting(1, "global positions at the beginning", low=0, high=64)
    step: int = setting(2, "factor of the dilation from layer to layer", low=2, high=16)
    d_model: int | None = setting(
        None, "width of the Transformer; the others are as large", low=8, high=256
    )
    n_layer: int = setting(2, "layers of the Transformer", low=1, high=6)
    n_head: int | None = setting(None, "heads per layer", low=1, high=16)
    cap_seconds: float = setting(8.0, "CPU seconds for one sweep", low=0.01, high=60.0)
    cap_mb: int = setting(512, "MiB for one measurement", low=1, high=1024)
    steps: int | None = setting(None, "training steps of each model", low=0, high=5000)
    batch_size: int | None = setting(None, "samples per step", low=1, high=256)
    lr: float | None = setting(None, "highest learning rate", low=1e-6, high=10.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        assert self.d_model is not None
        assert self.n_head is not None
        if self.d_model % self.n_head:
            raise SettingError("d_model_not_divisible", d_model=self.d_model, n_head=self.n_head)

    def usual(self) -> dict[str, Any]:
        """Return the values that suit the part."""
        return dict(PARTS[self.part].USUAL)

    @property
    def reach(self) -> Reach:
        """The window, its global positions and its dilation."""
        assert self.window is not None
        return Reach(self.window, self.n_global, self.step)


def run(
    params: Params,
    folder: Path | None = None,
    control: Control | None = None,
    resume: bool = False,
) -> Iterator[Event]:
    """Measure one part; Evaluated after each unit holds what is known so far.

    Ends with Finished, or early with Diverged, Paused or Stopped.
    """
    control = control or Control()
    part = PARTS[params.part]
    units = part.units(params)
    # A time that was taken before a pause stays as good as a new one.
    done: dict[str, Any] = _kept(folder) if resume else {}
    uniform = _uniform_nats(params.part)
    yield Started(NAME, asdict(params), recipe(NAME, params), len(units), 0, [], uniform)
    for number, unit in enumerate(units, start=1):
        # Measured before the pause; its numbers were kept.
        if unit.name not in done:
            try:
                done[unit.name] = yield from unit.measure(control)
            # From deep inside a measurement: an exception ends it without a test in every loop.
            except Interrupted as end:
                yield end.event or early_end(
                    number - 1, folder, control, save_state=lambda place: _keep(place, done)
                )
                return
        # All that is known so far, so that a page may draw from the newest event alone.
        yield Evaluated(number, part.metrics(done))
    result = part.result(params, done)
    yield Finished(NAME, asdict(params), result.to_dict(), part.verdict(result).to_dict())


def _keep(folder: Path, done: dict[str, Any]) -> None:
    (folder / _STATE).write_text(json.dumps(done), encoding="utf-8")


def _uniform_nats(part: str) -> float | None:
    """Return ln V of the tokens that a part trains on; None for a part that only measures."""
    # Outside and scale train on the same recall, depth on sentences.
    sizes = {"outside": RECALL_VOCABULARY, "scale": RECALL_VOCABULARY}
    size = depth.vocab_size() if part == "depth" else sizes.get(part)
    return None if size is None else math.log(size)


def _kept(folder: Path | None) -> dict[str, Any]:
    """Return the units that a paused run had measured; none where nothing can be read."""
    # Damaged or missing: measuring again is always possible.
    with suppress(OSError, ValueError):
        if folder is not None:
            return dict(json.loads((folder / _STATE).read_text(encoding="utf-8")))
    return {}
