"""Six mistakes of beginners, each beside the right code, and the check that catches it.

Shapes: q, k, v (H, T, D); hidden (T,) bool, True = a padded token that no query may look at.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from owi_core.attention import attention_pattern, attention_scores
from owi_core.config import ModelConfig
from owi_core.errors import SettingError
from owi_core.probes import step
from owi_core.probes.step import Floats, StepInputs, run_step

CLOSE = 1e-5
# The spread of q·k/√d is 1 for normal q and k; without the root it is √d = 8 here.
_WIDE, _DRAWS, MOST_SPREAD = 64, 256, 1.5


class Attended(NamedTuple):
    """What a way of attending computed: scores as the softmax saw them, and weights (H, T, T)."""

    scores: Tensor
    pattern: Tensor


Attend = Callable[[Tensor, Tensor, Tensor], Attended]  # q, k, mask
Split = Callable[[Tensor, int], Tensor]  # (T, d), n_head


@dataclass(frozen=True)
class Outcome:
    """A check's name, whether it held, and the number it was decided by."""

    check: str
    passed: bool
    value: float


@dataclass(frozen=True)
class Trial:
    """A mistake, its check without it and with it, and the weights of both (T, T), first head."""

    mistake: str
    right: Outcome
    wrong: Outcome
    right_pattern: Floats
    wrong_pattern: Floats


def right(q: Tensor, k: Tensor, mask: Tensor) -> Attended:
    """Attend as it should be."""
    scores = attention_scores(q, k)
    return Attended(scores, attention_pattern(scores, mask))


def softmax_over_queries(q: Tensor, k: Tensor, mask: Tensor) -> Attended:
    """Mistake: dim=-2, so that columns sum to 1 and rows do not."""
    scores = attention_scores(q, k).masked_fill(~mask, -torch.inf)
    # dim=-1 shares a query among its keys; dim=-2 shares a key among the queries.
    return Attended(scores, scores.softmax(dim=-2))


def no_scaling(q: Tensor, k: Tensor, mask: Tensor) -> Attended:
    """Mistake: √d_head is forgotten."""
    # A dot product of D numbers of variance 1 has variance D: the softmax saturates.
    scores = attention_scores(q, k, scale=False)
    return Attended(scores, attention_pattern(scores, mask))


def mask_after_softmax(q: Tensor, k: Tensor, mask: Tensor) -> Attended:
    """Mistake: the weights are cut to 0 after they were shared out."""
    scores = attention_scores(q, k)
    # What a forbidden key had is lost, not given to the others.
    return Attended(scores, scores.softmax(dim=-1) * mask)


def mask_on_queries(q: Tensor, k: Tensor, mask: Tensor) -> Attended:
    """Mistake: the padding mask is broadcast along queries; −1e9 hides the NaN it would give."""
    scores = attention_scores(q, k).masked_fill(~mask.transpose(-2, -1), -1e9)
    return Attended(scores, scores.softmax(dim=-1))


def split_without_transpose(x: Tensor, n_head: int) -> Tensor:
    """Mistake: (T, d) viewed as (H, T, D) at once, which mixes tokens."""
    T, d = x.shape
    # The shape is right, so no error shows it: the first head gets the first tokens whole.
    return x.reshape(n_head, T, d // n_head)


def split_with_rest(x: Tensor, n_head: int) -> Tensor:
    """Mistake: d // n_head rounds down and the last columns fall away in silence."""
    T, d = x.shape
    D = d // n_head
    # The slice is what a hand-written loop over heads does without saying so.
    return x[:, : n_head * D].view(T, n_head, D).transpose(0, 1)


def rows_sum_to_one(attend: Attend, inputs: StepInputs) -> Outcome:
    """Every row of the weights sums to 1, without a mask."""
    q, k = _queries_and_keys(inputs)
    pattern = attend(q, k, _open(inputs)).pattern
    error = float((pattern.sum(-1) - 1).abs().max())
    return Outcome("rows_sum_to_one", error <= CLOSE, error)


def masked_rows_sum_to_one(attend: Attend, inputs: StepInputs) -> Outcome:
    """Every row sums to 1 also under a causal mask."""
    q, k = _queries_and_keys(inputs)
    pattern = attend(q, k, _causal(inputs)).pattern
    error = float((pattern.sum(-1) - 1).abs().max())
    return Outcome("masked_rows_sum_to_one", error <= CLOSE, error)


def spread_stays_one(attend: Attend, inputs: StepInputs) -> Outcome:
    """The standard deviation of the scores does not grow with d_head."""
    rng = torch.Generator().manual_seed(0)
    # Wide and drawn here: in 8 dimensions the missing √d_head is hard to see.
    q, k = (torch.randn(1, _DRAWS, _WIDE, generator=rng) for _ in "qk")
    scores = attend(q, k, torch.ones(_DRAWS, _DRAWS, dtype=torch.bool)).scores
    spread = float(scores.std())
    return Outcome("spread_stays_one", spread <= MOST_SPREAD, spread)


def padded_keys_get_zero(attend: Attend, inputs: StepInputs) -> Outcome:
    """The last token is padding: every query gives it exactly 0."""
    q, k = _queries_and_keys(inputs)
    pattern = attend(q, k, _padding(inputs)).pattern
    # Exactly 0: a masked score is −∞, whose exponential is exactly 0.
    weight = float(pattern[..., -1].abs().max())
    return Outcome("padded_keys_get_zero", weight == 0.0, weight)


def heads_keep_tokens(split: Split, inputs: StepInputs) -> Outcome:
    """A change of the first token changes the first row of each head and no other."""
    x = torch.from_numpy(inputs.x)
    other = x.clone()
    other[0] += 1.0
    # One head would hide the mistake: with H = 1 both ways are the same view.
    n_head = 2
    touched = (split(other, n_head) != split(x, n_head)).any(dim=-1)  # (H, T)
    # Rows that moved and should not have, and first rows that did not move.
    strange = int(touched[:, 1:].sum() + (~touched[:, 0]).sum())
    return Outcome("heads_keep_tokens", strange == 0, strange)


def every_column_used(split: Split, inputs: StepInputs) -> Outcome:
    """No column of x is lost when it is split into heads that do not divide it."""
    x = torch.from_numpy(inputs.x)
    T, d = x.shape
    lost = d - split(x, _not_dividing(d)).numel() // T
    return Outcome("every_column_used", lost == 0, lost)


def refusal(d_model: int) -> SettingError:
    """Return the message that the model gives instead of losing columns."""
    try:
        ModelConfig(vocab_size=2, d_model=d_model, n_head=_not_dividing(d_model))
    except SettingError as error:
        return error
    # Reached only if ModelConfig stopped refusing: the page must not show an empty message.
    raise AssertionError("a number of heads that does not divide was taken")


def trials(inputs: StepInputs) -> tuple[Trial, ...]:
    """Try every mistake on these inputs: its check without it and with it."""
    attending: list[tuple[Attend, Callable[[Attend, StepInputs], Outcome], Tensor]] = [
        (softmax_over_queries, rows_sum_to_one, _open(inputs)),
        (no_scaling, spread_stays_one, _open(inputs)),
        (mask_after_softmax, masked_rows_sum_to_one, _causal(inputs)),
        (mask_on_queries, padded_keys_get_zero, _padding(inputs)),
    ]
    q, k = _queries_and_keys(inputs)
    found = [
        Trial(
            wrong.__name__,
            check(right, inputs),
            check(wrong, inputs),
            right(q, k, mask).pattern[0].numpy(),
            wrong(q, k, mask).pattern[0].numpy(),
        )
        for wrong, check, mask in attending
    ]
    return (*found, _split_trial(inputs), _rest_trial(inputs))


def _split_trial(inputs: StepInputs) -> Trial:
    return Trial(
        split_without_transpose.__name__,
        heads_keep_tokens(step.split_heads, inputs),
        heads_keep_tokens(split_without_transpose, inputs),
        _pattern_of(inputs, step.split_heads),
        _pattern_of(inputs, split_without_transpose),
    )


def _rest_trial(inputs: StepInputs) -> Trial:
    """The right way here is to refuse; a number of heads that divides loses nothing."""
    d = inputs.x.shape[1]

    def dividing(x: Tensor, _: int) -> Tensor:
        return step.split_heads(x, 2)

    def wrong(x: Tensor, _: int) -> Tensor:
        return split_with_rest(x, _not_dividing(d))

    return Trial(
        split_with_rest.__name__,
        every_column_used(dividing, inputs),
        every_column_used(split_with_rest, inputs),
        _pattern_of(inputs, dividing),
        _pattern_of(inputs, wrong),
    )


def _pattern_of(inputs: StepInputs, split: Split) -> Floats:
    # q and k of the step on the page, so that the matrices shown belong to its numbers.
    record = run_step(inputs)
    q, k = (split(torch.from_numpy(each), 2) for each in (record.q, record.k))
    pattern: Floats = right(q, k, torch.from_numpy(inputs.mask)).pattern[0].numpy()
    return pattern


def _queries_and_keys(inputs: StepInputs) -> tuple[Tensor, Tensor]:
    record = run_step(inputs)
    q, k = (step.split_heads(torch.from_numpy(t), inputs.n_head) for t in (record.q, record.k))
    return q, k


def _open(inputs: StepInputs) -> Tensor:
    return torch.from_numpy(step.named_mask("none", inputs.x.shape[0]))


def _causal(inputs: StepInputs) -> Tensor:
    return torch.from_numpy(step.named_mask("causal", inputs.x.shape[0]))


def _padding(inputs: StepInputs) -> Tensor:
    return torch.from_numpy(step.named_mask("padding", inputs.x.shape[0]))


def _not_dividing(d_model: int) -> int:
    # d + 1 never divides d ≥ 2, so there is always one.
    return next(n for n in range(2, d_model + 2) if d_model % n)
