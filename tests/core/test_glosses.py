"""The English under Chinese words: every word of the lists has one, and none is Chinese."""

import re

from owi_core.corpora import word_list
from owi_core.corpora.glosses import glosses

MARKS = re.compile(r"\W+")


def test_every_chinese_word_that_a_pronoun_model_knows_has_an_english_one() -> None:
    known = [word for word in word_list("zh").words if not MARKS.fullmatch(word)]
    assert len(known) > 500
    missing = [word for word, gloss in zip(known, glosses(known), strict=True) if not gloss]
    assert missing == []


def test_the_english_is_latin_and_short_enough_for_a_word() -> None:
    found = glosses(word_list("zh").words)
    assert all(re.fullmatch(r"[a-zA-Z():' -]*", gloss) for gloss in found)
    assert max(len(part) for gloss in found for part in gloss.split() or [""]) <= 12


def test_marks_strange_words_and_english_have_none() -> None:
    assert glosses(["，", "。", "梨", "<b>", "animal"]) == ["", "", "", "", ""]


def test_words_are_glossed_as_the_ready_sentences_use_them() -> None:
    words_ = ["小明", "把", "苹果", "放在", "桌子", "上", "拿走", "了", "它", "太", "大", "了"]
    said = "Xiaoming (object:) apple put-at table on took (done) it too large (done)"
    assert glosses(words_) == [each.replace("-", " ") for each in said.split()]
