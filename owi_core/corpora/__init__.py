"""Named data sets: pronoun sentences from a grammar with their held-out parts, and short texts."""

from owi_core.corpora.grammar import (
    FAMILIES,
    LANGUAGE_OF,
    PRONOUNS,
    Match,
    parse,
    possible_antecedents,
)
from owi_core.corpora.pronoun import PronounCorpus, Sample, pronoun_corpus
from owi_core.corpora.texts import (
    CHARACTER_TEXTS,
    MAX_FILE_BYTES,
    Decoding,
    character_text,
    decodings,
    read_text_file,
)
from owi_core.corpora.words import word_list

__all__ = [
    "CHARACTER_TEXTS",
    "FAMILIES",
    "LANGUAGE_OF",
    "MAX_FILE_BYTES",
    "PRONOUNS",
    "Decoding",
    "Match",
    "PronounCorpus",
    "Sample",
    "character_text",
    "decodings",
    "parse",
    "possible_antecedents",
    "pronoun_corpus",
    "read_text_file",
    "word_list",
]
