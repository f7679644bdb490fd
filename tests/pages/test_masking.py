"""The mask page: both models from the first click to the last check, in both languages."""

from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from owi_core.events import Finished
from owi_core.experiments import masking
from owi_core.experiments._kit.params import parameters
from owi_core.experiments.faults.masks import CAUGHT_BY
from owi_core.jobs.runs import Run
from owi_core.jobs.tasks import ENDED
from pages._labs.masking.code import run_code
from pages._labs.masking.form import is_private
from pages._ui.base.i18n import catalog
from pages._ui.draw.code import OWN_TEXT_FILE
from pages._ui.session import jobs
from tests.pages_under_test import opened, told

pytestmark = pytest.mark.usefixtures("own_workers")

HIDDEN = {"own_text"}


def small(lang: str = "zh") -> AppTest:
    app = opened("masking", lang=lang)
    app.number_input(key="masking.steps").set_value(6)
    app.number_input(key="masking.d_model").set_value(8)
    return app.run()


def start(app: AppTest) -> tuple[AppTest, Run]:
    app.button(key="masking-start").click().run()
    run = jobs.manager().runs(app.session_state["owi.session_id"])[-1]
    run.wait(*ENDED, seconds=240)
    return app.run(), run


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_every_setting_mask_and_check_is_named(lang: str) -> None:
    words = catalog(lang, "masking")
    for p in parameters(masking.Params):
        assert p.name in HIDDEN or f"setting.{p.name}" in words
    for name in ("causal", "unmasked", *CAUGHT_BY):
        assert f"side.{name}" in words
    for check in (*CAUGHT_BY.values(), "past_does_not_move", "future_moves"):
        assert f"check.{check}" in words


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_page_is_alive_before_anything_was_trained(lang: str) -> None:
    app = opened("masking", lang=lang)
    assert not app.exception
    assert not app.error
    words = catalog(lang, "masking")
    assert words["fit.same"].split("{")[0] in told(app)
    assert words["fit.differ"].split("{")[0] in told(app)
    assert len(app.main.dataframe) == 1


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_a_run_shows_curves_numbers_leak_samples_checks_and_the_mask(lang: str) -> None:
    app, run = start(small(lang))
    assert not app.exception
    assert not app.error
    result = run.latest(Finished).result
    words = catalog(lang, "masking")
    assert len(app.main.metric) == 12
    assert len(app.main.get("plotly_chart")) == 4
    assert words["leak.sealed_moves"].split("{")[0] in told(app)
    assert words["leak.leaks_moves"].split("{")[0] in told(app)
    assert result["causal"]["leak_max"] == 0.0
    assert [c.value for c in app.main.code][-2:] == [s["sample"] for s in result.values()]


def test_another_sentence_is_measured_at_once_and_an_unknown_character_is_refused() -> None:
    app, _ = start(small())
    app.text_input(key="masking.probe").set_value("天天天").run()
    assert not app.error
    app.text_input(key="masking.probe").set_value("Ω天").run()
    assert "Ω" in app.error[0].value
    app.text_input(key="masking.probe").set_value("天").run()
    assert app.error
    assert not app.exception


@pytest.mark.parametrize("fault", sorted(set(masking.FAULTS) - {"self_hidden"}))
def test_a_wrong_mask_is_trained_beside_the_right_one_and_its_check_named(fault: str) -> None:
    app = small()
    app.selectbox(key="masking.against").set_value(fault).run()
    app, _ = start(app)
    words = catalog("zh", "masking")
    assert not app.exception
    assert f"✗ {words['check.' + CAUGHT_BY[fault]]}" in told(app)
    assert words["checks.caught"].split("{")[0] in told(app)
    app.segmented_control(key=f"masking.which.{fault}").set_value(fault).run()
    assert not app.exception
    assert not app.error


def test_a_hidden_self_is_shown_as_the_error_it_is() -> None:
    app = small()
    app.selectbox(key="masking.against").set_value("self_hidden").run()
    app, run = start(app)
    assert run.code == "mask_blind_row"
    assert "1" in app.error[0].value
    assert "nan" not in app.error[0].value.lower()


@pytest.mark.parametrize("text", ["", "  ", "天", "天" * 40])
def test_a_text_that_shows_nothing_is_refused_in_words(text: str) -> None:
    app = small()
    app.segmented_control(key="masking.text").set_value("own").run()
    app.text_area(key="masking.own").set_value(text).run()
    app.button(key="masking-start").click().run()
    runs = jobs.manager().runs(app.session_state["owi.session_id"])
    if runs:
        runs[-1].wait(*ENDED, seconds=240)
        app.run()
    assert app.error[0].value
    assert not app.exception


@pytest.mark.parametrize("own", [False, True])
def test_the_lines_shown_run_and_print_what_the_page_shows(
    own: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    params: dict[str, Any] = {"steps": 2, "d_model": 8, "against": "one_ahead", "seed": 0}
    if own:
        (tmp_path / OWN_TEXT_FILE).write_text("山下有一条小河。" * 5, encoding="utf-8")
        params["own_text"] = "山下有一条小河。" * 5
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(run_code(params), "<shown>", "exec"), names)
    assert vars(names["params"]) == vars(masking.Params(**params))
    assert "one_ahead" in capsys.readouterr().out


def test_typed_words_make_the_run_private() -> None:
    assert is_private({"own_text": "我的日记"})
    assert is_private({"sentence": "小猫"})
    assert not is_private({"text": "zh", "sentence": "", "prompt": ""})


def test_pads_move_a_sentence_only_when_they_are_seen() -> None:
    app = opened("masking", lang="zh")
    table = app.main.dataframe[0].value
    hidden = table[table.iloc[:, 1] == catalog("zh", "masking")["pads.hidden"]]
    assert set(hidden.iloc[:, 4]) == {"0.000"}
    assert len(set(hidden.iloc[:, 2])) == 1
    assert len(set(table.iloc[:, 2])) > 1
