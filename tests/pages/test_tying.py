"""The page of shared weights: alive at first sight, an edit that stays one's own, a run."""

from typing import Any

import pytest
import torch
from streamlit.testing.v1 import AppTest

from owi_core.events import Finished
from owi_core.experiments import tying
from owi_core.experiments._kit.params import parameters
from owi_core.experiments.faults import ties
from owi_core.jobs.runs import Run
from owi_core.jobs.tasks import ENDED
from owi_core.probes.tie_proof import tie_cases
from owi_core.probes.tie_size import READY
from owi_core.probes.tie_touch import Cell, Edit
from pages._labs.tying import models
from pages._labs.tying.code import run_code, touch_code
from pages._ui.base.i18n import catalog
from pages._ui.session import jobs
from tests.pages_under_test import opened, told, type_number

pytestmark = pytest.mark.usefixtures("own_workers")

BOTH = pytest.mark.parametrize("lang", ["zh", "en"])


def cells(app: AppTest) -> dict[str, tuple[str, str]]:
    """Return what the metrics say, tied and untied."""
    names = ("embedding", "lm_head", "logit", "says")
    values = [metric.value for metric in app.main.metric]
    return {name: (values[i], values[i + 4]) for i, name in enumerate(names)}


def write(app: AppTest, value: float) -> AppTest:
    type_number(app, "tying.value", value)
    return app.button(key="tying.write").click().run()


def start(app: AppTest, *, question: str = "tying", **numbers: int) -> tuple[AppTest, Run]:
    app.segmented_control(key="tying.question").set_value(question).run()
    for name, value in (
        {"steps": 3, "d_model": 8, "batch_size": 4, "n_train": 100} | numbers
    ).items():
        app.number_input(key=f"tying.{question}.swap.{name}").set_value(value)
    app.run()
    app.button(key="tying-start").click().run()
    run = jobs.manager().runs(app.session_state["owi.session_id"])[-1]
    run.wait(*ENDED, seconds=240)
    return app.run(), run


@BOTH
def test_every_setting_case_way_and_verdict_is_named(lang: str) -> None:
    words = catalog(lang, "tying")
    for p in parameters(tying.Params):
        assert f"setting.{p.name}" in words
        for choice in p.choices:
            assert f"choice.{p.name}.{choice}" in words
    for question, sides in tying.SIDES.items():
        assert f"choice_about.question.{question}" in words
        assert {f"side.{side}" for side in sides} <= set(words)
    assert {f"way.{way}" for way in ties.WAYS} <= set(words)
    assert {f"size.{name}" for name in READY} <= set(words)
    cases = tie_cases(models.bundle_from(models.SHIPPED))
    assert {f"case.{case.code}" for case in cases} <= set(words)


@BOTH
def test_the_proof_is_there_before_anything_was_touched_or_trained(lang: str) -> None:
    app = opened("tying", lang=lang)
    words = catalog(lang, "tying")
    assert not app.exception
    assert not app.error
    assert words["proof.one"] in told(app)
    assert told(app).count("✓ " + words["outcome.kept"]) == 8
    assert words["outcome.memory_only"] in told(app)
    assert "38,400,000" in told(app)
    assert "342,272" in told(app)
    before = cells(app)
    assert before["lm_head"][0] == before["lm_head"][1]


@BOTH
def test_an_edit_moves_the_tied_cell_and_not_the_untied_one(lang: str) -> None:
    app = opened("tying", lang=lang)
    before = cells(app)
    app = write(app, -5.0)
    after = cells(app)
    assert after["embedding"] == ("−5.000", "−5.000")
    assert after["lm_head"][0] == "−5.000"
    assert after["lm_head"][1] == before["lm_head"][1]
    assert after["logit"][0] != before["logit"][0]
    assert after["logit"][1] == before["logit"][1]
    assert catalog(lang, "tying")["touch.only_tied"].split("{")[0] in told(app)
    app = app.button(key="tying.undo").click().run()
    assert cells(app) == before
    assert app.button(key="tying.reset").disabled


def test_a_word_of_the_sentence_moves_both_and_the_page_says_why() -> None:
    app = opened("tying")
    word = models.words_of("swap").encode_words(["苹果"]).ids[0]
    app.selectbox(key="tying.word").set_value(word).run()
    app = write(app, 9.0)
    assert catalog("zh", "tying")["touch.through_input"].split("{")[0] in told(app)


def test_a_look_at_another_cell_of_the_row_claims_no_product_that_is_not_the_change() -> None:
    app = write(opened("tying"), -5.0)
    product = catalog("zh", "tying")["touch.only_tied"].split("。")[1].split("{")[0]
    assert product in told(app)
    app.number_input(key="tying.dimension").set_value(3).run()
    assert catalog("zh", "tying")["touch.only_tied_many"].split("{")[0] in told(app)
    assert product not in told(app)


def test_a_word_that_the_pronoun_does_not_see_is_not_said_to_move_both() -> None:
    app = opened("tying")
    app.text_input(key="tying.sentence").set_value("小明拿走了它，杯子").run()
    app = write(app, -5.0)
    assert cells(app)["logit"][0] != cells(app)["logit"][1]
    assert catalog("zh", "tying")["touch.through_input"].split("{")[0] not in told(app)
    assert catalog("zh", "tying")["touch.only_tied"].split("{")[0] in told(app)


def test_two_sessions_do_not_see_each_others_edits() -> None:
    shared = models.bundle_from("swap").model
    before = shared.embedding.weight.detach().clone()
    one, other = opened("tying"), opened("tying")
    one, other = write(one, 7.0), write(other, -3.0)
    assert cells(one.run())["lm_head"][0] == "7.000"
    assert cells(other.run())["lm_head"][0] == "−3.000"
    other.button(key="tying.reset").click().run()
    assert cells(one.run())["lm_head"][0] == "7.000"
    assert torch.equal(shared.embedding.weight, before)
    assert shared.lm_head.weight is shared.embedding.weight


def test_a_sentence_that_cannot_be_read_is_refused_and_kept() -> None:
    app = opened("tying")
    app.text_input(key="tying.sentence").set_value("   ").run()
    assert app.info[0].value
    assert not app.exception
    assert "38,400,000" in told(app)


def test_the_calculator_multiplies_what_is_typed() -> None:
    app = opened("tying")
    app.number_input(key="tying.vocabulary").set_value(7)
    app.number_input(key="tying.width").set_value(11)
    assert "**77**" in told(app.run())


@BOTH
def test_a_run_shows_numbers_moves_gradient_and_wrong_ways(lang: str) -> None:
    app, run = start(opened("tying", lang=lang))
    words = catalog(lang, "tying")
    finished = run.latest(Finished)
    assert finished is not None
    assert not app.exception
    assert not app.error
    assert words["gradient.adds_up"].split("{")[0] in told(app)
    assert words["moved.title"] in [s.value for s in app.main.subheader]
    assert "✓ " + words["wrong.stays_right"].format(
        way=words["way.tied"], steps=3, drift=0.0
    ) in told(app)
    assert f"{finished.result['params_untied']:,}" in [m.value for m in app.main.metric]
    assert len(app.main.get("plotly_chart")) == 4
    # The model just trained can be proved and touched as well.
    app.segmented_control(key="tying.source").set_value("own").run()
    assert not app.exception
    assert not app.error
    assert f"{finished.result['params_tied']:,}" in told(app)


def test_the_other_question_has_no_wrong_ways() -> None:
    app, _ = start(opened("tying"), question="scale")
    words = catalog("zh", "tying")
    assert not app.exception
    assert words["side.unscaled"] in "".join(m.value for m in app.main.markdown)
    assert words["wrong.title"] not in [s.value for s in app.main.subheader]


def test_the_lines_shown_run_and_print_what_the_page_shows(
    capsys: pytest.CaptureFixture[str],
) -> None:
    params: dict[str, Any] = {"question": "tying", "family": "swap", "steps": 1, "d_model": 8,
                              "n_train": 100, "batch_size": 4, "seed": 0}  # fmt: skip
    names: dict[str, Any] = {}
    exec(compile(run_code(params), "<shown>", "exec"), names)
    assert vars(names["params"]) == vars(tying.Params(**params))
    assert "untied" in capsys.readouterr().out
    edit = Edit(Cell(9, 3), 2.0)
    exec(
        compile(
            touch_code("小明把苹果放在桌子上，小红拿走了它", [edit], edit.cell), "<shown>", "exec"
        ),
        {},
    )
    assert "2.0 2.0 " in capsys.readouterr().out
