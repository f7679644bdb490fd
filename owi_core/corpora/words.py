"""The words of the pronoun sentences by class, one list per language, from `assets/words`."""

import tomllib
from dataclasses import dataclass
from functools import cache

from owi_core.assets import ASSETS

UNSEEN = "unseen"


@dataclass(frozen=True)
class WordList:
    """`by_class` is the vocabulary; `unseen` holds words of some of these classes outside it."""

    by_class: dict[str, tuple[str, ...]]
    unseen: dict[str, tuple[str, ...]]

    @property
    def words(self) -> tuple[str, ...]:
        """The vocabulary in the order of the file."""
        return tuple(word for words in self.by_class.values() for word in words)

    @property
    def classes(self) -> dict[str, str]:
        """The class of each vocabulary word; each word has exactly one."""
        return {word: name for name, words in self.by_class.items() for word in words}


@cache
def word_list(language: str = "zh") -> WordList:
    """Return the word list of a language, read once."""
    text = (ASSETS / "words" / f"{language}.toml").read_text(encoding="utf-8")
    lists = {name: tuple(words.split()) for name, words in tomllib.loads(text).items()}
    unseen = {name: words for name, words in lists.items() if name.startswith(UNSEEN)}
    return WordList(
        by_class={name: words for name, words in lists.items() if name not in unseen},
        unseen={_class_of_unseen(name): words for name, words in unseen.items()},
    )


def _class_of_unseen(name: str) -> str:
    """Return the class that an unseen list belongs to: nouns, unless its name says otherwise."""
    return name.removeprefix(UNSEEN).lstrip("_") or "noun"
