"""What each Chinese word of the word lists means in English, for readers of English."""

import tomllib
from collections.abc import Sequence
from functools import cache

from owi_core.assets import ASSETS
from owi_core.corpora.translation import dictionary

PAST = 1  # of a verb's forms: base, past, participle


def glosses(words: Sequence[str]) -> list[str]:
    """Return the English of each word, empty where it has none: a mark, a word of no list."""
    known = _english()
    return [known.get(word, "") for word in words]


@cache
def _english() -> dict[str, str]:
    # The sentences tell what happened, so a verb is glossed in the past.
    found = {
        word: forms[PAST if name == "verb" else 0]
        for name, entries in dictionary().items()
        for word, forms in entries.items()
    }
    text = (ASSETS / "words" / "gloss.toml").read_text(encoding="utf-8")
    lines = tomllib.loads(text)["words"].strip().splitlines()
    # Later, so that they win: the translation lab compares qualities, "bigger" for "large".
    return found | dict(line.split(maxsplit=1) for line in lines)
