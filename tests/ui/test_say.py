"""A finding is said only when it was measured, and the opposite is said when it was not."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from owi_core.checkpoints import shipped, shipped_names
from owi_core.comparison import row_gap
from owi_core.corpora import character_text
from owi_core.figures import is_same_everywhere
from owi_core.gallery import READY_PAIRS, ready_pair
from owi_core.probes.knockout import Edge, answer_log_probability
from owi_core.probes.routes import Routes
from owi_core.readings import IDLE_NATS, Reading, read
from pages._ui.base.i18n import LANGUAGES, translator
from pages._ui.draw import say

PAIRS = ("nouns", "order", "verb", "fit_bidirectional", "fit_causal", "person")


def both(name: str) -> tuple[Reading, Reading]:
    pair = ready_pair(name)
    assert pair is not None
    if pair.model not in shipped_names():
        pytest.fail(f"the model {pair.model} is not shipped")
    bundle = shipped(pair.model)
    return read(bundle, pair.a, pair.query_a), read(bundle, pair.b, pair.query_b)


def with_row(reading: Reading, row: list[float]) -> Reading:
    """Return the reading with another row of its query in every layer and head."""
    pattern = reading.record.pattern.copy()
    pattern[:, :, reading.query] = row
    return replace(reading, record=replace(reading.record, pattern=pattern))


def one_hot(length: int, place: int) -> list[float]:
    return [float(i == place) for i in range(length)]


def test_a_row_on_the_antecedent_is_called_direct_and_another_is_not() -> None:
    a, _ = both("nouns")
    T = len(a.labels)
    assert say.gaze_line(with_row(a, one_hot(T, 2)), 0, None)[0] == "gaze.direct"
    key, values = say.gaze_line(with_row(a, one_hot(T, 3)), 0, None)
    assert key == "gaze.elsewhere"
    assert (values["top"], values["mass"]) == (a.labels[3], 0.0)


def test_shape_follows_the_entropy() -> None:
    a, _ = both("nouns")
    T = len(a.labels)
    rows = {
        "sharp": np.array(one_hot(T, 2)),
        "between": np.array([0.25] * 4 + [0.0] * (T - 4)),
        "flat": np.full(T, 1 / T),
    }
    assert {name: say.shape_of(a, row) for name, row in rows.items()} == {n: n for n in rows}


def test_entropy_is_measured_against_the_keys_the_query_may_see() -> None:
    pair = ready_pair("nouns")
    assert pair is not None
    reading = read(shipped("swap"), pair.a, 3)
    spread = say.spread(reading, reading.record.row(3, 0))
    assert spread["keys"] == 4
    assert spread["flat"] == pytest.approx(np.log(4))


@pytest.mark.parametrize(
    ("change", "everywhere", "code"),
    [
        (-6.0, -9.0, "carries"),
        (-0.5, -0.6, "helps"),
        (-0.5, -2.1, "replaced"),
        (0.01, -0.11, "replaced"),
        (0.01, -0.09, "idle"),
        (0.01, 0.2, "hinders"),
        (0.7, 0.0, "hinders"),
        (0.7, -3.0, "replaced"),
    ],
)
def test_an_edge_is_judged_by_its_cut_in_one_layer_and_in_all(
    change: float, everywhere: float, code: str
) -> None:
    a, _ = both("nouns")
    edge = a.strongest()
    assert edge is not None
    changed = replace(a)
    effects = np.zeros((a.record.n_layer, len(a.labels)), np.float32)
    effects[edge.layer, edge.key] = change
    changed.__dict__["effects"] = effects
    changed.__dict__["_everywhere"] = {edge.key: everywhere}
    key, values = say.proof_lines(changed, edge.layer)[0]
    assert key == f"proof.{code}"
    for lang in LANGUAGES:
        assert values["everywhere"] in translator(lang, "rows")(key, **values)


READY = [(pair.name, side) for pair in READY_PAIRS for side in "ab"]


@pytest.mark.parametrize(("name", "side"), READY)
def test_no_ready_sentence_is_said_not_to_need_a_look_that_it_needs(name: str, side: str) -> None:
    reading = both(name)["ab".index(side)]
    for layer in range(reading.record.n_layer):
        edge = reading.strongest(layer)
        assert edge is not None
        ids, target = reading.encoding.ids, reading.answer_id
        cut = [Edge(i, reading.query, edge.key) for i in range(reading.record.n_layer)]
        run = partial(answer_log_probability, reading.bundle.model, ids, reading.query, target)
        change, everywhere = (run(edges) - run() for edges in ([edge], cut))
        code = say.proof_lines(reading, layer)[0][0]
        if not reading.answer.known:
            assert code == "proof.guess"
        elif min(change, everywhere) <= -IDLE_NATS - 1e-3:
            assert code in ("proof.carries", "proof.helps", "proof.replaced")
        if reading.answer.known and change > -IDLE_NATS and everywhere <= -2.01:
            assert code == "proof.replaced"


@pytest.mark.parametrize(("name", "side"), READY)
def test_the_route_of_every_ready_sentence_is_that_of_the_experiment(name: str, side: str) -> None:
    reading = both(name)["ab".index(side)]
    line = say.route_line(reading)
    if reading.answer.reason != "known":
        assert line is None
        return
    model, ids = reading.bundle.model, reading.encoding.ids
    T, L, query = len(ids), model.config.n_layer, reading.query
    word = reading.answer.word
    meant = [i for i, label in enumerate(reading.labels) if label == word and i != query]
    masks = {name: model.default_mask(T).expand(L, 1, 1, T, T).clone() for name in "dw"}
    for key in meant:
        masks["w"][..., query, key] = False
        for other in range(T):
            if other != query and other not in meant:
                masks["d"][..., other, key] = False
    held, p = {}, {}
    for closed, mask in masks.items():
        logits = model(torch.tensor([list(ids)]), mask=mask).logits[0, query].detach()
        held[closed] = int(logits.argmax()) == reading.answer_id
        p[closed] = float(logits.softmax(-1)[reading.answer_id])
    route = {(1, 0): "direct", (0, 1): "detour", (1, 1): "both", (0, 0): "neither"}
    assert line is not None
    assert line[0] == f"route.{route[held['d'], held['w']]}"
    assert line[1]["alone"] == pytest.approx(p["d"], abs=1e-5)
    assert line[1]["without"] == pytest.approx(p["w"], abs=1e-5)


def test_an_edge_that_matters_more_than_the_strongest_is_named() -> None:
    a, _ = both("nouns")
    effects = np.zeros((a.record.n_layer, len(a.labels)), np.float32)
    effects[0, 4] = -3.0
    changed = replace(a)
    changed.__dict__["effects"] = effects
    lines = dict(say.proof_lines(changed, 1))
    assert lines["proof.dearest"]["key"] == a.labels[4]
    assert lines["proof.dearest"]["layer"] == 1


def with_route(reading: Reading, direct: bool, other: bool) -> Reading:
    """Return the reading as if the answer held, or not, by each route alone."""
    changed = replace(reading)
    changed.__dict__["routes"] = Routes(1.0, float(other), float(direct), other, direct)
    return changed


@pytest.mark.parametrize(
    ("direct", "other", "route", "finding"),
    [
        (True, False, "direct", "moved"),
        (False, True, "detour", "moved_by_detour"),
        (True, True, "both", "moved_otherwise"),
        (False, False, "neither", "moved_otherwise"),
    ],
)
def test_a_pair_with_two_answers_moves_by_the_route_that_was_measured(
    direct: bool, other: bool, route: str, finding: str
) -> None:
    a, b = both("nouns")
    changed = with_route(a, direct, other)
    assert say.finding(changed, b, 1, None)[0] == f"finding.{finding}"
    assert say.is_indirect(changed) == (finding != "moved")
    line = say.route_line(changed)
    assert line is not None
    assert line[0] == f"route.{route}"
    for lang in LANGUAGES:
        for page, key in (("rows", line[0]), ("home", f"check.{line[0]}")):
            assert f"{float(other):.2f}" in translator(lang, page)(key, **line[1])


def test_a_spread_row_is_no_detour() -> None:
    # `person` puts 0.85 of its weight on the word meant, and needs no other word to answer.
    a, b = both("person")
    assert say.finding(with_row(a, one_hot(len(a.labels), 3)), b, 1, None)[0] == "finding.moved"


def test_two_texts_read_by_characters_are_continued_not_resolved() -> None:
    bundle = shipped("language")
    text = character_text("zh")
    a, b = (read(bundle, text[start : start + 8]) for start in (0, 9))
    assert say.finding(a, b, 0, None)[0] in ("finding.next", "finding.same_answer")
    assert say.route_line(a) is None


def test_two_looks_in_turn_are_named_only_where_there_are_two() -> None:
    a, _ = both("nouns")
    pattern = np.zeros_like(a.record.pattern)
    pattern[:, :, :, 0] = 1
    pattern[0, :, 3] = one_hot(len(a.labels), 2)
    pattern[1, :, a.query] = one_hot(len(a.labels), 3)
    led = replace(a, record=replace(a.record, pattern=pattern))
    key, values = say.path_line(led)
    assert (key, values["via"]) == ("path.via", a.labels[3])
    assert (values["first"], values["second"]) == (1.0, 1.0)
    for lang in LANGUAGES:
        assert a.labels[3] in translator(lang, "rows").markdown(key, **values)
    assert say.path_line(with_row(a, one_hot(len(a.labels), 0)))[0] == "path.unclear"


def test_causal_rows_before_the_clue_are_identical_and_said_to_be() -> None:
    a, b = both("fit_causal")
    assert row_gap(a, b) == 0.0
    assert say.finding(a, b, 0, None)[0] == "finding.identical_causal"
    assert not a.answer.known
    assert not b.answer.known


def test_rows_that_differ_are_not_called_identical() -> None:
    a, b = both("fit_bidirectional")
    gap = row_gap(a, b)
    assert gap is not None
    assert gap > 0
    assert not say.finding(a, b, 1, None)[0].startswith("finding.identical")


def test_an_untrained_model_is_called_untrained_and_flat_only_when_flat() -> None:
    a, b = both("untrained")
    assert say.finding(a, b, 0, None)[0] == "finding.untrained_flat"
    T = len(a.labels)
    assert say.finding(with_row(a, one_hot(T, 0)), b, 0, None)[0] == "finding.untrained"


def test_ambiguous_pair_tells_both_entropies_and_which_is_wider() -> None:
    a, b = both("ambiguous")
    for layer in range(a.record.n_layer):
        key, values = say.finding(a, b, layer, None)
        wider = "b" if b.entropy_nats(layer) > a.entropy_nats(layer) else "a"
        assert key == f"finding.one_known_{wider}_wider"
        assert values["entropy_b"] == pytest.approx(b.entropy_nats(layer))


def test_sentence_without_a_pronoun_is_said_to_have_none() -> None:
    a, b = both("article")
    key, values = say.finding(a, b, 1, None)
    assert (key, values["side"], values["query"]) == ("finding.no_pronoun", "B", b.labels[b.query])
    assert say.answer_line(b)[0] == "answer.no_pronoun"


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_line_has_its_sentence_and_all_its_values(lang: str, name: str) -> None:
    t = translator(lang, "rows")
    a, b = both(name)
    for layer in range(a.record.n_layer):
        lines = [say.finding(a, b, layer, None)]
        for reading in (a, b):
            lines += [say.answer_line(reading), say.gaze_line(reading, layer, None)]
            lines += say.proof_lines(reading, layer)
        for key, values in lines:
            assert t.markdown(key, **values)


def test_rows_whose_entropies_are_written_alike_are_not_told_apart() -> None:
    a, b = both("ambiguous")
    T = len(a.labels)
    nearly = [0.0001, *one_hot(T - 1, 2)]
    key, values = say.finding(with_row(a, nearly), with_row(b, one_hot(T, 3)), 1, None)
    assert key == "finding.one_known_alike"
    for lang in LANGUAGES:
        assert translator(lang, "rows").markdown(key, **values)


def test_two_unknown_words_are_not_said_to_be_the_same_word() -> None:
    bundle = shipped("swap")
    a, b = (read(bundle, f"小明把{word}放在桌子上，小红拿走了它") for word in ("榴莲", "山竹"))
    assert (a.answer.word, b.answer.word) == ("榴莲", "山竹")
    key, values = say.finding(a, b, 1, None)
    assert key == "finding.identical_spare"
    assert values["words"] == ["榴莲", "山竹"]
    rows = (reading.record.row(reading.query, 1) for reading in (a, b))
    assert not is_same_everywhere(a.labels, b.labels, *rows)


@pytest.mark.parametrize("ends", [("太粗了", "太小了"), ("太大了", "太小了啊啊啊呀！")])
def test_the_causal_reason_holds_for_sentences_of_unequal_length(ends: tuple[str, str]) -> None:
    bundle = shipped("fit_causal")
    a, b = (read(bundle, f"苹果放不进杯子，因为它{end}") for end in ends)
    assert len(a.labels) != len(b.labels)
    key, values = say.finding(a, b, 0, None)
    assert key == "finding.identical_causal"
    assert values["gap"] <= say.ROUNDING
    rows = (reading.record.row(reading.query, 0) for reading in (a, b))
    assert is_same_everywhere(a.labels, b.labels, *rows)
    other = read(bundle, "桌子放不进杯子，因为它太小了")
    assert not say.finding(a, other, 0, None)[0].startswith("finding.identical")


def test_a_word_with_nothing_before_it_is_neither_focused_nor_spread() -> None:
    reading = read(shipped("swap"), "它")
    row = reading.record.row(0, 0)
    assert say.shape_of(reading, row) == "alone"
    assert say.gaze_line(reading, 0, None)[0] == "gaze.alone"
    for lang in LANGUAGES:
        sentence = translator(lang, "rows")("gaze.alone", layer=1, query="它", top_mass=1.0)
        assert "0.00" not in sentence


def test_without_a_pronoun_the_reader_is_asked_for_a_word() -> None:
    bundle = shipped("swap")
    a = read(bundle, "雨停了，孩子们收起帐篷。")
    key, values = say.finding(a, read(bundle, "小明把杯子放在桌子上，小红拿走了它"), 1, None)
    assert (key, values["query"]) == ("finding.no_pronoun", "帐篷")
    asks = {"zh": "请点一个词", "en": "Click a word"}
    for lang in LANGUAGES:
        assert asks[lang] in translator(lang, "rows")(key, **values)
    hidden = read(bundle, "手机掉了，它响了")
    assert not say.finding(hidden, hidden, 1, None)[0].endswith("no_pronoun")


@pytest.mark.parametrize("text", ["猫坐在垫子上，因为它很暖和", "小明喜欢苹果，也喜欢它的颜色"])
def test_nothing_is_claimed_below_an_answer_that_is_not_believed(text: str) -> None:
    reading = read(shipped("swap"), text)
    assert not reading.answer.known
    for layer in range(reading.record.n_layer):
        keys = [key for key, _ in say.proof_lines(reading, layer)]
        assert set(keys) <= {"proof.guess", "proof.control", "proof.none"}
