"""One attention step by hand: four vectors to z = Σ α v, and the same step computed five ways."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from owi_core.errors import SettingError
from owi_core.events import Control, Event, Finished, Number, Started
from owi_core.experiments._kit.params import MAX_SEED, BaseParams, recipe, setting
from owi_core.experiments._kit.results import BaseResult, Verdict
from owi_core.probes.step import DTYPES, MASKS, StepInputs, random_inputs, run_step
from owi_core.probes.step_checks import agreement, shuffled

NAME = "step"
TOLERANCE = {"float64": 1e-6, "float32": 1e-5}


@dataclass(frozen=True)
class Params(BaseParams):
    """What may be set; the defaults are the article's example, 1 × 4 × 8."""

    seed: int = setting(42, "seed of the vectors and matrices", low=0, high=MAX_SEED)
    n_tokens: int = setting(4, "vectors", low=2, high=8)
    d_model: int = setting(8, "numbers in each vector, even", low=2, high=16)
    n_head: int = setting(1, "heads; must divide d_model", low=1, high=16)
    mask: str = setting("none", "what a query may look at", choices=MASKS)
    dtype: str = setting("float64", "precision", choices=tuple(DTYPES))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.d_model % 2:  # positions come as pairs of sine and cosine
            raise SettingError("d_model_odd", d_model=self.d_model)


@dataclass(frozen=True)
class Result(BaseResult):
    """Largest difference from each other way of computing the step, over all numbers of heads.

    permutation_error: between shuffling before and after, without positions; with positions the
    difference must not be 0.  shapes: of each intermediate array.
    """

    row_sum_error: Number
    z_by_hand_error: Number
    sdpa_error: Number
    mha_error: Number
    permutation_error: Number
    permutation_difference_with_positions: Number
    shapes: dict[str, list[int]]

    @property
    def largest_error(self) -> float:
        """The largest of the differences that must be rounding alone."""
        return max(
            self.row_sum_error,
            self.z_by_hand_error,
            self.sdpa_error,
            self.mha_error,
            self.permutation_error,
        )


def run(
    params: Params,
    folder: Path | None = None,
    control: Control | None = None,
    resume: bool = False,
) -> Iterator[Event]:
    """Compute the step and its errors against every other way; there is nothing to train."""
    values = asdict(params)
    # Drawn before Started: a wrong setting is refused before a run is announced.
    inputs = drawn(params)
    yield Started(NAME, values, recipe(NAME, params), 0, 4 * params.d_model**2)
    result = measure(inputs)
    said = verdict(result, params.dtype)
    yield Finished(NAME, values, result.to_dict(), said.to_dict())


def drawn(params: Params) -> StepInputs:
    """Draw the inputs that the parameters name."""
    return random_inputs(**asdict(params))


def measure(inputs: StepInputs) -> Result:
    """Return how far the other ways of computing the step differ from it.

    Loops, kernel and module are compared for every number of heads that divides d_model.
    """
    T, d = inputs.x.shape
    # All divisors, not the chosen one alone: reshaping mistakes cancel out for one head.
    heads = [n for n in range(1, d + 1) if d % n == 0]
    # The inputs stay the same; only how they are split into heads differs.
    errors = [asdict(agreement(run_step(replace(inputs, n_head=n)))) for n in heads]
    # Reversed order moves every token, and is the same on every machine.
    order = shuffled(inputs, range(T - 1, -1, -1))
    shapes = {name: list(shape) for name, shape in run_step(inputs).shapes.items()}
    return Result(
        **{name: max(each[name] for each in errors) for name in errors[0]},
        permutation_error=order.without_positions,
        permutation_difference_with_positions=order.with_positions,
        shapes=shapes,
    )


def verdict(result: Result, dtype: str) -> Verdict:
    """Say whether every error is below what the precision allows."""
    passed = result.largest_error <= TOLERANCE[dtype]
    values = {"largest_error": result.largest_error, "tolerance": TOLERANCE[dtype]}
    return Verdict("all_ways_agree" if passed else "ways_differ", passed, values)
