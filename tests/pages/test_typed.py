"""Pasted texts on every page that reads one: nothing is lost, and what was changed is said."""

import pytest

from owi_core.cleaning import clean
from pages._ui.base.i18n import LANGUAGES, translator
from pages._ui.draw.typed import cleaning_note
from tests.pages_under_test import calm, opened, told

SENTENCE = "小明把苹果放在桌子上，小红拿走了它"
# page, key of the field, what must be set before, whether the text is cut into words
FIELDS = (
    ("rows", "rows.text.A", {}, True),
    ("rows", "rows.text.B", {}, True),
    ("projection", "projection.text", {}, True),
    ("connections", "connections.a", {}, True),
    ("tying", "tying.sentence", {}, True),
    ("masking", "masking.padded", {}, True),
    ("masking", "masking.sentence", {}, False),
    ("masking", "masking.prompt", {}, False),
    ("feedback", "feedback.prompt.language", {}, False),
    ("step", "step.text", {"source": "sentence"}, True),
    ("train", "train.swap.watch", {}, True),
)
IDS = [key for _, key, _, _ in FIELDS]


@pytest.mark.parametrize(("name", "key", "query", "by_words"), FIELDS, ids=IDS)
def test_what_was_changed_is_said_and_what_was_typed_stays(
    name: str, key: str, query: dict[str, str], by_words: bool
) -> None:
    typed = "\u200b山\x07 山\ufeff" if "feedback" in key else "\u200b小明\x07 把苹果\ufeff"
    app = opened(name, **query)
    app.text_input(key=key).set_value(typed).run()
    calm(app)
    assert app.text_input(key=key).value == typed
    note = cleaning_note(translator("zh", "common"), typed, by_words=by_words)
    assert "2" in note
    assert ("空格" in note) == by_words
    assert note in told(app)


@pytest.mark.parametrize(("name", "key", "query", "by_words"), FIELDS, ids=IDS)
def test_a_text_that_is_too_long_is_refused_with_its_numbers_and_stays(
    name: str, key: str, query: dict[str, str], by_words: bool
) -> None:
    app = opened(name, **query)
    typed = "山" * 5001
    field = app.text_input(key=key)
    assert not field.max_chars  # else the browser would drop it without a word
    field.set_value(typed).run()
    calm(app)
    assert app.text_input(key=key).value == typed
    if name != "masking" or by_words:  # the others are read when the training begins
        assert "5001" in app.error[0].value.replace(" ", "")


@pytest.mark.parametrize("lang", LANGUAGES)
def test_each_kind_of_change_is_named_with_its_count(lang: str) -> None:
    t = translator(lang, "common")
    text = "\ufeff小明 把\r\ne\u0301\x07"
    words, characters = (cleaning_note(t, text, by_words=by) for by in (True, False))
    cleaned = clean(text)
    assert (cleaned.invisible, cleaned.controls, cleaned.composed, cleaned.line_ends) == (1,) * 4
    for kind in ("invisible", "controls", "composed"):
        assert t(f"typed.{kind}", n=1) in words
        assert t(f"typed.{kind}", n=1) in characters
    assert t("typed.blanks", n=1) in words  # the line end separates two words
    assert t("typed.line_ends", n=1) in characters
    assert cleaning_note(t, SENTENCE, by_words=True) == ""


def test_a_long_text_to_learn_is_refused_with_its_numbers_and_stays() -> None:
    app = opened("masking", text="own")
    assert not app.text_area(key="masking.own").max_chars
    app.text_area(key="masking.own").set_value("山" * 20_007).run()
    app.button(key="masking-start").click().run()
    assert "20007" in app.error[0].value.replace(",", "")
    assert len(app.text_area(key="masking.own").value) == 20_007
