"""Readings: which token looks, what the answer is, when it is not believed, and what is printed."""

import json
import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from owi_core.checkpoints import Bundle
from owi_core.comparison import Comparison, row_gap, same_words
from owi_core.corpora import FAMILIES, LANGUAGE_OF, pronoun_corpus
from owi_core.errors import ModelFileError, OwiError, TextError
from owi_core.gallery import (
    DEFAULT_MODEL,
    MODEL_OF,
    READY_PAIRS,
    ReadyPair,
    model_for,
    ready_pair,
)
from owi_core.probes.knockout import Edge, knock_out_nats
from owi_core.readings import Reading, read
from owi_core.tokenizer import CharTokenizer, WordTokenizer
from tests.tiny import character_bundle, refused, sentences_of, word_bundle

TEXT = "小明把苹果放在桌子上，小红拿走了它"
STREET = "The animal didn't cross the street because it was too tired."
WORDS = ("小明", "把", "苹果", "放在", "桌子", "上", "，", "小红", "拿走", "了", "它")
PLAIN = word_bundle()
CHARACTERS = character_bundle()


def sure_of(word: str, nats: float = 20.0) -> Bundle:
    """A model that answers one word wherever it is asked, this much surer than of any other."""
    bundle = word_bundle(tie_weights=False, head_bias=True)
    assert isinstance(bundle.tokenizer, WordTokenizer)
    with torch.no_grad():
        bundle.model.lm_head.weight.zero_()
        bundle.model.lm_head.bias[bundle.tokenizer.encode_words([word]).ids[0]] = nats
    return bundle


def test_tokens_are_the_words_as_typed() -> None:
    assert read(PLAIN, TEXT).labels == WORDS


def test_last_pronoun_looks_when_nobody_is_named() -> None:
    assert read(PLAIN, TEXT).query == 10
    assert read(PLAIN, "它把苹果放在桌子上，她拿走了杯子").query == 7


def test_last_token_looks_where_there_is_no_pronoun() -> None:
    reading = read(PLAIN, "小明把杯子放在桌子上")
    assert reading.query == len(reading.labels) - 1


def test_a_word_looks_from_its_last_occurrence_and_an_index_from_itself() -> None:
    text = "小明把苹果放在苹果旁边，小红拿走了它"
    reading = read(PLAIN, text, "苹果")
    assert [i for i, label in enumerate(reading.labels) if label == "苹果"] == [2, 4]
    assert reading.query == 4
    assert read(PLAIN, text, 2).query == 2
    assert read(PLAIN, text, 0).query == 0


def test_repeated_words_keep_all_their_rows_and_columns() -> None:
    reading = read(PLAIN, "苹果苹果苹果它")
    assert reading.labels == ("苹果", "苹果", "苹果", "它")
    assert reading.record.pattern.shape[2:] == (4, 4)
    assert len(reading.to_dict()["row"][0][0]) == 4


@pytest.mark.parametrize("query", ["梨子", "", " ", "小", "<PAD>"])
def test_a_word_that_is_not_there_is_refused(query: str) -> None:
    with refused("query_not_in_text", TextError, query=query):
        read(PLAIN, TEXT, query)


@pytest.mark.parametrize("query", [-1, 11, 10**9])
def test_an_index_outside_the_sentence_is_refused(query: int) -> None:
    with refused("query_out_of_range", TextError, query=query, last=10):
        read(PLAIN, TEXT, query)


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "　"])
def test_a_blank_text_is_refused(text: str) -> None:
    for bundle in (PLAIN, CHARACTERS):
        with refused("text_empty", TextError):
            read(bundle, text)


def test_a_text_past_the_block_or_the_limit_is_refused_with_how_much() -> None:
    with refused("text_over_block", TextError, tokens=70, block_size=64, over=6):
        read(PLAIN, "苹果" * 70)
    with refused("text_over_block", TextError, tokens=11, block_size=7, over=4):
        read(PLAIN, TEXT, limit=7)


def test_unknown_words_are_marked_and_the_same_word_is_the_same() -> None:
    reading = read(PLAIN, "小明把哈密瓜放在哈密瓜旁边，小红拿走了它")
    unknown = [reading.labels[i] for i in reading.unknown]
    assert unknown == ["哈密瓜", "哈密瓜"]
    assert reading.encoding.ids[reading.unknown[0]] == reading.encoding.ids[reading.unknown[1]]
    assert reading.to_dict()["unknown_words"] == unknown


def test_a_sentence_may_have_as_many_unknown_words_as_it_has_room_for() -> None:
    words = [f"zz{chr(97 + i % 26)}{i}" for i in range(64)]
    reading = read(PLAIN, " ".join(words))
    assert reading.labels == reading.unknown_words == tuple(words)
    assert len(set(reading.encoding.ids)) == 64
    with refused("text_over_block", TextError, tokens=65, over=1):
        read(PLAIN, " ".join([*words, "zzz"]))


def test_more_rows_for_unknown_words_leave_the_model_as_it_was() -> None:
    words = [f"zz{chr(97 + i)}" for i in range(17)]
    wide, narrow = read(PLAIN, " ".join(words)), read(PLAIN, " ".join(words[:16]))
    assert (wide.bundle.source, narrow.bundle) == (PLAIN, PLAIN)
    np.testing.assert_array_equal(wide.record.pattern[..., :16, :16], narrow.record.pattern)
    rows = wide.bundle.model.embedding.weight.detach()
    assert torch.equal(rows[:-1], PLAIN.model.embedding.weight)
    assert wide.bundle.model.lm_head.weight is wide.bundle.model.embedding.weight
    spread = PLAIN.model.embedding.weight.detach()[-16:].square().mean().sqrt()
    assert float(rows[-1].square().mean().sqrt()) == pytest.approx(float(spread), rel=0.5)


def test_marks_that_are_unknown_are_no_unknown_words() -> None:
    reading = read(PLAIN, "“榴莲”——小红拿走了它；")
    assert reading.unknown_words == ("榴莲",)
    assert set(reading.unknown_marks) == {"“", "”", "—", "；"}


def test_without_a_pronoun_the_last_word_looks_and_not_the_full_stop() -> None:
    reading = read(PLAIN, "雨停了，孩子们收起帐篷。")
    assert not reading.has_pronoun
    assert reading.labels[reading.query] == "帐篷"
    assert read(PLAIN, "。！").query == 1


@pytest.mark.parametrize("text", ["它响了", "手机掉了，它空了", "他亮着灯"])
def test_a_pronoun_is_found_where_the_dictionary_guesses_a_word_around_it(text: str) -> None:
    reading = read(PLAIN, text)
    assert reading.has_pronoun
    assert reading.labels[reading.query] in ("它", "他")


# Two sentences compared


def test_sentences_of_unequal_length_have_a_gap_where_the_words_before_are_the_same() -> None:
    a, b = (read(PLAIN, f"苹果放不进杯子，因为它太{end}") for end in ("粗了", "小了"))
    assert len(a.labels) != len(b.labels)
    assert row_gap(a, b) == 0.0
    assert same_words(a, b)
    assert row_gap(a, read(PLAIN, "桌子放不进杯子，因为它太小了")) > 0
    both_ways = word_bundle(mask="bidirectional")
    a, b = (read(both_ways, f"苹果放不进杯子，因为它太{end}") for end in ("粗了", "小了"))
    assert row_gap(a, b) is None


def test_two_unknown_words_with_one_row_are_two_words() -> None:
    a, b = (read(PLAIN, TEXT.replace("苹果", word)) for word in ("榴莲", "山竹"))
    assert row_gap(a, b) == 0.0
    assert a.encoding.ids == b.encoding.ids
    assert not same_words(a, b)
    assert same_words(a, read(PLAIN, TEXT.replace("苹果", "榴莲") + "。"))


def test_a_sure_answer_in_the_sentence_is_known_and_pointed_at() -> None:
    answer = read(sure_of("苹果"), TEXT).answer
    assert (answer.known, answer.reason, answer.word) == (True, "known", "苹果")
    assert answer.antecedent == 2
    assert answer.margin_nats == pytest.approx(20, abs=1e-4)
    assert answer.probability > 0.99
    assert answer.probability > answer.runner_up_probability


def test_answer_of_a_repeated_word_is_its_last_token() -> None:
    answer = read(sure_of("苹果"), "小明把苹果放在苹果旁边，小红拿走了它").answer
    assert answer.antecedent == 4


def test_two_best_answers_within_two_nats_are_undecided() -> None:
    for nats, reason in ((1.9, "undecided"), (2.1, "known")):
        answer = read(sure_of("苹果", nats), TEXT).answer
        assert (answer.reason, answer.known) == (reason, reason == "known")
        assert answer.margin_nats == pytest.approx(nats, abs=1e-4)


def test_a_sure_answer_that_is_not_in_the_sentence_is_not_believed() -> None:
    answer = read(sure_of("杯子"), TEXT).answer
    assert (answer.known, answer.reason, answer.antecedent) == (False, "not_in_sentence", None)


@pytest.mark.parametrize(
    ("text", "query", "reason"),
    [
        ("小明把苹果放在桌子上", None, "no_pronoun"),
        (TEXT, "苹果", "no_pronoun"),
        ("苹果喜欢它", None, "structure_unknown"),
        ("小明把苹果扔在桌子上，小红拿走了它", None, "structure_unknown"),
        ("它", None, "structure_unknown"),
        ("它拿走了它", 0, "structure_unknown"),
        ("the apple is on it 它", None, "structure_unknown"),
        ("😀😀 它", None, "structure_unknown"),
    ],
)
def test_what_the_model_never_learned_is_not_believed_however_sure_it_is(
    text: str, query: str | int | None, reason: str
) -> None:
    answer = read(sure_of("苹果"), text, query).answer
    assert (answer.known, answer.reason) == (False, reason)


def test_a_sure_answer_is_a_guess_where_the_clue_cannot_be_seen() -> None:
    guessing = sure_of("苹果")
    guessing.note["params"] = {"family": "fit"}
    assert read(guessing, "苹果放不进杯子，因为它太大了").answer.reason == "clue_hidden"


def test_a_structure_of_another_family_is_unknown_to_this_model() -> None:
    answer = read(sure_of("苹果"), "苹果放不进杯子，因为它太大了").answer
    assert answer.reason == "structure_unknown"
    other = sure_of("苹果")
    other.note["params"] = {"family": "fit"}
    assert read(other, "苹果放不进杯子，因为它太大了").answer.reason != "structure_unknown"


@pytest.mark.parametrize("note", [{}, {"params": 3}, {"params": {"family": ["x"]}}, {"params": {}}])
def test_a_note_that_says_nothing_of_use_does_no_harm(note: dict[str, Any]) -> None:
    bundle = sure_of("苹果")
    assert read(Bundle(bundle.model, bundle.tokenizer, note), TEXT).answer.known


def test_half_width_marks_are_the_same_marks_and_stay_as_typed() -> None:
    reading = read(sure_of("苹果"), TEXT.replace("，", ","))
    assert reading.labels[6] == ","
    assert reading.answer.known


def test_a_character_model_tells_the_next_character() -> None:
    reading = read(CHARACTERS, "注意力")
    assert reading.labels == ("注", "意", "力")
    assert reading.query == 2
    assert (reading.answer.known, reading.answer.reason) == (True, "next_character")
    logits = CHARACTERS.model(torch.tensor([reading.encoding.ids])).logits[0, -1]
    assert reading.answer.word == CHARACTERS.tokenizer.label(int(logits.argmax()))
    assert reading.match is None


def test_a_character_model_names_the_characters_it_does_not_know() -> None:
    with refused("unknown_characters", TextError, characters="苹 果", count=2):
        read(CHARACTERS, "注意苹果")


def test_a_model_of_one_character_has_no_runner_up_to_beat() -> None:
    bundle = character_bundle("aaaa")
    answer = read(bundle, "aa").answer
    assert (answer.probability, answer.margin_nats, answer.word) == (1.0, 0.0, "a")


def test_a_model_whose_numbers_overflow_is_refused() -> None:
    bundle = word_bundle()
    with torch.no_grad():
        bundle.model.lm_head.weight.fill_(3e38)
    with refused("model_overflows", ModelFileError):
        read(bundle, TEXT)


def test_probabilities_are_those_of_the_model_and_in_order() -> None:
    reading = read(PLAIN, TEXT)
    logits = PLAIN.model(torch.tensor([reading.encoding.ids])).logits[0, 10].double()
    best = torch.sort(logits.softmax(-1), descending=True).values[:2].tolist()
    answer = reading.answer
    assert [answer.probability, answer.runner_up_probability] == pytest.approx(best, rel=1e-4)
    assert answer.margin_nats == pytest.approx(math.log(best[0] / best[1]), abs=1e-4)


def test_record_of_a_reading_passes_its_own_checks_with_the_mask_of_the_model() -> None:
    for mask in ("causal", "bidirectional"):
        record = read(word_bundle(mask=mask, dropout=0.5), TEXT).record
        assert all(check.passed for check in record.checks())
        assert record.mask[0, 10] == (mask == "bidirectional")
        assert (record.pattern[:, :, 0, 10] > 0).all() == (mask == "bidirectional")
        joined = [record.text[start:end] for start, end in record.query_spans]
        assert tuple(joined) == record.query_tokens


def test_strongest_edge_is_the_largest_weight_on_another_token() -> None:
    reading = read(PLAIN, TEXT)
    edge = reading.strongest()
    assert edge is not None
    rows = reading.record.pattern.mean(1)[:, reading.query]
    rows[:, reading.query] = 0
    assert rows[edge.layer, edge.key] == rows.max()
    assert (edge.query, edge.head) == (10, None)
    in_first = reading.strongest(0)
    assert in_first is not None
    assert (in_first.layer, in_first.key) == (0, int(rows[0].argmax()))


def test_control_edge_is_another_one_of_the_same_layer() -> None:
    reading = read(PLAIN, TEXT)
    for key in (0, 5):
        control = reading.control(Edge(1, 10, key))
        assert control is not None
        assert control.key not in (key, 10)
        assert (control.layer, control.query) == (1, 10)
    # The second token sees two keys: the edge itself, and its own position, which is no control.
    assert read(PLAIN, TEXT, 1).control(Edge(1, 1, 0)) is None
    assert read(PLAIN, "它").control(Edge(0, 0, 0)) is None


def test_cut_is_the_knock_out_of_that_edge() -> None:
    reading = read(PLAIN, TEXT)
    edge = Edge(1, 10, 4)
    cut = reading.cut(edge)
    assert cut is not None
    by_hand = knock_out_nats(PLAIN.model, reading.encoding.ids, 10, reading.answer_id, edge)
    assert cut.change_nats == pytest.approx(by_hand, abs=1e-5)
    assert cut.word == "桌子"
    assert cut.weight == pytest.approx(float(reading.record.pattern[1, :, 10, 4].mean()))


def test_a_sentence_of_one_word_has_no_edge_to_cut() -> None:
    reading = read(PLAIN, "它")
    assert reading.strongest() is None
    assert reading.to_dict()["knock_out"] is None
    assert reading.to_dict()["knock_out_control"] is None


def test_a_query_that_sees_itself_alone_has_no_edge_to_cut() -> None:
    values = read(PLAIN, TEXT, 0).to_dict()
    assert values["knock_out"] is None


def test_temperature_reaches_the_pattern() -> None:
    flat, sharp = (read(PLAIN, TEXT, temperature=t).entropy_nats(1) for t in (1e4, 1e-2))
    assert flat == pytest.approx(math.log(11), abs=1e-3)
    assert sharp < flat


def printed(values: dict[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(values, allow_nan=False))  # type: ignore[no-any-return]


def test_what_is_printed_holds_all_that_was_promised() -> None:
    values = printed(read(PLAIN, TEXT).to_dict())
    assert values["tokens"] == list(WORDS)
    assert values["query"] == {"index": 10, "token": "它"}
    assert np.shape(values["pattern"]) == (2, 5 - 3, 11, 11)
    assert values["row"] == np.array(values["pattern"])[:, :, 10].tolist()
    assert {"word", "probability", "runner_up", "margin_nats", "known", "reason"} <= set(
        values["answer"]
    )
    assert {"edge", "word", "weight", "change_nats", "everywhere_nats"} == set(values["knock_out"])
    assert [check["passed"] for check in values["checks"]] == [True] * 4


def test_difference_of_two_rows_is_the_second_minus_the_first() -> None:
    a, b = read(PLAIN, TEXT), read(PLAIN, TEXT.replace("苹果", "杯子"))
    values = printed(Comparison(a, b).to_dict())
    by_hand = b.record.pattern.mean(1)[:, 10] - a.record.pattern.mean(1)[:, 10]
    np.testing.assert_allclose(values["row_difference"], by_hand, atol=1e-6)
    shorter = read(PLAIN, "小红拿走了它")
    assert Comparison(a, shorter).to_dict()["row_difference"] is None


ODD = ("。", " ", "\n", "😀", "👨\u200d👩\u200d👧", "<b>", "$x$", "哈密瓜", "\ud800", "\0")
TYPED = st.text(max_size=40) | st.lists(st.sampled_from([*WORDS, *ODD]), max_size=20).map("".join)


def any_reading(bundle: Bundle, text: str, query: str | int | None) -> None:
    try:
        reading = read(bundle, text, query)
    except OwiError as error:
        assert all(sentences_of(error))  # noqa: PT017
        return
    assert isinstance(reading, Reading)
    printed(reading.to_dict())
    assert all(check.passed for check in reading.record.checks())


@given(TYPED, st.none() | st.integers(-2, 12) | st.sampled_from(["它", "苹果"]) | st.text())
def test_any_text_gives_a_reading_or_a_refusal_in_words(text: str, query: str | int | None) -> None:
    any_reading(PLAIN, text, query)


@given(st.text(alphabet="attentions 注意力！\n它😀", max_size=30))
def test_any_text_gives_a_reading_or_a_refusal_in_characters(text: str) -> None:
    any_reading(CHARACTERS, text, None)


@pytest.mark.parametrize("pair", READY_PAIRS, ids=lambda pair: pair.name)
def test_a_ready_pair_means_what_its_grammar_says(pair: ReadyPair) -> None:
    family = {model: family for family, model in MODEL_OF.items()}.get(pair.model, "swap")
    bundle = word_bundle(family=family)
    for text, query, answer in (
        (pair.a, pair.query_a, pair.answer_a),
        (pair.b, pair.query_b, pair.answer_b),
    ):
        reading = read(bundle, text, query)
        assert reading.unknown == ()
        if answer is not None:
            assert reading.match is not None
            assert reading.match.position == reading.query
            assert reading.labels[reading.match.antecedent] == answer


def test_ready_pairs_are_found_by_name() -> None:
    assert ready_pair("nouns") is READY_PAIRS[0]
    assert ready_pair("nothing") is None
    assert len({pair.name for pair in READY_PAIRS}) == len(READY_PAIRS)


def test_families_of_a_language_share_one_vocabulary() -> None:
    words = {(LANGUAGE_OF[f], pronoun_corpus(f, 3, 1, 1).words) for f in FAMILIES}
    assert len(words) == len(set(LANGUAGE_OF.values()))


@pytest.mark.parametrize(
    ("texts", "model"),
    [
        ((TEXT,), "swap"),
        ((TEXT, "小明把苹果放在桌子上，小红擦净了它"), "verb"),
        (("苹果放不进杯子，因为它太大了",), "fit_bidirectional"),
        (("小明把苹果送给小红，他笑了",), "person"),
        ((STREET,), "street"),
        (
            ("Yesterday, the old bridge wasn’t crossed by the zebra because it was too windy!",),
            "street",
        ),
        ((STREET, TEXT), DEFAULT_MODEL),
        (("", STREET), DEFAULT_MODEL),
        (("今天天气不错",), DEFAULT_MODEL),
        ((TEXT, "今天天气不错"), DEFAULT_MODEL),
    ],
)
def test_the_model_that_knows_all_the_sentences_is_chosen(
    texts: tuple[str, ...], model: str
) -> None:
    assert model_for(*texts) == model


def test_tokenizers_of_the_tests_are_of_both_kinds() -> None:
    assert isinstance(PLAIN.tokenizer, WordTokenizer)
    assert isinstance(CHARACTERS.tokenizer, CharTokenizer)
