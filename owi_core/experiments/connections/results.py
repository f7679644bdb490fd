"""What the connections lab finds: numbers by model, and maps of which word moves which."""

from dataclasses import dataclass
from typing import Any

from msgspec import UNSET, UnsetType

from owi_core.events import Number
from owi_core.experiments._kit.results import BaseResult
from owi_core.probes.influence import InfluenceRecord


@dataclass(frozen=True)
class MapNumbers:
    """What two maps of a model show; None where two sentences of unequal length are compared."""

    influence_outside_window_max: Number
    influence_future_max: Number
    checks_passed: bool
    input_dependence: float | None
    last_row_dependence: float | None
    mixing_change: float | None


@dataclass(frozen=True)
class ModelResult:
    """What was measured of one kind of model; each part of the lab adds its own fields.

    receptive_field: None = all that its mask allows.  fresh, trained: the maps' numbers before and
    after training, of which the newest (maps_of) are also here themselves.  path_length: None = no
    way.  stopped: the cap that ended the sweep, if one did.
    """

    n_params: int | UnsetType = UNSET
    width: int | UnsetType = UNSET
    receptive_field: int | UnsetType | None = UNSET
    influence_outside_window_max: Number | UnsetType = UNSET
    influence_future_max: Number | UnsetType = UNSET
    checks_passed: bool | UnsetType = UNSET
    input_dependence: float | UnsetType | None = UNSET
    last_row_dependence: float | UnsetType | None = UNSET
    mixing_change: float | UnsetType | None = UNSET
    maps_of: str | UnsetType = UNSET
    fresh: MapNumbers | UnsetType = UNSET
    trained: MapNumbers | UnsetType = UNSET
    accuracy_by_distance: dict[str, Number] | UnsetType = UNSET
    path_length: dict[str, int | None] | UnsetType = UNSET
    lr: Number | UnsetType = UNSET
    train_seconds: Number | UnsetType = UNSET
    final_loss_nats: float | UnsetType | None = UNSET
    accuracy_by_data: dict[str, Number] | UnsetType = UNSET
    step_seconds_by_length: dict[str, Number] | UnsetType = UNSET
    slope: float | UnsetType | None = UNSET
    stopped: str | UnsetType | None = UNSET
    stopped_at: int | UnsetType | None = UNSET

    def map_numbers(self, state: str) -> MapNumbers:
        """Return the numbers of the maps of "fresh" or "trained" models that were measured."""
        numbers = self.fresh if state == "fresh" else self.trained
        assert isinstance(numbers, MapNumbers)
        return numbers


Record = dict[str, Any]  # an InfluenceRecord as JSON; `Result.record` reads and checks it


@dataclass(frozen=True)
class Result(BaseResult):
    """By kind of model, what was measured of it; maps: [state][kind][sentence a or b]."""

    part: str
    # All kinds of the part; a part that trains has fewer than the maps.
    models: dict[str, ModelResult]
    maps: dict[str, dict[str, dict[str, Record]]] | UnsetType = UNSET
    chance: Number | UnsetType = UNSET
    longest: int | UnsetType = UNSET

    def kinds(self, state: str) -> tuple[str, ...]:
        """Return the kinds of model that have maps in this state."""
        return () if isinstance(self.maps, UnsetType) else tuple(self.maps[state])

    def record(self, state: str, kind: str, side: str) -> InfluenceRecord:
        """Return one map as the record that it is; it checks its shapes again."""
        assert not isinstance(self.maps, UnsetType)
        return InfluenceRecord.from_dict(self.maps[state][kind][side])
