"""What a trace is for a reader who takes the numbers away: values, a mark, or decoration.

The table and the alternative text of a figure are read from its traces.  How a trace looks does
not say what it is: a hatch drawn as bars of full height would be read as weights of 1.0.
So a trace that is not made of values declares it, in Plotly's `meta`, which is stored with the
figure and never drawn.
"""

from collections.abc import Sequence
from typing import Any, Literal

Role = Literal["values", "mark", "decoration"]


def mark() -> dict[str, Any]:
    """Return the `meta` of a trace that names places (forbidden cells) but has no values."""
    return {"role": "mark"}


def decoration() -> dict[str, Any]:
    """Return the `meta` of a trace that repeats what another trace says: hatches, frames."""
    return {"role": "decoration"}


def marked(marks: Sequence[str]) -> dict[str, Any]:
    """Return the `meta` of values of which some carry a mark; "" is a value without one."""
    return {"role": "values", "marks": list(marks)}


def role_of(trace: Any) -> Role:
    """Return what a trace declares; a trace that declares nothing is made of values."""
    role: Role = _meta(trace).get("role", "values")
    return role


def marks_of(trace: Any) -> list[str]:
    """Return the mark of each value, or an empty list if no value has one."""
    return list(_meta(trace).get("marks", ()))


def _meta(trace: Any) -> dict[str, Any]:
    # Plotly lets meta be anything; one set elsewhere says nothing about the role.
    return trace.meta if isinstance(trace.meta, dict) else {}
