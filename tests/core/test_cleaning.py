"""Cleaning: what looks the same is read the same, and what cannot be seen is no token."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from owi_core.checkpoints import shipped
from owi_core.cleaning import Cleaned, by_clean_form, clean, n_loose_blanks
from owi_core.errors import TextError
from owi_core.readings import read
from owi_core.tokenizer import CharTokenizer, WordTokenizer

SENTENCE = "小明把苹果放在桌子上，小红拿走了它"
# As copied from chats, editors and web pages.
INVISIBLE = (
    *("\u200b", "\ufeff", "\u2060", "\u200e", "\u200f", "\u00ad", "\u200d", "\u200c", "\ufe0f"),
    *("\u202e", "\u202a", "\u2069", "\u061c", "\u3164", "\U000e0041", "\U000e0100", "\x07", "\x1b"),
)
KEPT = (
    *("👨‍👩‍👧‍👦", "❤️", "👩🏽‍🚀", "👁️‍🗨️", "1️⃣", "☂︎"),
    *("🏴\U000e0067\U000e0062\U000e007f", "می‌خواهم", "क्‍ष"),
)
PARTS = st.sampled_from([*INVISIBLE, *KEPT, "它", "a", " ", "\r\n"])
ANY = st.text() | st.lists(PARTS).map("".join)


@pytest.mark.parametrize("mark", INVISIBLE)
@pytest.mark.parametrize("place", [0, 4, 16, 17])  # before, inside a word, before 它, after it
def test_an_invisible_character_changes_neither_ids_nor_row_nor_answer(
    mark: str, place: int
) -> None:
    bundle = shipped("swap")
    plain, pasted = read(bundle, SENTENCE), read(bundle, SENTENCE[:place] + mark + SENTENCE[place:])
    assert pasted.labels == plain.labels
    assert pasted.encoding == plain.encoding
    assert (pasted.record.row(10, 1) == plain.record.row(10, 1)).all()
    assert pasted.answer == plain.answer


@pytest.mark.parametrize("text", KEPT)
def test_what_a_visible_character_is_made_of_is_kept(text: str) -> None:
    assert clean(text) == Cleaned(text)


def test_each_kind_of_change_is_counted() -> None:
    assert clean("a\r\nb\rc\u2028d\n") == Cleaned("a\nb\nc\nd\n", line_ends=3)
    assert clean("\x07x\x1b[31m\ufffe") == Cleaned("x[31m", controls=3)
    assert clean("\ufeff它\u200b\u00ad") == Cleaned("它", invisible=3)
    assert clean("cafe\u0301 一e\u0301") == Cleaned("café 一é", composed=2)


@given(ANY)
@example("☀\x07\ufe0f")
@example("👩\u200b\u200d👧")
@example("\u1100\u1161")
def test_a_clean_text_is_left_alone_and_any_change_is_counted(text: str) -> None:
    once = clean(text)
    assert clean(once.text) == Cleaned(once.text)
    assert (once == Cleaned(text)) == (once.text == text)
    assert unicodedata.is_normalized("NFC", once.text)


@given(ANY)
def test_every_token_of_a_pasted_sentence_can_be_seen(text: str) -> None:
    tokenizer = WordTokenizer(["它", "苹果"], n_spare=200)
    try:
        labels = tokenizer.encode(text).labels
    except TextError:
        return
    hidden = set("\u200b\u200d\ufe0f\u202e\u00ad\u2060\ufeff")
    assert all(set(label) - hidden for label in labels)
    assert not any(unicodedata.category(c) == "Cc" for label in labels for c in label)


def test_two_spellings_of_one_letter_are_one_token() -> None:
    tokenizer = CharTokenizer.from_text("cafe\u0301 café")
    assert tokenizer.characters == tuple(" acfé")
    words = WordTokenizer(["它"], n_spare=4)
    assert len(set(words.encode("cafe\u0301 café").ids)) == 1


def test_windows_line_ends_are_one_piece_with_the_others() -> None:
    tokenizer = CharTokenizer.from_text("a\r\nb\nc\r\n")
    assert tokenizer.characters == ("\n", "a", "b", "c")


def test_a_vocabulary_with_other_forms_is_still_reached() -> None:
    tokenizer = CharTokenizer(["\r\n", "e\u0301", "a", "\u200b"])
    assert tokenizer.encode("a\r\ne\u0301").ids == (2, 0, 1)
    assert by_clean_form({"é": 0, "e\u0301": 1}) == {"é": 0, "e\u0301": 1}


def test_an_unknown_word_is_one_word_with_a_capital_letter_or_without() -> None:
    encoding = WordTokenizer(["it"], n_spare=4).encode("The cat, the CAT, the Cat")
    assert len({encoding.ids[i] for i in encoding.unknown}) == 3  # the, cat, and the comma
    assert encoding.labels[:2] == ("The", "cat")


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("小明把它", 0),
        ("小明 把\u3000它", 2),
        (" 它 ", 2),
        ("The cat sat, and it", 0),
        ("The  cat\t\tsat", 2),
        ("苹果 apple 它", 0),
    ],
)
def test_blanks_that_separate_nothing_are_counted(text: str, count: int) -> None:
    assert n_loose_blanks(text) == count
