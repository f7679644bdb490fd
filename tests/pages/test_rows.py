"""The rows page: ready pairs, texts of all sorts, models, messages, nothing lost."""

import shutil
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from owi_core.checkpoints import FILE_NAME, SHIPPED, shipped
from owi_core.corpora import character_text
from owi_core.gallery import READY_PAIRS, lead_pair
from owi_core.readings import read
from pages._labs.rows import view
from pages._ui.base.i18n import translator
from pages._ui.base.page import Frame
from pages._ui.session.models import CURRENT_MODEL
from tests.pages_under_test import component_data, opened, told

NAMES = [pair.name for pair in READY_PAIRS]
T = translator("zh", "rows")


def text_of(app: AppTest, side: str) -> str:
    return str(app.text_input(key=f"rows.text.{side}").value)


def typed(app: AppTest, text: str, side: str = "A") -> AppTest:
    return app.text_input(key=f"rows.text.{side}").set_value(text).run()


def calm(app: AppTest) -> AppTest:
    """Demand that nothing unexpected happened."""
    assert not app.exception
    assert not [error for error in app.error if "log" in error.value or "日志" in error.value]
    return app


@pytest.mark.parametrize("lang", ["zh", "en"])
@pytest.mark.parametrize("name", NAMES)
def test_every_ready_pair_is_shown_whole_in_both_languages(name: str, lang: str) -> None:
    app = calm(opened("rows", pair=name, lang=lang))
    assert not app.error
    pair = READY_PAIRS[NAMES.index(name)]
    assert (text_of(app, "A"), text_of(app, "B")) == (pair.a, pair.b)
    assert translator(lang, "rows")("proof.title") in [h.value for h in app.subheader]


@pytest.mark.parametrize("name", NAMES)
def test_a_pair_with_an_answer_tells_it_and_one_without_does_not_know(name: str) -> None:
    pair = READY_PAIRS[NAMES.index(name)]
    lines = [line for line in told(opened("rows", pair=name)).splitlines() if line]
    for answer, query in ((pair.answer_a, pair.query_a), (pair.answer_b, pair.query_b)):
        start = f"{query} ＝ **{answer}**" if answer else "**我不知道**"
        assert any(line.startswith(start) for line in lines)


def test_choosing_a_pair_fills_both_sentences_and_its_model() -> None:
    app = opened("rows")
    app.selectbox(key="rows.pair").set_value("person").run()
    calm(app)
    assert text_of(app, "B") == "小明把苹果送给小红，她笑了"
    assert "她 ＝ **小红**" in told(app)


def test_causal_pair_shows_identical_rows_and_offers_the_other_model() -> None:
    app = opened("rows", pair="fit_causal")
    assert "一模一样" in told(app)
    assert T("difference.none") in told(app)
    app.button(key="rows.offer").click().run()
    calm(app)
    assert app.selectbox(key="rows.pair").value == "fit_bidirectional"
    assert "一模一样" not in told(app)


def test_typing_turns_a_ready_pair_into_ones_own_sentences() -> None:
    app = typed(opened("rows"), "小红把雨伞放在椅子上，小明拿走了它")
    assert app.selectbox(key="rows.pair").value == "typed"
    assert "它 ＝ **雨伞**" in told(calm(app))


def test_the_model_follows_the_text_that_is_typed() -> None:
    app = typed(opened("rows"), "小刚把书送给小丽，她笑了")
    typed(app, "小刚把书送给小丽，他笑了", "B")
    assert "她 ＝ **小丽**" in told(calm(app))
    assert "他 ＝ **小刚**" in told(app)


def test_unknown_words_are_listed_and_may_be_the_answer() -> None:
    app = typed(opened("rows"), "小明把量子鼠标垫放在桌子上，小红拿走了它")
    text = told(calm(app))
    assert "没学过的词" in text
    assert "鼠标" in text


def test_a_strange_structure_gets_an_honest_i_dont_know() -> None:
    app = typed(opened("rows"), "昨天它突然从窗台上跳下来，吓了大家一跳")
    assert T("answer.structure_unknown") in told(calm(app))
    assert "若硬要它说" in told(app)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "还是空的"),
        ("   ", "还是空的"),
        ("苹果，" * 70, "缩短"),
        ("苹" * 2001, "删去 1 个"),
        ("苹" * 5001, "删去 3001 个"),
    ],
)
def test_what_cannot_be_read_is_explained_and_stays(text: str, part: str) -> None:
    app = typed(opened("rows"), text)
    calm(app)
    # An empty field is no mistake: a hint, not an error.
    messages, others = (app.error, app.info) if text.strip() else (app.info, app.error)
    assert part in messages[0].value
    assert not others
    assert text_of(app, "A") == text
    pair = lead_pair("zh")
    assert text_of(app, "B") == pair.b
    assert f"它 ＝ **{pair.answer_b}**" in told(app)
    typed(app, pair.a)
    assert not app.error


@pytest.mark.parametrize(
    "text",
    [
        "苹果",
        "它",
        "🍎👨‍👩‍👧把🍌放在桌子上，小红拿走了它",
        "苹果苹果苹果",
        "<b>小明</b>把$x^2$放在*桌子*上，:smile:拿走了它",
        "What is this? It is a test.",
        "床前明月光，疑是地上霜。举头望明月，低头思故乡。",
        "，，，",
    ],
)
def test_any_text_is_read_calmly(text: str) -> None:
    app = typed(typed(opened("rows"), text), text, "B")
    calm(app)
    assert not app.error
    assert text_of(app, "A") == text


def test_markup_that_was_typed_is_escaped_in_prose() -> None:
    app = typed(opened("rows"), "小明把<b>$x$放在桌子上，小红拿走了它")
    assert "<b>" not in told(calm(app))


def test_an_answer_that_is_not_direct_shows_its_path(monkeypatch: pytest.MonkeyPatch) -> None:
    assert T("path.title", side="A") not in [h.value for h in opened("rows").subheader]
    monkeypatch.setattr("pages._ui.draw.say.is_indirect", lambda reading: True)
    app = calm(opened("rows"))
    assert T("path.title", side="A") in [h.value for h in app.subheader]
    assert T("path.title", side="B") in [h.value for h in app.subheader]


def test_layer_and_head_are_chosen_and_stay_when_a_word_changes() -> None:
    app = opened("rows")
    app.segmented_control(key="rows.layer").set_value(0).run()
    app.segmented_control(key="rows.head").set_value(2).run()
    typed(app, "小明把杯子放在苹果上，小红拿走了它")
    calm(app)
    assert app.segmented_control(key="rows.layer").value == 0
    assert app.segmented_control(key="rows.head").value == 2
    assert "第 1 层" in told(app)


def test_layer_at_first_is_the_one_that_looks_hardest() -> None:
    app = opened("rows")
    assert app.segmented_control(key="rows.layer").value == 1
    assert app.segmented_control(key="rows.head").value == -1  # the mean, and marked as chosen


def test_what_was_asked_survives_a_change_of_page() -> None:
    app = typed(opened("rows"), "小红把雨伞放在椅子上，小明拿走了它")
    app.switch_page("app.py").run()
    app.switch_page("pages/rows.py").run()
    assert text_of(calm(app), "A") == "小红把雨伞放在椅子上，小明拿走了它"
    assert app.selectbox(key="rows.pair").value == "typed"


def test_an_unknown_pair_in_the_link_opens_the_one_that_leads() -> None:
    assert text_of(calm(opened("rows", pair="<x>")), "A") == lead_pair("zh").a


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_page_opens_with_a_pair_whose_bar_moves_in_the_language_that_is_read(lang: str) -> None:
    app = calm(opened("rows", lang=lang))
    pair = lead_pair(lang)
    assert app.selectbox(key="rows.pair").value == pair.name
    assert (text_of(app, "A"), text_of(app, "B")) == (pair.a, pair.b)
    rows = [
        read(shipped(pair.model), *side)
        for side in ((pair.a, pair.query_a), (pair.b, pair.query_b))
    ]
    places = {int(each.record.row(each.query, 1).argmax()) for each in rows}
    assert len(places) == 2
    assert pair.a.isascii() == (lang == "en")


def test_the_pair_follows_the_language_until_another_was_chosen() -> None:
    app = opened("rows")
    app.query_params["lang"] = "en"
    assert text_of(calm(app.run()), "A") == lead_pair("en").a
    app.selectbox(key="rows.pair").set_value("person").run()
    app.query_params["lang"] = "zh"
    assert app.run().selectbox(key="rows.pair").value == "person"
    assert text_of(calm(app), "B") == "小明把苹果送给小红，她笑了"


def with_own_model(app: AppTest, model: str, folder: Path) -> AppTest:
    """Let the session choose a copy of a shipped model, as the training page does."""
    shutil.copy(SHIPPED / model / FILE_NAME, folder / FILE_NAME)
    app.session_state[CURRENT_MODEL] = str(folder)
    return app.run()


def test_ones_own_model_is_used_at_once_and_left_for_a_pair_it_cannot_read(tmp_path: Path) -> None:
    app = with_own_model(opened("rows"), "swap", tmp_path)
    assert app.selectbox(key="rows.model").value == "own"
    assert "它 ＝ **苹果**" in told(calm(app))
    app.selectbox(key="rows.pair").set_value("order").run()
    assert app.selectbox(key="rows.model").value == "own"
    app.selectbox(key="rows.pair").set_value("person").run()
    assert app.selectbox(key="rows.model").value == "auto"
    assert "她 ＝ **小红**" in told(calm(app))


def test_the_page_goes_back_when_ones_own_model_is_forgotten(tmp_path: Path) -> None:
    app = with_own_model(opened("rows"), "swap", tmp_path)
    del app.session_state[CURRENT_MODEL]
    calm(app.run())
    assert app.selectbox(key="rows.model").value == "auto"
    assert "它 ＝ **苹果**" in told(app)


def test_a_character_model_tells_the_next_character(tmp_path: Path) -> None:
    text = character_text("zh")[:12]
    app = with_own_model(opened("rows"), "language", tmp_path)
    assert len(app.error) == 2  # characters it does not know are named
    typed(typed(app, text), text[:8], "B")
    assert not calm(app).error
    assert "下一个字最可能是" in told(app)


@pytest.mark.parametrize(("lang", "named"), [("zh", "备用词位 7"), ("en", "spare row 7")])
def test_a_row_for_new_words_is_named_in_the_language(lang: str, named: str) -> None:
    page = Frame(lang, translator(lang, "rows"), "light")
    values = {"word": "<NEW7>", "p": 0.01, "other": "油桶", "q": 0.009}
    assert named in view._told(page, ("answer.would", values))
    assert "NEW" not in view._told(page, ("answer.would", values))


@pytest.mark.parametrize(("lang", "pair"), [("en", "nouns"), ("en", "street"), ("zh", "nouns")])
def test_readers_of_english_see_what_a_chinese_word_means(lang: str, pair: str) -> None:
    data = component_data(opened("rows", pair=pair, lang=lang), "rows.words.A")
    if (lang, pair) == ("en", "nouns"):
        meant = dict(zip(data["labels"], data["gloss"], strict=True))
        assert (meant["苹果"], meant["，"], meant["它"]) == ("apple", "", "it")
    else:
        assert data["gloss"] is None
