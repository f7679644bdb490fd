"""The connections page: maps at first sight, one's own words, and what the numbers make it say."""

import copy

import pytest
from streamlit.testing.v1 import AppTest

from owi_core.events import Finished
from owi_core.experiments import connections
from owi_core.experiments._kit.params import parameters
from owi_core.experiments.connections import Params, Result, tasks
from owi_core.experiments.connections.maps import LINEAR, words_of
from owi_core.jobs.tasks import ENDED
from owi_core.peers import CAUSAL, KINDS
from pages._labs.connections.form import NUMBERS, is_own
from pages._labs.connections.table import COLUMNS
from pages._ui.base.i18n import catalog
from pages._ui.session import jobs
from tests.pages_under_test import opened, told

pytestmark = pytest.mark.usefixtures("own_workers")

LANGUAGES = pytest.mark.parametrize("lang", ["zh", "en"])


@pytest.fixture(scope="module")
def measured() -> dict[str, Result]:
    """A small result of every training, as a session holds it after its runs."""
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks, "DATA_STEPS", 2)
        patch.setattr(tasks, "N_TRAIN", 64)
        patch.setattr(tasks, "TIMED_LENGTHS", (4, 8))
        for part in ("recall", "data", "time"):
            params = Params(part=part, steps=2, longest=16, width=8, batch_size=2)
            *_, finished = connections.run(params)
            assert isinstance(finished, Finished)
            found[part] = Result.from_dict(finished.result)
    return found


def at_the_maps(lang: str = "zh") -> AppTest:
    return with_maps(opened("connections", lang=lang))


def with_maps(app: AppTest) -> AppTest:
    """Wait for the maps that the page asked for by itself."""
    run = jobs.manager().runs(app.session_state["owi.session_id"])[-1]
    assert run.params["part"] == "maps"
    run.wait(*ENDED, seconds=240)
    return app.run()


def set_accuracy(results: dict[str, Result], part: str, measure: str, **values: float) -> None:
    for kind in CAUSAL:
        found = getattr(results[part].models[kind], measure)
        found.update(dict.fromkeys(found, values.get(kind, 0.1)))


@LANGUAGES
def test_every_connection_part_and_setting_has_its_words(lang: str) -> None:
    words = catalog(lang, "connections")
    for kind in (*KINDS, LINEAR):
        assert f"kind.{kind}" in words
        assert f"mixing.{kind}" in words
    for kind in KINDS:
        assert all(f"book.{kind}.{column}" in words for column in COLUMNS)
    known = {p.name for p in parameters(Params)}
    assert all(name in known and f"setting.{name}" in words for name in NUMBERS)


@LANGUAGES
def test_maps_are_there_at_first_sight_and_empty_cells_say_what_fills_them(lang: str) -> None:
    app, words = at_the_maps(lang), catalog(lang, "connections")
    assert not app.exception
    assert not app.error
    assert len(app.main.get("plotly_chart")) == 5
    assert words["maps.fresh"].split("{")[0] in told(app)
    assert words["way.stops"].split("{")[0] in told(app)
    assert words["moved.weights"].split("{")[0] in told(app)
    assert words["table.empty"] in app.main.table[0].value.to_string()
    assert words["guide.missing_recall"] in [info.value for info in app.main.info]
    app.segmented_control(key="connections.two.fresh").set_value(LINEAR)
    assert words["moved.not_at_all"] in told(app.run())


def test_a_choice_that_came_back_from_the_browser_as_none_is_the_usual_one_again() -> None:
    app = at_the_maps()
    app.session_state["connections.two.fresh"] = None
    app.session_state["connections.need"] = None
    app.run()
    assert not app.exception
    assert not app.error
    assert app.segmented_control(key="connections.two.fresh").value == "transformer"
    assert app.segmented_control(key="connections.need").value == "far"


def test_own_words_of_any_kind_are_drawn_and_a_refusal_keeps_the_rest() -> None:
    app = at_the_maps()
    app.text_input(key="connections.a").set_value("the <b>cat</b> $x$ 😀 it")
    app = with_maps(app.run())
    assert not app.exception
    assert not app.error
    assert catalog("zh", "connections")["moved.unequal"] in told(app)
    app.text_input(key="connections.a").set_value("猫").run()
    assert len(app.error) == 1
    assert app.text_input(key="connections.a").value == "猫"
    assert len(app.main.table) == 1
    assert not app.exception


@LANGUAGES
def test_the_usual_sentences_can_be_compared_and_somebody_s_own_are_not_shared(lang: str) -> None:
    usual = {side: catalog(lang, "connections")[f"usual.{side}"] for side in ("a", "b")}
    assert len(words_of(usual["a"])) == len(words_of(usual["b"]))
    assert not is_own(usual)
    assert is_own(usual | {"b": "我的日记"})


@LANGUAGES
def test_the_guide_speaks_for_what_the_rows_say(lang: str, measured: dict[str, Result]) -> None:
    app, words = at_the_maps(lang), catalog(lang, "connections")
    measured = copy.deepcopy(measured)
    set_accuracy(measured, "recall", "accuracy_by_distance", transformer=1.0, gru=0.98)
    set_accuracy(measured, "data", "accuracy_by_data", transformer=0.2, cnn=0.9)
    app.session_state["connections.results"] = measured
    app.run()
    assert not app.exception
    assert not app.error
    assert len(app.main.get("plotly_chart")) == 10
    assert words["table.empty"] not in app.main.table[0].value.to_string()
    assert words["guide.any_of"].split("{")[0] in told(app)
    app.segmented_control(key="connections.need").set_value("near")
    assert words["guide.not_attention"].split("{")[0] in told(app.run())
    set_accuracy(measured, "recall", "accuracy_by_distance", transformer=1.0)
    app.segmented_control(key="connections.need").set_value("far")
    assert words["guide.attention"].split("{")[0].rstrip("*") in told(app.run())
    app.segmented_control(key="connections.need").set_value("both")
    assert words["guide.needs_both"].split("{")[0] in told(app.run())
    assert not app.exception
