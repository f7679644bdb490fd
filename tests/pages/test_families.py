"""The families page: a run with its table, the looks and the mix, in both languages."""

import pytest
from streamlit.testing.v1 import AppTest

from owi_core.experiments.families.exams import FAMILIES
from owi_core.experiments.families.results import EXAMS, Result
from owi_core.jobs.runs import Run
from owi_core.jobs.tasks import ENDED
from pages._labs.families.view import mix_code
from pages._ui.base.i18n import catalog
from pages._ui.draw.run_panel import result_of
from pages._ui.session import jobs
from tests.pages_under_test import calm, component_data, opened, told

pytestmark = pytest.mark.usefixtures("own_workers")
TINY = {"steps": "4", "batch_size": "4", "n_train": "100", "d_model": "16"}


def trained(lang: str) -> tuple[AppTest, Run, Result]:
    app = opened("families", lang=lang, **TINY)
    app.button(key="families-start").click().run()
    run = jobs.manager().runs(app.session_state["owi.session_id"])[-1]
    run.wait(*ENDED, seconds=240)
    result = result_of(run, Result)
    assert result is not None
    return app.run(), run, result


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_page_asks_for_a_run_before_anything_was_trained(lang: str) -> None:
    app = calm(opened("families", lang=lang))
    assert not app.error
    assert not app.main.dataframe


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_a_run_shows_the_table_the_looks_and_the_mix(lang: str) -> None:
    app, _, result = trained(lang)
    assert not calm(app).error
    words = catalog(lang, "families")
    table = app.main.dataframe[0].value
    assert list(table[words["exams.exam"]]) == [words[f"exam.{exam}"] for exam in EXAMS]
    for family in FAMILIES:
        shares = [f"{result.models[family].share(exam):.1%}" for exam in EXAMS]
        assert list(table[words[f"family.{family}"]]) == shares
    for family in FAMILIES:
        shown = component_data(app, f"families.look.pronoun.{family}")
        assert shown["query_labels"] == result.looks["pronoun"][family].keys
    assert words["mix.title"] in [title.value for title in app.main.subheader]


def test_the_place_of_the_question_changes_the_sentence() -> None:
    app, _, result = trained("zh")
    app.segmented_control(key="families.read").set_value("end").run()
    shown = component_data(app, "families.look.end.causal")
    assert shown["query_labels"] == result.looks["end"]["causal"].keys
    assert shown["selected"] == result.looks["end"]["causal"].row
    assert result.looks["end"]["causal"].guesses[0].word in told(app)


@pytest.mark.parametrize(
    ("repeats", "corrects", "code"),
    [(0.5, 0.5, "helps"), (0.5, 0.0, "helps_once"), (-0.1, 0.01, "no_gain")],
)
def test_the_sentence_about_the_mix_is_chosen_by_the_numbers(
    repeats: float, corrects: float, code: str
) -> None:
    assert mix_code(repeats, corrects) == code


def test_a_value_out_of_range_is_not_trained() -> None:
    app = opened("families", steps="900000")
    assert not app.exception
    assert app.number_input(key="families.steps").value <= 5000
