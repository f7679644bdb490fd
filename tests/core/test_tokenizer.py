"""Tokenizers: any text comes back as typed, and words are cut where a reader would cut them."""

import json
import subprocess
import sys

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from owi_core.cleaning import clean
from owi_core.corpora import pronoun_corpus
from owi_core.errors import ModelFileError, TextError
from owi_core.segmentation import clusters, joined
from owi_core.tokenizer import (
    MAX_SENTENCE_CHARACTERS,
    CharTokenizer,
    Encoding,
    WordTokenizer,
    tokenizer_from_dict,
)
from tests.house.source import ROOT

FAMILY_EMOJI = "👨‍👩‍👧"
CORPUS = pronoun_corpus("swap", 0, n_train=8, n_heldout=8)
WORDS = WordTokenizer(CORPUS.words, n_spare=256, classes=CORPUS.classes)

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60).filter(
    lambda text: text.strip() != ""
)
# Fragments that tempt a tokenizer to tear or merge.
TEMPTING = st.lists(
    st.sampled_from(
        [
            *CORPUS.words[:40],
            *(
                "小",
                "大",
                "书",
                "象",
                "它",
                "葛\U000e0100",
                "12.5",
                "don't",
                "café",
                "it",
                "e\u0301",
            ),
            *("שלום", "مرحبا", "한국", "ไทย", "\u200f", "\u200d", "\u200c", "\ufe0f"),
            *(FAMILY_EMOJI, "🇨🇳", "1\ufe0f\u20e3", " ", "\n", ",", "。", "$x$", "<b>"),
        ]
    ),
    min_size=1,
    max_size=12,
).map("".join)


def rebuilt(encoding: Encoding) -> str:
    """The labels with what stands between their spans."""
    text, end = "", 0
    for label, (start, stop) in zip(encoding.labels, encoding.spans, strict=True):
        text += encoding.text[end:start] + label
        end = stop
    return text + encoding.text[end:]


def labels(text: str) -> list[str]:
    return list(WORDS.encode(text).labels)


# Characters


def test_vocabulary_is_the_distinct_characters_and_nothing_else() -> None:
    tokenizer = CharTokenizer.from_text("the quick brown fox jumps")
    assert tokenizer.vocab_size == len(set("the quick brown fox jumps"))
    assert tokenizer.pad_id is None
    assert [tokenizer.label(i) for i in range(3)] == [" ", "b", "c"]


def test_joined_emoji_is_one_character() -> None:
    tokenizer = CharTokenizer.from_text(f"a{FAMILY_EMOJI}e\u0301🇨🇳")
    assert tokenizer.encode(f"{FAMILY_EMOJI}a").labels == (FAMILY_EMOJI, "a")
    assert tokenizer.vocab_size == 4


@given((ANY_TEXT | TEMPTING).filter(lambda text: clean(text).text.strip()))
def test_any_text_survives_the_character_tokenizer(text: str) -> None:
    tokenizer = CharTokenizer.from_text(text)
    encoding = tokenizer.encode(text)
    text = clean(text).text
    assert tokenizer.decode(encoding.ids) == text == rebuilt(encoding) == "".join(encoding.labels)
    assert [text[start:end] for start, end in encoding.spans] == list(encoding.labels)
    assert encoding.unknown == ()


def test_unknown_characters_are_listed_each_once() -> None:
    with pytest.raises(TextError) as caught:
        CharTokenizer.from_text("abc").encode("axbyx")
    assert caught.value.code == "unknown_characters"
    assert caught.value.values == {"characters": "x y", "count": 2}


# Words


@given((ANY_TEXT | TEMPTING).filter(lambda text: clean(text).text.strip()))
@example("小明\r\n把苹果 放在")
@example("苹果naïve苹果")
@example("㐀\u200c")
@settings(max_examples=300)
def test_any_text_survives_the_word_tokenizer(text: str) -> None:
    encoding = WORDS.encode(text)
    text = clean(text).text
    assert rebuilt(encoding) == text
    assert [text[start:end] for start, end in encoding.spans] == list(encoding.labels)
    gaps = rebuilt(Encoding(text, (), tuple("" for _ in encoding.spans), encoding.spans, ()))
    assert gaps.strip() == ""
    # No token begins or ends inside a grapheme cluster.
    ends = {match.end() for match in regex.finditer(r"\X", text)} | {0}
    assert {edge for span in encoding.spans for edge in span} <= ends
    assert {i for i, index in enumerate(encoding.ids) if index in WORDS.spare_ids} == set(
        encoding.unknown
    )


@pytest.mark.parametrize(
    "line",
    [
        "小明 把 苹果 放在 桌子 上 ， 小红 拿走 了 它",
        "小华 把 榴莲 放在 冰箱 旁边 ， 小红 拿走 了 它",
        "窗台 上 放着 小丽 用 的 台灯",
        "大象 被 小波 放在 书法 书 上",
        "小慧 向 小婷 借 了 书 ， 他 笑了",
        "小猫 在 小学 里",
        "妈妈 把 上海 地图 放在 桌子 上",
        "苹果 放不进 杯子 ， 因为 它 太 大 了 。",
    ],
)
def test_chinese_is_cut_as_a_reader_would(line: str) -> None:
    assert labels(line.replace(" ", "")) == line.split()


def test_other_scripts_numbers_and_marks_are_cut_into_words() -> None:
    assert labels("Tom's cat, 12.5元 naïve T恤!") == [
        *("Tom's", "cat", ",", "12.5", "元", "naïve", "T恤", "!")
    ]
    assert labels(f"它{FAMILY_EMOJI}🇨🇳它") == ["它", FAMILY_EMOJI, "🇨🇳", "它"]


def test_vocabulary_word_does_not_match_inside_a_latin_word() -> None:
    tokenizer = WordTokenizer(["it", "苹果", "e"], n_spare=8)
    assert tokenizer.encode("item it cafe\u0301 它it苹果e").labels == (
        *("item", "it", "caf\u00e9", "它", "it", "苹果", "e"),
    )


def test_same_unknown_word_takes_the_same_spare_row_in_order_of_appearance() -> None:
    encoding = WORDS.encode("榴莲在冰箱旁边，榴莲")
    first, second = WORDS.spare_ids[:2]
    assert [encoding.ids[i] for i in encoding.unknown] == [first, second, first]
    assert WORDS.label(first) == "<NEW1>"


def test_half_width_comma_has_the_id_of_the_full_width_one() -> None:
    half, full = WORDS.encode("苹果,它"), WORDS.encode("苹果，它")
    assert half.ids == full.ids
    assert half.labels == ("苹果", ",", "它")
    assert half.unknown == ()
    assert WORDS.class_of(",") == "function"


def test_special_rows_are_never_reached_by_typing_their_names() -> None:
    assert not {0, 1, 2} & set(WORDS.encode("<PAD><BOS><EOS><NEW1>").ids)


def test_more_unknown_words_than_spare_rows_are_refused_with_the_excess() -> None:
    with pytest.raises(TextError) as caught:
        WordTokenizer(["它"], n_spare=2).encode("alpha beta gamma delta 它 alpha")
    assert caught.value.code == "too_many_unknown_words"
    assert (caught.value.values["limit"], caught.value.values["excess"]) == (2, 2)


def test_ids_are_padding_beginning_end_words_spare_rows() -> None:
    tokenizer = WordTokenizer(["它", "苹果"], n_spare=3)
    assert [tokenizer.label(i) for i in range(tokenizer.vocab_size)] == [
        *("<PAD>", "<BOS>", "<EOS>", "它", "苹果", "<NEW1>", "<NEW2>", "<NEW3>")
    ]
    assert (tokenizer.pad_id, list(tokenizer.spare_ids)) == (0, [5, 6, 7])


def test_decode_joins_chinese_and_parts_latin_words() -> None:
    tokenizer = WordTokenizer(["red", "apple", "它", "，"], n_spare=0)
    assert tokenizer.decode([1, 3, 4, 6, 5, 2, 0, 0]) == "red apple，它"


def test_a_word_is_the_same_however_it_is_typed_and_shown_as_typed() -> None:
    tokenizer = WordTokenizer(["the", "animal", "didn't", "，"], n_spare=4)
    typed, plain = tokenizer.encode("The ANIMAL didn’t,"), tokenizer.encode("the animal didn't，")
    assert typed.ids == plain.ids
    assert typed.labels == ("The", "ANIMAL", "didn’t", ",")
    assert typed.unknown == ()


def test_a_capital_letter_is_another_word_where_the_vocabulary_says_so() -> None:
    tokenizer = WordTokenizer(["us", "US"], n_spare=0)
    assert tokenizer.encode("US us").ids == (4, 3)


@given(st.lists(st.sampled_from(["the", "dog", "didn't", ",", ".", "zebra"]), min_size=1))
def test_joined_english_is_cut_back_into_its_words(words: list[str]) -> None:
    tokenizer = WordTokenizer(["the", "dog", "didn't", ",", "."], n_spare=4)
    assert list(tokenizer.encode(joined(words)).labels) == words


def test_words_already_cut_encode_as_their_sentence_does() -> None:
    words = ["小明", "把", "榴莲", "放在", "桌子", "上", "，", "小红", "拿走", "了", "它"]
    assert WORDS.encode_words(words) == WORDS.encode("".join(words))


# Limits


@pytest.mark.parametrize("text", ["", " ", "\n\t\u3000"])
@pytest.mark.parametrize("tokenizer", [WORDS, CharTokenizer.from_text("ab ")])
def test_blank_text_is_refused(tokenizer: WordTokenizer | CharTokenizer, text: str) -> None:
    with pytest.raises(TextError, match="text_empty"):
        tokenizer.encode(text)


def test_too_long_text_is_refused_with_the_excess() -> None:
    with pytest.raises(TextError) as caught:
        WORDS.encode("它" * (MAX_SENTENCE_CHARACTERS + 7))
    assert caught.value.code == "text_too_long"
    assert caught.value.values == {"limit": 2000, "length": 2007, "excess": 7}


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(TextError, match="text_not_text"):
        WORDS.encode("它\ud83d")


# Files


@pytest.mark.parametrize("tokenizer", [WORDS, CharTokenizer.from_text(f"它 a{FAMILY_EMOJI}")])
def test_tokenizer_survives_json(tokenizer: WordTokenizer | CharTokenizer) -> None:
    again = tokenizer_from_dict(json.loads(json.dumps(tokenizer.to_dict())))
    assert again.to_dict() == tokenizer.to_dict()
    assert again.encode("它 a").ids == tokenizer.encode("它 a").ids


GOOD_WORDS = {"kind": "words", "version": 1, "words": ["它"], "n_spare": 2, "classes": {}}
GOOD_CHARACTERS = {"kind": "characters", "version": 1, "characters": ["它"]}


@pytest.mark.parametrize(
    ("good", "change", "part"),
    [
        (GOOD_WORDS, {"version": 2}, "version"),
        (GOOD_WORDS, {"kind": "bytes"}, "kind"),
        (GOOD_WORDS, {"words": "它"}, "words"),
        (GOOD_WORDS, {"words": []}, "words"),
        (GOOD_WORDS, {"words": ["它", "它"]}, "words"),
        (GOOD_WORDS, {"words": ["它", 1]}, "words"),
        (GOOD_WORDS, {"words": ["a b"]}, "words"),
        (GOOD_WORDS, {"words": [["它"]]}, "words"),
        (GOOD_WORDS, {"words": ["\ud83d"]}, "words"),
        (GOOD_WORDS, {"words": ["x" * 65]}, "words"),
        (GOOD_WORDS, {"n_spare": True}, "n_spare"),
        (GOOD_WORDS, {"n_spare": 10**9}, "n_spare"),
        (GOOD_WORDS, {"n_spare": -1}, "n_spare"),
        (GOOD_WORDS, {"classes": ["它"]}, "classes"),
        (GOOD_WORDS, {"classes": {"他": "noun"}}, "classes"),
        (GOOD_WORDS, {"classes": {"它": 3}}, "classes"),
        (GOOD_CHARACTERS, {"characters": ["它它"]}, "characters"),
        (GOOD_CHARACTERS, {"characters": None}, "characters"),
        (GOOD_CHARACTERS, {"characters": [str(i) for i in range(20_001)]}, "characters"),
    ],
)
def test_hostile_vocabulary_is_refused_and_the_part_named(
    good: dict[str, object], change: dict[str, object], part: str
) -> None:
    tokenizer_from_dict(good)
    with pytest.raises(ModelFileError) as caught:
        tokenizer_from_dict(good | change)
    assert caught.value.code == "vocabulary_unreadable"
    assert caught.value.values == {"part": part}


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=6,
)


@given(
    JSON_VALUES
    | st.fixed_dictionaries(
        {
            "kind": st.sampled_from(["words", "characters"]),
            "version": st.just(1),
            "words": JSON_VALUES,
            "characters": JSON_VALUES,
            "n_spare": JSON_VALUES,
            "classes": JSON_VALUES,
        }
    )
)
def test_whatever_json_a_file_holds_it_is_read_or_refused(data: object) -> None:
    try:
        tokenizer = tokenizer_from_dict(data)
    except ModelFileError:
        return
    assert tokenizer.vocab_size > 0


def test_clusters_joined_are_the_text() -> None:
    assert "".join(clusters(f"a\r\n{FAMILY_EMOJI}")) == f"a\r\n{FAMILY_EMOJI}"


def test_characters_load_no_dictionary_of_words() -> None:
    code = (
        "import sys; from owi_core.tokenizer import CharTokenizer as C; "
        "C.from_text('小鸟在树上').encode('小鸟'); sys.exit('rjieba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
