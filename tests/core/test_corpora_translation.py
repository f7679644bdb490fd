"""The pairs of the translation lab: gold alignment, numbers read back, what is held out."""

import datetime
import random

import pytest

from owi_core.corpora.numerals import (
    LARGEST,
    NUMBER_WORDS,
    date_pair,
    date_pairs,
    number_pair,
    number_pairs,
    reads_back,
)
from owi_core.corpora.translation import (
    FRAMES,
    Pair,
    dictionary,
    fill,
    recognise,
    sentence_pairs,
    vocabularies,
)

PUT = next(frame for frame in FRAMES if frame.name == "put")
WORDS = {
    "time": "昨晚", "name_a": "小明", "noun_a": "苹果", "noun_b": "桌子", "place": "上"
}  # fmt: skip
VALUE = {"千": 1000, "百": 100, "十": 10}


def sources(pair: Pair) -> dict[str, list[str]]:
    named = zip(pair.target, pair.gold, strict=True)
    return {word: [pair.source[i] for i in gold] for word, gold in named}


def test_a_sentence_knows_the_source_words_of_each_word() -> None:
    pair = fill(PUT, WORDS)
    assert "".join(pair.source) == "昨晚小明把苹果放在桌子上"
    assert " ".join(pair.target) == "Xiaoming put the apple on the table last night"
    assert sources(pair) == {
        "Xiaoming": ["小明"], "put": ["放在"], "the": [], "apple": ["苹果"], "on": ["上"],
        "table": ["桌子"], "last": ["昨晚"], "night": ["昨晚"],
    }  # fmt: skip
    assert [pair.target[t] for t in pair.content] == [
        "Xiaoming", "apple", "on", "table", "last", "night"
    ]  # fmt: skip


def test_a_slot_without_filler_is_left_out_of_both_sentences() -> None:
    pair = fill(PUT, {name: word for name, word in WORDS.items() if name != "time"})
    assert pair.source[0] == "小明"
    assert pair.target[-1] == "table"


def test_some_words_come_from_two_source_words() -> None:
    than = next(frame for frame in FRAMES if frame.name == "than")
    pair = fill(than, {"noun_a": "苹果", "noun_b": "桌子", "quality": "大"})
    assert sources(pair)["bigger"] == ["大", "比"]
    exist = next(frame for frame in FRAMES if frame.name == "exist")
    pair = fill(exist, {"noun_a": "苹果", "noun_b": "桌子", "place": "上"})
    assert sources(pair)["an"] == ["一个", "苹果"]  # 苹果 decides between "a" and "an"


def test_the_corpus_has_the_frames_and_words_it_promises() -> None:
    assert sum(not frame.heldout for frame in FRAMES) >= 8
    words = dictionary()
    assert len(words["noun"]) >= 118
    assert len(words["verb"]) == 16
    assert len(words["name"]) == 12
    for vocabulary in vocabularies():
        assert len(set(vocabulary)) == len(vocabulary)


@pytest.mark.parametrize("part", ["train", "heldout", "frame"])
def test_every_pair_is_aligned_and_in_the_vocabularies(part: str) -> None:
    source_words, target_words = map(set, vocabularies())
    for pair in sentence_pairs(3, 300, part):
        assert len(pair.gold) == len(pair.target)
        assert set(pair.source) <= source_words
        assert set(pair.target) <= target_words
        assert all(0 <= i < len(pair.source) for gold in pair.gold for i in gold)


def test_held_out_sentences_never_occur_in_training() -> None:
    train = {pair.source for pair in sentence_pairs(0, 3000, "train")}
    heldout = sentence_pairs(0, 300, "heldout")
    assert not train & {pair.source for pair in heldout}
    frames = {pair.frame for pair in heldout}
    assert frames == {frame.name for frame in FRAMES if not frame.heldout}
    assert {pair.frame for pair in sentence_pairs(0, 20, "frame")} == {"passive_put"}


def test_the_same_seed_gives_the_same_pairs() -> None:
    assert sentence_pairs(1, 20, "train") == sentence_pairs(1, 20, "train")
    assert sentence_pairs(1, 20, "train") != sentence_pairs(2, 20, "train")


def value_of(source: tuple[str, ...]) -> int:
    """Read a Chinese number by adding up, which shares nothing with how it was written."""
    total = section = digit = 0
    for character in source:
        if character == "万":
            total, section, digit = (section + digit) * 10_000, 0, 0
        elif character in VALUE:
            section, digit = section + (digit or 1) * VALUE[character], 0
        else:
            digit = NUMBER_WORDS[0].index(character)
    return total + section + digit


@pytest.mark.parametrize(
    ("n", "read"),
    [
        (0, "零"), (10, "十"), (12, "十二"), (110, "一百一十"), (1005, "一千零五"),
        (10_305, "一万零三百零五"), (100_000, "十万"), (1_000_500, "一百万零五百"),
        (10_000_005, "一千万零五"), (10_001_000, "一千万一千"),
        (LARGEST, "九千九百九十九万九千九百九十九"),
    ],
)  # fmt: skip
def test_numbers_are_read_as_in_a_textbook(n: int, read: str) -> None:
    assert "".join(number_pair(n).source) == read


def test_numbers_read_back_are_the_numbers() -> None:
    rng = random.Random(5)
    for n in (*range(1200), *(rng.randint(0, 10 ** rng.randint(1, 8) - 1) for _ in range(2000))):
        pair = number_pair(n)
        assert value_of(pair.source) == n
        assert "".join(pair.target) == str(n)
        assert len(pair.gold) == len(pair.target)


def test_each_digit_knows_its_character_and_a_gap_has_none() -> None:
    pair = number_pair(10_305)
    assert [[pair.source[i] for i in gold] for gold in pair.gold] == [
        ["一"], ["零"], ["三"], ["零"], ["五"]
    ]  # fmt: skip
    assert [bool(gold) for gold in number_pair(100_005).gold] == [True, *[False] * 4, True]
    for n in range(2000):
        pair = number_pair(n)
        for digit, gold in zip(pair.target, pair.gold, strict=True):
            if gold and pair.source[gold[0]] != "十":
                assert NUMBER_WORDS[0].index(pair.source[gold[0]]) == int(digit)


def test_dates_are_those_of_the_calendar() -> None:
    pair = date_pair(2026, 11, 30)
    assert "".join(pair.source) == "二〇二六年十一月三十日"
    assert "".join(pair.target) == "2026-11-30"
    assert [[pair.source[i] for i in gold] for gold in pair.gold] == [
        ["二"], ["〇"], ["二"], ["六"], ["年"], ["十"], ["一"], ["月"], ["三"], []
    ]  # fmt: skip
    for drawn in date_pairs(0, 500, "train"):
        datetime.date.fromisoformat("".join(drawn.target))  # raises for 30 February


@pytest.mark.parametrize("pairs", [number_pairs, date_pairs])
def test_held_out_numbers_and_dates_never_occur_in_training(pairs) -> None:  # type: ignore[no-untyped-def]
    train = {pair.target for pair in pairs(0, 2000, "train")}
    other = {pair.target for pair in pairs(1, 500, "heldout")}
    assert not train & other


@pytest.mark.parametrize("part", ["train", "heldout", "frame"])
def test_a_sentence_of_a_frame_is_recognised_with_its_translation(part: str) -> None:
    for pair in sentence_pairs(4, 60, part):
        assert recognise(pair.source) == pair
    assert recognise(("小明", "小红")) is None


def test_digits_are_right_when_they_read_back_as_the_source() -> None:
    assert reads_back("一万零三百零五", "10305")
    assert not reads_back("一万零三百零五", "10350")
    assert not reads_back("一万零三百零五", "010305")
    assert reads_back("二〇二六年十一月三十日", "2026-11-30")
    assert not reads_back("二〇二六年十一月三十日", "2026-11-03")
    assert not reads_back("一", "")
