"""What a translation run finds."""

from dataclasses import dataclass

from msgspec import UNSET, UnsetType

from owi_core.events import Number
from owi_core.experiments._kit.results import BaseResult, Verdict, given

GOOD_EXACT, GOOD_ARGMAX, GOOD_MASS = 0.99, 0.97, 0.85


@dataclass(frozen=True)
class Side:
    """One of the models that is compared: shares of exact translations, by source length too."""

    exact_heldout: Number
    exact_by_length: dict[str, Number]
    n_params: int
    train_seconds: Number


@dataclass(frozen=True)
class Result(BaseResult):
    """Shares of held-out pairs that are translated exactly, and [decoder layer] alignment.

    exact_heldout_frame: of sentences of a frame that training never shows; None where the corpus
    has none.  cut_gold_nats_median: how much log p a word loses without the source word that it
    translates; cut_other_nats_median: how much the words lose that do not depend on it, median of
    the amounts.
    gru, gru_no_attention: the models trained beside it, where they were asked for.
    """

    exact_heldout: Number
    exact_heldout_frame: Number | None
    exact_by_length: dict[str, Number]
    alignment_argmax: list[Number]
    alignment_mass: list[Number]
    cut_gold_nats_median: Number
    cut_other_nats_median: Number
    cross_keys_bytes: int
    self_keys_bytes_per_word: int
    n_params: int
    steps: int
    train_seconds: Number
    gru: Side | UnsetType = UNSET
    gru_no_attention: Side | UnsetType = UNSET

    @property
    def sides(self) -> dict[str, Side]:
        """The models that were compared, ours first."""
        ours = Side(self.exact_heldout, self.exact_by_length, self.n_params, self.train_seconds)
        others = {"gru": self.gru, "gru_no_attention": self.gru_no_attention}
        return {"transformer": ours} | {n: s for n, s in others.items() if isinstance(s, Side)}


def best_layer(result: Result) -> int:
    """Return the decoder layer whose rows point at the right source words most often."""
    return max(range(len(result.alignment_argmax)), key=result.alignment_argmax.__getitem__)


def verdict(result: Result) -> Verdict:
    """Say whether the translations are right, and whether the rows point at their source words."""
    layer = best_layer(result)
    argmax, mass = result.alignment_argmax[layer], result.alignment_mass[layer]
    if result.exact_heldout < GOOD_EXACT:
        code = "not_learned"
    else:
        # Right words alone do not show that the rows point at what they come from.
        aligned = argmax >= GOOD_ARGMAX and mass >= GOOD_MASS
        code = "aligned" if aligned else "right_not_aligned"
    values = {
        "exact": result.exact_heldout, "layer": layer + 1, "argmax": argmax, "mass": mass
    }  # fmt: skip
    return Verdict(code, result.exact_heldout >= GOOD_EXACT, values)


__all__ = ["Result", "Side", "best_layer", "given", "verdict"]
