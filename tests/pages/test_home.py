"""The home page: the pair alive, its proof, doors made from the catalogs."""

import pytest

from owi_core.checkpoints import shipped
from owi_core.gallery import DEFAULT_MODEL, lead_pair
from owi_core.readings import read
from pages._ui.base.i18n import translator
from pages._ui.frame.frame import page_entries
from pages._ui.session.connection import JOBS_USED
from tests.pages_under_test import opened, told


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_both_answers_stand_there_with_the_models_probability(lang: str) -> None:
    text = told(opened("home", lang=lang))
    pair = lead_pair(lang)
    bundle = shipped(pair.model)
    for sentence, answer in ((pair.a, pair.answer_a), (pair.b, pair.answer_b)):
        reading = read(bundle, sentence)
        assert reading.answer.word == answer
        assert f"→ **{answer}**　{reading.answer.probability:.2f}" in text


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_bar_moves_visibly_between_the_leading_sentences(lang: str) -> None:
    pair = lead_pair(lang)
    readings = [read(shipped(pair.model), text) for text in (pair.a, pair.b)]
    highest = [int(r.record.row(r.query, r.record.n_layer - 1).argmax()) for r in readings]
    assert abs(highest[0] - highest[1]) >= 2


def test_visitors_read_the_leading_pair_in_their_language() -> None:
    assert lead_pair("en").a.isascii()
    assert not lead_pair("zh").a.isascii()


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_checks_tell_what_the_cut_costs(lang: str) -> None:
    text = told(opened("home", lang=lang))
    pair = lead_pair(lang)
    cut = read(shipped(pair.model), pair.a)
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


def test_button_promises_no_seconds_that_were_not_measured_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result = shipped(DEFAULT_MODEL).note["result"]
    label = opened("home").button(key="home.train").label
    assert str(result["steps"]) in label
    assert str(round(result["train_seconds"])) not in label
    monkeypatch.setattr("pages._ui.session.jobs.JobManager.seconds_of", lambda *_: 4.6)
    # A session that has trained nothing does not start the engine in order to ask.
    assert opened("home").button(key="home.train").label == label
    app = opened("home")
    app.session_state[JOBS_USED] = True
    assert "5" in app.run().button(key="home.train").label.split("▶")[1]


def test_the_name_is_explained_in_both_meanings() -> None:
    text = told(opened("home", lang="en"))
    assert "Dynamic interconnection" in text
    assert "Three structural forms" in text
