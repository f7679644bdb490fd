"""An immutable NumPy snapshot of one forward pass, with checks of its own numbers.

Shapes: L layers, H heads, T_q query tokens, T_k key tokens; axes [layer, head, query_pos, key_pos].
"""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

RECORD_VERSION = 1
ROW_SUM_TOLERANCE = 1e-5  # rounding in single precision stays below it

Span = tuple[int, int]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Check:
    """A check of a record: what was tested, whether it passed, and the value measured."""

    code: str
    passed: bool
    value: float


@dataclass(frozen=True, eq=False)  # == of arrays is an array, not a truth value
class AttentionRecord:
    """The attention of one sentence in one model.

    scores before the softmax and pattern after it: (L, H, T_q, T_k).
    head_outputs: (L, H, T_q, d_head), what each head read, before W_O.
    mask: (T_q, T_k) bool, True = may attend.  spans: (start, end) of each token in `text`.
    grid: (rows, columns) when the tokens are patches of a picture.
    """

    text: str
    query_tokens: tuple[str, ...]
    key_tokens: tuple[str, ...]
    query_spans: tuple[Span, ...]
    key_spans: tuple[Span, ...]
    scores: Floats
    pattern: Floats
    head_outputs: Floats
    mask: NDArray[np.bool_]
    kind: Literal["self", "cross"] = "self"
    grid: tuple[int, int] | None = None
    training: bool = False
    version: int = field(default=RECORD_VERSION)

    def __post_init__(self) -> None:
        # frozen=True protects the fields, not the arrays in them.
        for array in (self.scores, self.pattern, self.head_outputs, self.mask):
            array.flags.writeable = False

    @property
    def n_layer(self) -> int:
        return int(self.pattern.shape[0])

    @property
    def n_head(self) -> int:
        return int(self.pattern.shape[1])

    def row(self, query: int, layer: int, head: int | None = None) -> Floats:
        """Return the weights (T_k,) of one query in one head, or the mean over heads."""
        rows: Floats = self.pattern[layer, :, query]  # (H, T_k)
        row: Floats = rows.mean(axis=0) if head is None else rows[head]
        return row

    def checks(self) -> tuple[Check, ...]:
        """Return the checks: row sums, forbidden keys, dropout, shapes."""
        # First, because the other checks index by these shapes.
        shape_errors = self._shape_errors()
        if shape_errors:
            return (Check("shapes_fit", False, float(shape_errors)),)
        # The maximum, not the mean: one bad row among thousands must fail.  NaN fails as well,
        # because every comparison with it is false.
        row_error = float(np.abs(self.pattern.sum(axis=-1) - 1).max())
        forbidden = self.pattern[..., ~self.mask]  # (L, H, number of forbidden pairs)
        leak = float(np.abs(forbidden).max()) if forbidden.size else 0.0
        return (
            Check("rows_sum_to_one", row_error <= ROW_SUM_TOLERANCE, row_error),
            Check("forbidden_is_zero", leak == 0.0, leak),
            Check("dropout_off", not self.training, float(self.training)),
            Check("shapes_fit", True, 0.0),
        )

    def _shape_errors(self) -> int:
        L, H = self.pattern.shape[:2] if self.pattern.ndim == 4 else (0, 0)
        T_q, T_k = len(self.query_tokens), len(self.key_tokens)
        wanted = [
            self.pattern.shape == (L, H, T_q, T_k) and L > 0,
            self.scores.shape == self.pattern.shape,
            self.mask.shape == (T_q, T_k),
            self.head_outputs.ndim == 4 and self.head_outputs.shape[:3] == (L, H, T_q),
            len(self.query_spans) == T_q and len(self.key_spans) == T_k,
        ]
        return wanted.count(False)
