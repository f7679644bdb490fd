"""The numbers typed over those of a step, kept as a list, so that a link can carry them."""

from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from owi_core.errors import OwiError
from owi_core.probes.derivation import GIVEN, PER_HEAD, Cell, tables_of
from owi_core.probes.step import StepInputs, with_cells
from owi_core.untrusted import Count, MisfitError, checked
from pages._ui.session.state import forget, held, keep, refuse, renew, set_kept

CHANGED, CELL = "step.changed", "step.cell"
MOST = 1000.0

# Table, row, column; then the number in that cell.
Place = tuple[str, Count, Count]
Change = tuple[str, Count, Count, Annotated[float, Meta(ge=-MOST, le=MOST)]]


def edited(origin: Any, given: StepInputs) -> tuple[StepInputs, Cell | None, int]:
    """Return the given numbers with the edits applied, the chosen cell, and the count."""
    renew("step.changed_in", origin, CHANGED, CELL)
    kept: list[Any] = held(CHANGED, [])
    named = [_number(change, given) for change in kept]
    changes = {(*cell,): value for cell, value in named if cell is not None}
    try:
        inputs = with_cells(given, changes)
    except OwiError:  # together they leave a query nothing to look at
        inputs, changes = given, {}
    if len(changes) < len(kept):
        refuse(CHANGED)
    return inputs, _cell(held(CELL, []), given), len(changes)


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


def _number(change: object, given: StepInputs) -> tuple[Cell | None, float]:
    """Return the cell that a link names and its number, if both fit and the cell can be edited."""
    try:
        table, row, column, value = checked(change, Change)
    except MisfitError:
        return None, 0.0
    cell = _cell((table, row, column), given)
    return (cell, value) if cell and cell.table in GIVEN else (None, 0.0)


def _cell(sent: object, given: StepInputs) -> Cell | None:
    """Return the cell that a link names, if the step has it."""
    try:
        table, row, column = checked(sent, Place)
    except MisfitError:
        return None
    if table not in tables_of(given):
        return None
    rows, columns = _shape(table, given)
    return Cell(table, row, column) if row < rows and column < columns else None


def _shape(table: str, given: StepInputs) -> tuple[int, int]:
    """Return the shape of a table as one head sees it."""
    T, d = given.x.shape
    if table in ("w_q", "w_k", "w_v", "w_o"):
        return d, d
    if table == "z":
        return T, given.d_head
    return (T, T) if table in PER_HEAD or table == "mask" else (T, d)
