"""How far each word moves each output, the same measure for every kind of model.

The output at a position is its logits.  Shapes: T tokens, V vocabulary, W width of the embedding.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from owi_core import masks
from owi_core.errors import ModelFileError, TextError
from owi_core.peers import AnyModel, Peer, logits_from_rows, mixing_weights
from owi_core.record import ROW_SUM_TOLERANCE, Check

INFLUENCE_VERSION = 2  # 1 held estimates from random directions
MAX_TOKENS = 64  # the sentence is run once for each of its tokens
MAX_GRADIENTS = 2_000_000  # numbers of gradients held at a time
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)  # == of arrays is an array, not a truth value
class InfluenceRecord:
    """‖∂ logits at t / ∂ embedding of token s‖ of one sentence in one model.

    influence: (T, T) as [t, s].
    reach: (T, T) bool, True where the architecture lets s reach t.
    """

    kind: str
    tokens: tuple[str, ...]
    influence: Floats
    reach: NDArray[np.bool_]
    version: int = field(default=INFLUENCE_VERSION)

    def __post_init__(self) -> None:
        for array in (self.influence, self.reach):
            array.flags.writeable = False

    @property
    def shares(self) -> Floats:
        """Each row divided by its sum, (T, T); a row of zeros stays a row of zeros."""
        total = self.influence.sum(axis=1, keepdims=True)
        shares: Floats = np.divide(
            self.influence, total, out=np.zeros_like(self.influence), where=total > 0
        )
        return shares

    @property
    def future_max(self) -> float:
        """The largest influence of a later word on an earlier output; 0 for a causal model."""
        return float(np.triu(self.influence, 1).max())

    @property
    def outside_max(self) -> float:
        """The largest influence between positions that the architecture does not connect."""
        return float(self.influence[~self.reach].max(initial=0.0))

    def checks(self) -> tuple[Check, ...]:
        """Return what the record proves: shapes, finite numbers, the forbidden side, rows."""
        wrong = self._shape_errors()
        if wrong:
            return (Check("shapes_fit", False, float(wrong)),)
        not_finite = int((~np.isfinite(self.influence)).sum())
        if not_finite:
            return (Check("numbers_finite", False, float(not_finite)),)
        row_error = float(np.abs(self.shares.sum(axis=1) - 1).max())
        return (
            Check("rows_sum_to_one", row_error <= ROW_SUM_TOLERANCE, row_error),
            Check("forbidden_is_zero", self.outside_max == 0.0, self.outside_max),
            Check("numbers_finite", True, 0.0),
            Check("shapes_fit", True, 0.0),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary that JSON can carry; `from_dict` gives the same record back."""
        return {
            "kind": self.kind,
            "tokens": list(self.tokens),
            "influence": self.influence.tolist(),
            "reach": self.reach.tolist(),
            "version": self.version,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return the record in `values`; raise ModelFileError for anything else."""
        try:
            if values["version"] != INFLUENCE_VERSION:
                found = values["version"]
                raise ModelFileError("record_version", found=found, known=INFLUENCE_VERSION)
            record = cls(
                str(values["kind"]),
                tuple(str(token) for token in values["tokens"]),
                np.array(values["influence"], dtype=np.float64),
                np.array(values["reach"], dtype=np.bool_),
            )
            fits = record._shape_errors() == 0
        except KeyError as error:  # the field that is missing; "KeyError" helps no reader
            raise ModelFileError("record_unreadable", reason=f"{error.args[0]} ?") from error
        except (TypeError, ValueError) as error:  # words where numbers belong, or rows of two sizes
            raise ModelFileError("record_unreadable", reason="shapes") from error
        if not fits:
            raise ModelFileError("record_unreadable", reason="shapes")
        return record

    def _shape_errors(self) -> int:
        wanted = (len(self.tokens), len(self.tokens))
        return [self.influence.shape == wanted, self.reach.shape == wanted].count(False)


def influence_record(
    kind: str, model: AnyModel, ids: torch.Tensor, tokens: Sequence[str]
) -> InfluenceRecord:
    """Return the influence of a sentence's words on each other in a model of a kind."""
    found = influence(model, ids)
    return InfluenceRecord(kind, tuple(tokens), found.numpy(), reach(model, ids.shape[0]))


def influence(model: AnyModel, ids: torch.Tensor) -> torch.Tensor:
    """Return ‖∂ logits at t / ∂ embedding of token s‖, the Frobenius norm, (T, T) as [t, s].

    Exact up to rounding.  Where the output cannot depend on the token it is exactly 0, because a
    vector-Jacobian product of zeros is.  ids: (T,).
    Raises TextError for a sentence that is too long or has fewer than two tokens.
    """
    T = ids.shape[0]
    _refuse_length(T)
    model.eval()
    # One copy of the sentence for each output position: the outputs then share no input, so a
    # single backward pass gives the gradients of all T positions without mixing them.
    rows = model.embedding.weight.detach()[ids].repeat(T, 1, 1).requires_grad_()  # (T, T, W)
    logits = logits_from_rows(model, rows).diagonal()  # (V, T): in copy t the output at t
    squares = torch.zeros(T, T, dtype=torch.float64)
    basis = _basis_of_logits(model)  # (R, V)
    # Many directions at once cost little more than one, as long as their gradients fit in memory.
    for directions in torch.split(basis, max(1, MAX_GRADIENTS // rows.numel())):
        given = directions[:, :, None].expand(-1, -1, T)  # (r, V, T)
        (gradients,) = torch.autograd.grad(
            logits, rows, given, retain_graph=True, is_grads_batched=True
        )  # (r, T, T, W)
        squares += gradients.double().square().sum((0, 3))
    return squares.sqrt()


@torch.no_grad()
def _basis_of_logits(model: AnyModel) -> torch.Tensor:
    """Return orthonormal directions that span every change the logits can make, (R, V).

    The head is linear: logits = H h + b, so J = H ∂h and the columns of J lie in the column space
    of H.  For an orthonormal basis Q of that space Σ_i ‖Jᵀ q_i‖² = ‖Qᵀ J‖² = ‖J‖², with only
    R = min(V, W) products instead of V.
    """
    V, W = model.lm_head.weight.shape
    if V <= W:
        return torch.eye(V)
    basis: torch.Tensor = torch.linalg.qr(model.lm_head.weight).Q.T  # (W, V)
    return basis


def reach(model: AnyModel, T: int) -> NDArray[np.bool_]:
    """Return which word can reach which output by the architecture, (T, T) bool as [t, s]."""
    if not isinstance(model, Peer):
        return model.default_mask(T).numpy()
    field = model.receptive_field
    return (masks.causal(T) if field is None else masks.window(T, field)).numpy()


def input_dependence(a: Floats, b: Floats) -> float:
    """Return ‖a − b‖ / mean(‖a‖, ‖b‖), from 0 (the same) to 2: how far two maps differ.

    a, b: of one shape.  Raises ValueError otherwise.
    """
    if a.shape != b.shape:
        raise ValueError(f"the maps have shapes {a.shape} and {b.shape}: they must agree")
    size = (float(np.linalg.norm(a)) + float(np.linalg.norm(b))) / 2
    return float(np.linalg.norm(a - b)) / size if size else 0.0


@torch.no_grad()
def mixing_change(model: AnyModel, a: torch.Tensor, b: torch.Tensor) -> float:
    """Return by how much the mixing weights themselves differ between two sentences (T,).

    Those are a kernel, a recurrent matrix, a gate or an attention pattern: the weights of the sum
    over positions, without what a norm or an activation does afterwards.
    """
    model.eval()
    first, second = (mixing_weights(model, ids[None]).double().numpy() for ids in (a, b))
    return input_dependence(first, second)


def _refuse_length(T: int) -> None:
    if T < 2:
        raise TextError("sentence_of_one_token", tokens=T, least=2)
    if T > MAX_TOKENS:
        raise TextError("text_over_block", tokens=T, block_size=MAX_TOKENS, over=T - MAX_TOKENS)
