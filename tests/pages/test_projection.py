"""The projection page: heads off and on, sums, mistakes, one run; two sessions apart."""

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from owi_core import checkpoints
from owi_core.checkpoints import shipped
from owi_core.errors import OwiError
from owi_core.experiments import altered
from owi_core.experiments.altered import Altered
from owi_core.experiments.faults import residual
from owi_core.experiments.projection import AGAINST, Result, SideResult
from owi_core.jobs.tasks import ENDED
from owi_core.probes.contributions import Kind
from owi_core.readings import read
from pages._labs.projection import faults, training, view
from pages._labs.projection.code import cut_code, parts_code
from pages._ui.base.i18n import catalog
from pages._ui.session import jobs
from pages._ui.session.reading import bundle_of
from tests.experiments.some import some
from tests.pages_under_test import opened, told
from tests.tiny import word_bundle

pytestmark = pytest.mark.usefixtures("own_workers")

APPLE = "小明把苹果放在桌子上，小红拿走了它"
SWAP = shipped("swap")
SHARING = ("redundant", "one_carries", "shared", "idle", "opposed", "worse_with")


def switch(app: AppTest, layer: int, *on: int) -> AppTest:
    group = next(g for g in app.main.get("button_group") if g.key == f"projection.on.{layer}.4")
    group.set_value(list(on))
    return app.run()


def test_however_many_heads_there_are_no_switch_is_out_of_sight() -> None:
    app = opened("projection")
    groups = {g.key: g.proto for g in app.main.get("button_group")}
    assert all(groups[f"projection.on.{layer}.4"].wrap for layer in range(2))


def change(app: AppTest) -> float:
    """The change of the answer's log-probability that the page shows, in nats."""
    return float(app.main.metric[1].value.replace("−", "-").removesuffix(" nat"))


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_every_word_that_the_page_may_need_is_in_the_catalog(lang: str) -> None:
    words = catalog(lang, "projection")
    needed = [f"sharing.{how}" for how in SHARING]
    needed += [f"side.{name}" for name in ("with_projection", *AGAINST)]
    needed += [f"{k}.{f}" for k in ("fault", "fault_about") for f in residual.FAULTS]
    needed += [f"part.{kind}" for kind in Kind.__args__]  # type: ignore[attr-defined]
    needed += [f"now.{how}" for how in ("none", "kept", "weaker", "stronger", "lost")]
    assert set(needed) <= set(words)


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_one_head_costs_little_and_a_whole_layer_much(lang: str) -> None:
    app = opened("projection", lang=lang)
    words = catalog(lang, "projection")
    assert not app.exception
    assert not app.error
    assert words["sharing.redundant"].split("{")[0] in told(app)
    assert words["sum.holds"].split("{")[0] in told(app)
    assert "✗" not in told(app)
    assert len(app.main.get("plotly_chart")) == 4
    assert change(app) == 0.0
    switch(app, 1, 0, 1, 3)
    assert -0.1 < change(app) < 0
    app.button(key="projection.cut.1").click().run()
    assert change(app) < -4.0
    assert words["now.lost"].split("{n}")[0] in told(app)
    assert words["row.all_cut"].split("{")[0] in told(app)
    assert not app.error
    app.button(key="projection.reset").click().run()
    assert change(app) == 0.0


def test_two_sessions_with_different_heads_off_do_not_see_each_other() -> None:
    first, second = opened("projection"), opened("projection")
    before = [p.clone() for p in bundle_of("swap").model.parameters()]
    switch(first, 1)
    switch(second, 0, 1)
    lost = change(first.run())
    assert lost < -4.0
    assert -1.0 < change(second.run()) <= 0.0
    switch(second, 0, 0, 1, 2, 3)
    assert change(second) == 0.0
    assert change(first.run()) == lost
    after = list(bundle_of("swap").model.parameters())
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


def test_ones_own_sentence_is_read_and_what_cannot_be_read_is_said_in_words() -> None:
    app = opened("projection")
    app.text_input(key="projection.text").set_value("小明把**榴莲**放在桌子上，小红拿走了它").run()
    assert not app.exception
    app.text_input(key="projection.text").set_value(" ").run()
    assert app.info
    app.text_input(key="projection.text").set_value("苹果放不进杯子，因为它太大了").run()
    assert not app.error
    assert "苹果" in app.main.metric[0].label  # read by the model that knows this structure


@pytest.mark.parametrize("word", ["桌子", "苹果"])
def test_another_words_logit_is_a_sum_too(word: str) -> None:
    app = opened("projection")
    app.selectbox(key="projection.word").select(word).run()
    assert not app.exception
    assert told(app).count("✓") == 2


def test_a_post_norm_model_is_cut_but_its_logit_is_not_taken_apart(tmp_path: Path) -> None:
    bundle = word_bundle(norm="post", n_head=4)
    checkpoints.save(bundle, tmp_path)
    app = opened("projection")
    app.session_state["current_model"] = str(tmp_path)
    app.run()
    app.selectbox(key="projection.model").select("own").run()
    words = catalog("zh", "errors")["errors.attribution_needs_pre_norm"]
    assert [error.value.split("norm")[0] for error in app.error] == [words.split("norm")[0]]
    assert catalog("zh", "projection")["sum.holds"].split("{")[0] in told(app)
    switch(app, 1)
    assert not app.exception
    assert change(app) != 0.0
    assert catalog("zh", "projection")["unsure"] in told(app)


@pytest.mark.parametrize("fault", residual.FAULTS)
def test_each_mistake_is_shown_with_what_it_did(fault: str) -> None:
    app = opened("projection")
    app.segmented_control(key="projection.fault").set_value(fault).run()
    words = catalog("zh", "projection")
    assert words[f"fault_about.{fault}"] in told(app)
    measured = altered.with_mistake(read(SWAP, APPLE), fault)
    assert faults.mistake_line(measured)[0] in ("faults.lost", "faults.weaker")
    assert f"{float(measured.after.answer.probability):.3f}" in app.main.metric[-1].value


def test_a_run_shows_both_models_what_heads_are_worth_and_the_mistakes() -> None:
    app = opened("projection", lang="zh")
    app.number_input(key="projection.steps").set_value(3)
    app.selectbox(key="projection.width").select(32)
    app.button(key="projection-start").click().run()
    run = jobs.manager().runs(app.session_state["owi.session_id"])[-1]
    run.wait(*ENDED, seconds=240)
    app.run()
    assert not app.exception
    assert not app.error
    words = catalog("zh", "projection")
    assert words["verdict.not_learned"].split("{")[0] in " ".join(w.value for w in app.warning)
    assert [len(d.value) for d in app.main.dataframe] == [4, 6, 6]
    assert told(app).count(words["sum.holds"].split("{")[0]) == 2


def side(accuracy: float, loss: float, mass: float) -> SideResult:
    return some(
        SideResult,
        accuracy_heldout=accuracy,
        loss_heldout_nats=loss,
        attention_on_antecedent=[[0.1], [mass]],
    )


@pytest.mark.parametrize(
    ("with_it", "without", "line"),
    [
        ((1.0, 0.01, 1.0), (0.6, 1.0, 0.5), "textbook.holds"),
        ((1.0, 0.01, 1.0), (1.0, 0.03, 0.6), "textbook.only_a_little"),
        ((1.0, 0.03, 1.0), (1.0, 0.02, 1.0), "textbook.fails"),
        ((0.6, 1.0, 0.5), (1.0, 0.02, 1.0), "textbook.reversed"),
    ],
)
def test_the_textbook_sentence_is_judged_by_the_numbers(
    with_it: tuple[float, float, float], without: tuple[float, float, float], line: str
) -> None:
    sides = {"with_projection": side(*with_it), "without_projection": side(*without)}
    result = some(Result, sides=sides)
    found, values = training.textbook_line(result)
    assert found == line
    assert all(catalog(lang, "projection")[line].format(**values) for lang in ("zh", "en"))


def test_the_lines_shown_run_and_compute_the_numbers_of_the_page() -> None:
    reading = read(SWAP, APPLE)
    names: dict[str, Any] = {}
    exec(compile(cut_code("swap", reading, ((1, 0), (1, 2))), "<shown>", "exec"), names)
    here = altered.without(reading, ((1, 0), (1, 2)))
    assert names["changed"].change_nats == pytest.approx(here.change_nats)
    exec(compile(parts_code("swap", reading, reading.answer_id), "<shown>", "exec"), names)
    assert names["shares"].error < 1e-4


def without(text: str, cut: set[tuple[int, int]]) -> Altered | OwiError:
    try:
        return altered.without(read(SWAP, text), cut)
    except OwiError as error:
        return error


@given(text=st.text(max_size=40), cut=st.sets(st.tuples(st.integers(0, 1), st.integers(0, 3))))
@settings(max_examples=12)
def test_whatever_is_pasted_is_read_with_heads_off_or_refused_by_name(
    text: str, cut: set[tuple[int, int]]
) -> None:
    changed = without(text, cut)
    if isinstance(changed, OwiError):
        assert f"errors.{changed.code}" in catalog("zh", "errors")
        return
    assert changed.change_nats == 0.0 or cut
    key, values = view.cut_line(changed, len(cut))
    assert catalog("en", "projection")[key].format(**values)
