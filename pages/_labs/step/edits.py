"""What was typed over the numbers of a step, kept as a list, so that a link can carry it."""

import math
from typing import Any

import numpy as np

from owi_core.errors import OwiError
from owi_core.probes.derivation import GIVEN, PER_HEAD, Cell, tables_of
from owi_core.probes.step import StepInputs, with_cell
from pages._ui.session.state import forget, held, keep, renew, set_kept

CHANGED, CELL = "step.changed", "step.cell"
MOST = 1000.0


def edited(origin: Any, given: StepInputs) -> tuple[StepInputs, Cell | None, int]:
    """Return the given numbers with what was typed over them, the chosen cell, and how many."""
    renew("step.changed_in", origin, CHANGED, CELL)
    inputs, count = given, 0
    changes: list[Any] = held(CHANGED, [])
    for change in changes:
        cell, value = _number(change, given)
        if cell is None:
            continue
        try:
            inputs = with_cell(inputs, *cell, bool(value) if cell.table == "mask" else value)
            count += 1
        except OwiError:
            continue
    return inputs, _cell(held(CELL, []), given), count


def note(given: StepInputs, inputs: StepInputs, selected: Cell | None) -> None:
    """Keep what differs from the given numbers, and the chosen cell."""
    changes: list[list[Any]] = []
    for table in GIVEN:
        before, now = getattr(given, table), getattr(inputs, table)
        for row, column in np.argwhere(before != now).tolist():
            changes.append([table, row, column, float(now[row, column])])
    for key, value in ((CHANGED, changes), (CELL, list(selected) if selected else [])):
        set_kept(key, value)
        keep(key, [])


def forget_all() -> None:
    """Go back to the given numbers."""
    forget(CHANGED)
    forget(CELL)


def _number(change: Any, given: StepInputs) -> tuple[Cell | None, float]:
    """Return the cell that a link names and what stands there, if it is one that is given."""
    if not isinstance(change, list) or len(change) != 4:
        return None, 0.0
    cell, value = _cell(change[:3], given), change[3]
    real = isinstance(value, int | float) and math.isfinite(value) and abs(value) <= MOST
    return (cell, float(value)) if cell and cell.table in GIVEN and real else (None, 0.0)


def _cell(sent: Any, given: StepInputs) -> Cell | None:
    if not isinstance(sent, list) or len(sent) != 3 or sent[0] not in tables_of(given):
        return None
    if not all(isinstance(place, int) and not isinstance(place, bool) for place in sent[1:]):
        return None
    rows, columns = _shape(sent[0], given)
    inside = 0 <= sent[1] < rows and 0 <= sent[2] < columns
    return Cell(*sent) if inside else None


def _shape(table: str, given: StepInputs) -> tuple[int, int]:
    """Return the shape of a table as one head sees it."""
    T, d = given.x.shape
    if table in ("w_q", "w_k", "w_v", "w_o"):
        return d, d
    if table == "z":
        return T, given.d_head
    return (T, T) if table in PER_HEAD or table == "mask" else (T, d)
