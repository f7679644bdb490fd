"""Two sentences in one model: how their rows differ, and whether their words are the same."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from owi_core.readings import Reading
from owi_core.segmentation import usual_form


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two sentences in one model, each seen from its own query token."""

    a: Reading
    b: Reading

    def to_dict(self) -> dict[str, Any]:
        """Return what the command line prints."""
        return {"a": self.a.to_dict(), "b": self.b.to_dict(), "row_difference": self._difference()}

    def _difference(self) -> list[list[float]] | None:
        """Return B's row minus A's for each layer, mean over heads; None for two lengths."""
        if len(self.a.labels) != len(self.b.labels):
            return None
        layers = range(self.a.record.n_layer)
        rows = [
            self.b.record.row(self.b.query, i) - self.a.record.row(self.a.query, i) for i in layers
        ]
        return [row.tolist() for row in rows]


def row_gap(a: Reading, b: Reading) -> float | None:
    """Return the largest difference between the two rows in any layer and head.

    None when they have no common positions: other queries, other models, or sentences of unequal
    length whose queries see words that come later.
    """
    if a.query != b.query or a.bundle.source is not b.bundle.source:
        return None
    seen = len(a.labels)
    if seen != len(b.labels):
        if not (a.sees_no_later and b.sees_no_later):
            return None
        # What comes after the query has weight 0 in both rows, however long the sentences are.
        seen = a.query + 1
    rows = [reading.record.pattern[:, :, reading.query, :seen] for reading in (a, b)]
    return float(np.abs(rows[0] - rows[1]).max())


def same_words(a: Reading, b: Reading) -> bool:
    """Return whether both sentences have the same words up to the query.

    Words are compared, not ids: two unknown words can have the same id in two sentences.
    """
    words = [[usual_form(word) for word in r.labels[: r.query + 1]] for r in (a, b)]
    return words[0] == words[1]
