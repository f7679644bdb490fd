"""What a run of the three families finds."""

from dataclasses import dataclass

from owi_core.events import Number
from owi_core.experiments._kit.results import BaseResult, Verdict
from owi_core.experiments.families.exams import CAUSAL, FAMILIES, MASKED

EXAMS = ("next_word", "gap", "at_pronoun", "at_end")
GOOD = 0.99
GUESS = 0.6  # of two words: half are right by luck; the rest allows for few sentences
EQUAL = 0.02  # two shares of 400 sentences that differ by less are called equal


@dataclass(frozen=True)
class Scores:
    """One model's shares of right words, by exam."""

    next_word_accuracy: Number
    gap_accuracy: Number
    at_pronoun_accuracy: Number
    at_end_accuracy: Number
    n_params: int
    train_seconds: Number
    final_loss_nats: Number

    def share(self, exam: str) -> float:
        """Return the share of right words of an exam of EXAMS."""
        return float(getattr(self, f"{exam}_accuracy"))


@dataclass(frozen=True)
class Bound:
    """What the grammar allows at the places of an exam, counted over all of its sentences.

    before: to a reader of the words before the place.  around: of all other words too.
    """

    before: Number
    before_entropy_nats: Number
    around: Number
    around_entropy_nats: Number


@dataclass(frozen=True)
class Corruption:
    """What a masked model says where nothing is hidden.

    repeats: share of places of whole sentences where it names the word that it reads.
    corrects: share of sentences with the other noun in the brackets where it names the right one.
    """

    repeats: Number
    corrects: Number


@dataclass(frozen=True)
class Guess:
    """A word and its probability."""

    word: str
    p: Number


@dataclass(frozen=True)
class Look:
    """One sentence as a family reads it, for one place that is asked for.

    keys: what is read, begin mark first.  pattern: [query][key] of the last layer that reads the
    sentence, mean over heads.  row: the query whose output names the word; None where another
    stack names it.  guesses: the two likeliest words.
    """

    keys: list[str]
    pattern: list[list[Number]]
    row: int | None
    guesses: list[Guess]


@dataclass(frozen=True)
class Result(BaseResult):
    """models: by family.  bounds: by exam.  corruption: "mixed" (80/10/10) and "mask_only".

    looks: by the place that is asked ("pronoun", "end") and by family.
    """

    models: dict[str, Scores]
    bounds: dict[str, Bound]
    corruption: dict[str, Corruption]
    looks: dict[str, dict[str, Look]]
    steps: int


def best(result: Result, exam: str) -> list[str]:
    """Return the families that do best in an exam; those that are as good as equal together."""
    shares = {family: result.models[family].share(exam) for family in FAMILIES}
    return [family for family in FAMILIES if shares[family] >= max(shares.values()) - EQUAL]


def verdict(result: Result) -> Verdict:
    """Say where each family can be read, by the numbers of the pronoun's two places."""
    causal, masked = result.models[CAUSAL], result.models[MASKED]
    worst = min(causal.at_end_accuracy, masked.at_pronoun_accuracy, masked.at_end_accuracy)
    if worst < GOOD:
        code = "not_learned"
    else:
        # Better than a guess would mean that the mask leaks: what decides comes later.
        code = "read_at_end" if causal.at_pronoun_accuracy <= GUESS else "causal_knew"
    values = {
        "causal_pronoun": causal.at_pronoun_accuracy,
        "causal_end": causal.at_end_accuracy,
        "masked_pronoun": masked.at_pronoun_accuracy,
        "masked_end": masked.at_end_accuracy,
    }
    return Verdict(code, code == "read_at_end", values)
