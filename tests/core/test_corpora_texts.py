"""The texts that a character model learns, and the files that a user brings."""

import contextlib
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from owi_core.corpora import (
    CHARACTER_TEXTS,
    MAX_FILE_BYTES,
    character_text,
    decodings,
    read_text_file,
)
from owi_core.errors import TextError


@pytest.mark.parametrize("name", CHARACTER_TEXTS)
def test_our_texts_are_short_have_few_characters_and_can_be_repeated(name: str) -> None:
    text = character_text(name)
    assert 250 <= len(text) <= 350
    assert len(set(text)) <= 90
    assert text.endswith("\n")
    assert not text.startswith("\n")


def test_unknown_text_is_refused_with_the_choices() -> None:
    with pytest.raises(TextError) as caught:
        character_text("../words/zh")
    assert caught.value.code == "text_unknown"
    assert caught.value.values["choices"] == "zh, en"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030"])
def test_file_is_read_in_the_encodings_that_chinese_files_have(encoding: str) -> None:
    text = "小明把苹果放在桌子上，\r\n小红拿走了它。 café 👨‍👩‍👧\t"
    assert read_text_file(text.encode(encoding)) == text


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
def test_any_text_in_utf8_is_read_as_it_is(text: str) -> None:
    if text.strip() and not text.startswith("\ufeff"):
        assert read_text_file(text.encode()) == text


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        b"PK\x03\x04\x14\0\0\0",
        b"abc\0def",
        random.Random(0).randbytes(5000),
        bytes(random.Random(0).choices(range(0x81, 0xFF), k=5000)),
    ],
)
def test_file_that_is_no_text_is_refused(data: bytes) -> None:
    with pytest.raises(TextError, match="text_not_text"):
        read_text_file(data)


CHINESE = "小明把苹果放在桌子上，\n小红拿走了它。"
JAPANESE = "太郎はりんごを机の上に置いた。\n花子がそれを取った。"
KOREAN = "철수가 사과를 책상 위에 놓았다.\n영희가 그것을 가져갔다."


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-16", CHINESE),
        ("utf-16", "The cat sat."),
        ("utf-16-le", "The cat sat on the mat."),
        ("utf-16-be", "The cat sat on the mat."),
        ("gb18030", CHINESE),
        ("gb18030", character_text("zh")),
        ("gb18030", "它"),
        ("shift_jis", JAPANESE),
        ("euc_jp", JAPANESE),
        ("euc_kr", KOREAN),
    ],
)
def test_the_likeliest_encoding_is_the_right_one(encoding: str, text: str) -> None:
    first, *_ = decodings(text.encode(encoding))
    assert (first.encoding, first.text) == (encoding, text)
    assert first.first_line == text.splitlines()[0]


def test_every_encoding_that_makes_sense_is_offered_with_its_first_line() -> None:
    data = KOREAN.encode("euc_kr")
    found = decodings(data)
    assert {"euc_kr", "gb18030"} <= {each.encoding for each in found}
    assert len({each.first_line for each in found}) == len(found)
    assert read_text_file(data) == KOREAN
    assert read_text_file(data, "gb18030") == data.decode("gb18030")
    assert [each.encoding for each in decodings(KOREAN.encode())] == ["utf-8"]


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1))
def test_any_text_in_utf16_is_read_as_it_is(text: str) -> None:
    if text.strip():
        assert read_text_file(text.encode("utf-16")) == text


@pytest.mark.parametrize("data", [b"", b" \n", b"\xef\xbb\xbf"])
def test_blank_file_is_refused(data: bytes) -> None:
    with pytest.raises(TextError, match="text_empty"):
        read_text_file(data)


def test_too_large_file_is_refused_with_the_excess() -> None:
    read_text_file(b"a" * MAX_FILE_BYTES)
    with pytest.raises(TextError) as caught:
        read_text_file(b"a" * (MAX_FILE_BYTES + 3))
    assert caught.value.code == "text_too_large"
    assert caught.value.values == {"limit": 1_000_000, "size": 1_000_003, "excess": 3}


def test_text_file_cut_off_in_mid_character_is_still_read() -> None:
    data = ("小明把苹果放在桌子上。" * 50).encode("gb18030")[:-1]
    assert read_text_file(data).startswith("小明把苹果")


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(TextError):
        assert read_text_file(data).strip()
