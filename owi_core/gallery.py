"""The ready pairs of sentences, and which shipped model reads a text."""

from dataclasses import dataclass
from functools import cache, lru_cache

from owi_core.corpora import FAMILIES, LANGUAGE_OF, parse, word_list
from owi_core.errors import TextError
from owi_core.tokenizer import WordTokenizer

DEFAULT_MODEL = "swap"
MODEL_OF = {
    "swap": "swap",
    "verb": "verb",
    "fit": "fit_bidirectional",
    "person": "person",
    "street": "street",
}


@dataclass(frozen=True)
class ReadyPair:
    """Two sentences, the word that looks in each, the model that reads them, and what is right.

    answer_a, answer_b: the word meant, or None where no answer is to be had.
    """

    name: str
    model: str
    a: str
    b: str
    answer_a: str | None = None
    answer_b: str | None = None
    query_a: str = "它"
    query_b: str = "它"


READY_PAIRS: tuple[ReadyPair, ...] = (
    ReadyPair(
        "nouns",
        "swap",
        "小明把苹果放在桌子上，小红拿走了它",
        "小明把杯子放在桌子上，小红拿走了它",
        "苹果",
        "杯子",
    ),
    ReadyPair(
        "order",
        "swap",
        "小明把苹果放在杯子旁边，小红拿走了它",
        "小明把杯子放在苹果旁边，小红拿走了它",
        "苹果",
        "杯子",
    ),
    ReadyPair(
        "verb",
        "verb",
        "小明把苹果放在桌子上，小红拿走了它",
        "小明把苹果放在桌子上，小红擦净了它",
        "苹果",
        "桌子",
    ),
    ReadyPair(
        "fit_bidirectional",
        "fit_bidirectional",
        "苹果放不进杯子，因为它太大了",
        "苹果放不进杯子，因为它太小了",
        "苹果",
        "杯子",
    ),
    ReadyPair(
        "fit_causal",
        "fit_causal",
        "苹果放不进杯子，因为它太大了",
        "苹果放不进杯子，因为它太小了",
    ),
    ReadyPair(
        "person",
        "person",
        "小明把苹果送给小红，他笑了",
        "小明把苹果送给小红，她笑了",
        "小明",
        "小红",
        "他",
        "她",
    ),
    ReadyPair(
        "street",
        "street",
        "The animal didn't cross the street because it was too tired",
        "The animal didn't cross the street because it was too wide",
        "animal",
        "street",
        "it",
        "it",
    ),
    ReadyPair(
        "ambiguous",
        "person",
        "小明在桌子旁边遇见了小红，他笑了",
        "小明在桌子旁边遇见了小刚，他笑了",
        "小明",
        None,
        "他",
        "他",
    ),
    ReadyPair(
        "untrained",
        "untrained",
        "小明把苹果放在桌子上，小红拿走了它",
        "小明把杯子放在桌子上，小红拿走了它",
    ),
    ReadyPair(
        "article",
        "swap",
        "小明把苹果放在桌子上，小红拿走了它",
        "小明把杯子放在桌子上",
        "苹果",
        None,
        "它",
        "杯子",
    ),
    # The antecedent is the third word of one and the seventh of the other.
    ReadyPair(
        "place",
        "swap",
        "小明把杯子放在苹果旁边，小红拿走了它",
        "小明在杯子旁边放了苹果，小红拿走了它",
        "杯子",
        "苹果",
    ),
)
# The pair that a newcomer meets, in a language that they read. The bar must visibly move between
# its sentences: over the same place two rows look alike, whatever word is there.
_LEADS = {"zh": "place", "en": "street"}
# The pair of which one sentence is taken through a single step: the simplest of each language.
_SIMPLEST = {"zh": "nouns", "en": "street"}


def ready_pair(name: str) -> ReadyPair | None:
    """Return the ready pair called `name`, or None."""
    return next((pair for pair in READY_PAIRS if pair.name == name), None)


def lead_pair(lang: str) -> ReadyPair:
    """Return the pair that home and the rows page open with."""
    return next(pair for pair in READY_PAIRS if pair.name == _LEADS[lang])


def simplest_pair(lang: str) -> ReadyPair:
    """Return the pair whose first sentence the step page takes through a layer."""
    return next(pair for pair in READY_PAIRS if pair.name == _SIMPLEST[lang])


def model_for(*texts: str) -> str:
    """Return the shipped model whose family knows the structure of all texts, or the default."""
    # The order matters: a text that two families know is read by the first.
    for family in FAMILIES:
        if all(_knows(family, text) for text in texts):
            return MODEL_OF[family]
    return DEFAULT_MODEL


@lru_cache(maxsize=256)  # every click on a word asks it of the same few texts
def _knows(family: str, text: str) -> bool:
    """Whether a text has a structure of this family; one that cannot be cut has none."""
    tokenizer = _tokenizer(LANGUAGE_OF[family])
    try:
        labels = tokenizer.encode(text).labels
    # A text that no tokenizer takes still gets an answer: the default model says what is wrong.
    except TextError:
        return False
    return parse(labels, [tokenizer.class_of(label) for label in labels], family) is not None


@cache
def _tokenizer(language: str) -> WordTokenizer:
    """Return the one vocabulary that the pronoun models of a language share."""
    # No spare rows: a word that no list has must stay unknown here.
    lists = word_list(language)
    return WordTokenizer(lists.words, classes=lists.classes)
