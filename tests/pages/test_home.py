"""The home page: the pair alive, its proof, doors made from the catalogs."""

import pytest

from owi_core.checkpoints import shipped
from owi_core.gallery import READY_PAIRS
from owi_core.readings import read
from pages._ui.base.i18n import translator
from pages._ui.frame.frame import page_entries
from tests.pages_under_test import opened, told

PAIR = READY_PAIRS[0]


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_both_answers_stand_there_with_the_models_probability(lang: str) -> None:
    text = told(opened("home", lang=lang))
    bundle = shipped(PAIR.model)
    for sentence, answer in ((PAIR.a, PAIR.answer_a), (PAIR.b, PAIR.answer_b)):
        reading = read(bundle, sentence)
        assert reading.answer.word == answer
        assert f"→ **{answer}**　{reading.answer.probability:.2f}" in text


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_checks_tell_what_the_cut_costs(lang: str) -> None:
    text = told(opened("home", lang=lang))
    cut = read(shipped(PAIR.model), PAIR.a)
    measured = cut.cut(cut.strongest())
    assert measured is not None
    assert f"{abs(measured.change_nats):.1f}".replace(".", "\\.") in text
    assert "✗" not in text
    assert translator(lang, "home")("finding.two_maps") in text


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_every_page_of_the_catalogs_has_its_door(lang: str) -> None:
    text = told(opened("home", lang=lang))
    entries = [entry for entry in page_entries(lang) if entry.name != "home"]
    assert {entry.name for entry in entries} >= {"rows", "train"}
    for entry in entries:
        assert translator(lang, entry.name)("page.question") in text


def test_button_names_the_seconds_that_the_shipped_model_took() -> None:
    app = opened("home")
    seconds = round(shipped(PAIR.model).note["result"]["train_seconds"])
    assert str(seconds) in app.button(key="home.train").label


def test_the_name_is_explained_in_both_meanings() -> None:
    text = told(opened("home", lang="en"))
    assert "Dynamic interconnection" in text
    assert "Three structural forms" in text
