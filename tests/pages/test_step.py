"""The step page: numbers, sentences, mistakes and statements that follow what was measured."""

import json
from functools import partial

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from owi_core.experiments import relations
from owi_core.experiments.faults.attention import trials
from owi_core.gallery import simplest_pair
from owi_core.probes.derivation import CHAIN, Cell, derive, table
from owi_core.probes.step import changed, random_inputs, run_step
from pages._labs.step import training
from pages._labs.step.chain import _panel, unnamed
from pages._labs.step.text import formula, weighted_sum
from pages._labs.step.view import CODE
from pages._ui.base.i18n import translator
from pages._ui.base.page import Frame
from pages._ui.session import jobs
from pages._ui.session.reading import reading_of
from tests.experiments.some import some
from tests.pages_under_test import opened, reopened, shared_link, told

T = translator("zh", "step")


def calm(app: AppTest) -> AppTest:
    """Demand that nothing unexpected happened."""
    assert not app.exception
    assert not [error for error in app.error if "log" in error.value or "日志" in error.value]
    return app


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_page_writes_every_output_as_its_sum_and_proves_it(lang: str) -> None:
    app = calm(opened("step", lang=lang))
    assert not app.error
    pattern = run_step(random_inputs(42)).pattern[0].tolist()
    for i, row in enumerate(pattern):
        assert weighted_sum(i, row) in told(app)
    assert "✗" not in told(app)
    assert told(app).count("✓") == 4


@pytest.mark.parametrize("section", ["row", "dynamic", "shuffle", "mistakes"])
@pytest.mark.parametrize("lang", ["zh", "en"])
def test_every_closer_look_is_drawn_in_both_languages(section: str, lang: str) -> None:
    app = opened("step", lang=lang)
    app.segmented_control(key="step.section").set_value(section).run()
    assert not [e for e in calm(app).error]


def test_what_is_said_of_static_and_dynamic_is_what_was_measured() -> None:
    app = opened("step")
    app.segmented_control(key="step.section").set_value("dynamic").run()
    assert T("dynamic.as_said") in told(calm(app))
    assert T("dynamic.convolution", change="0.000") in told(app)


def test_every_mistake_is_caught_and_without_it_the_check_passes() -> None:
    app = opened("step")
    app.segmented_control(key="step.section").set_value("mistakes").run()
    for trial in trials(random_inputs(42)):
        app.selectbox(key="step.mistake").set_value(trial.mistake)
        app.toggle(key="step.mistake_on").set_value(True).run()
        assert "检查没通过" in calm(app).warning[0].value
        app.toggle(key="step.mistake_on").set_value(False).run()
        assert "检查通过" in calm(app).success[0].value
    assert "整除" in app.error[0].value


def test_a_real_sentence_runs_through_a_trained_layer() -> None:
    app = opened("step")
    app.segmented_control(key="step.source").set_value("sentence").run()
    assert not calm(app).error
    assert "✗" not in told(app)
    app.text_input(key="step.text").set_value("  ").run()
    assert "空" in calm(app).info[0].value
    app.text_input(key="step.text").set_value("苹果，" * 70).run()
    assert calm(app).error


@pytest.mark.parametrize("mask", ["causal", "padding"])
@pytest.mark.parametrize(("tokens", "width", "heads"), [(2, 4, 1), (6, 8, 4), (4, 4, 2)])
def test_every_size_is_drawn(mask: str, tokens: int, width: int, heads: int) -> None:
    app = opened("step")
    app.selectbox(key="step.mask").set_value(mask)
    for name, value in (("tokens", tokens), ("width", width), ("heads", heads)):
        app.segmented_control(key=f"step.{name}").set_value(value)
    app.run()
    assert not calm(app).error
    assert "✗" not in told(app)


def test_cooling_makes_a_row_sharp_and_heating_makes_it_flat() -> None:
    app = opened("step")
    app.segmented_control(key="step.query").set_value(2)
    app.select_slider(key="step.temperature").set_value(0.1).run()
    assert "很集中" in told(calm(app)).split("没训练过")[0]
    app.select_slider(key="step.temperature").set_value(10.0).run()
    assert "几乎是平的" in told(calm(app)).split("没训练过")[0]


def test_every_cell_has_its_arithmetic_in_words_that_can_be_read() -> None:
    record = run_step(random_inputs(1, n_head=2, mask="causal"))
    for name in CHAIN:
        for i, j in np.ndindex(table(record, name).shape):
            lines = formula(derive(record, Cell(name, i, j)))
            assert all(line and "nan" not in line for line in lines)


def test_the_code_on_the_page_runs_and_gives_the_pages_numbers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    exec(CODE.format(seed=42, tokens=4, width=8, heads=2, mask="causal"), {})
    errors = [float(word) for word in capsys.readouterr().out.split()]
    assert len(errors) == 3
    assert max(errors) < 1e-6


def result(nats: list[list[float]], accuracy: float = 1.0) -> relations.Result:
    how = ["alone" if row[0] < -1 else "spare" for row in nats]
    names = training.RELATIONS
    return some(
        relations.Result,
        accuracy=dict.fromkeys(names, accuracy),
        knock_out_nats=nats,
        weight_on_meant=[[0.5] * len(nats[0])] * 3,
        carried=how,
    )


def test_what_is_said_of_heads_and_relations_follows_the_table() -> None:
    few, many = result([[-5.0]] * 3), result([[-5.0, 0.0, 0, 0]] * 3)
    assert training._few_heads({4: many}) == "few_untried"
    assert training._few_heads({4: many, 1: few}) == "few_suffice"
    assert training._few_heads({1: result([[-5.0]] * 3, 0.4)}) == "few_suffer"


@pytest.mark.parametrize(
    ("none", "learned", "sinusoidal", "codes"),
    [
        (0.51, 0.72, 0.99, ("bag_guesses", "sinusoidal_sooner")),
        (0.7, 0.99, 0.8, ("bag_between", "learned_sooner")),
        (0.99, 0.99, 0.99, ("bag_learns", "kinds_alike")),
    ],
)
def test_what_is_said_of_positions_follows_the_accuracies(
    none: float, learned: float, sinusoidal: float, codes: tuple[str, str]
) -> None:
    accuracy = {"none": none, "learned": learned, "sinusoidal": sinusoidal}
    assert training._about_positions(accuracy) == codes
    assert all(T.has(f"positions.{code}") for code in codes)


def test_a_link_gives_the_row_whose_only_open_cell_was_opened_before_another_was_shut() -> None:
    """Applied one by one in the order of the table, the first edit would leave an empty row."""
    app = opened("step")
    app.selectbox(key="step.mask").set_value("causal").run()
    board = app.session_state["step.board"]
    edits = [[1, "edited", "", ["mask", 0, 1, 1]], [2, "edited", "", ["mask", 0, 0, 0]]]
    inbox = app.session_state["owi.inbox.step.chain"]
    for event in edits:
        event[2] = inbox.view
        inbox.receive({"mount": "test", "events": [event]})
    app.run()
    board = app.session_state["step.board"]
    assert board.inputs.mask[0].tolist() == [False, True, False, False]
    again = reopened("step", shared_link(app)).session_state["step.board"]
    assert np.array_equal(run_step(again.inputs).pattern, run_step(board.inputs).pattern)


@pytest.mark.parametrize(("source", "first"), [("numbers", "x1"), ("sentence", "小明")])
def test_the_picture_that_is_taken_away_names_every_vector(source: str, first: str) -> None:
    app = opened("step")
    app.segmented_control(key="step.source").set_value(source)
    app.session_state["export.step.chain"] = True
    calm(app.run())
    charts = {chart.proto.id: json.loads(chart.proto.spec) for chart in app.get("plotly_chart")}
    (figure,) = [spec for key, spec in charts.items() if "export.figure.step.chain" in key]
    labels = app.session_state["step.board"].labels
    axes = [axis for name, axis in figure["layout"].items() if "axis" in name]
    printed = [axis["ticktext"] for axis in axes if axis.get("ticktext")]
    assert labels[0] == first
    assert len(printed) >= 2
    for words in printed:
        plain = [word.replace("<br>", "") for word in words]
        assert all(label in word for label, word in zip(labels, plain, strict=True))


def test_a_real_sentence_begins_at_the_layer_and_head_with_most_to_see() -> None:
    app = opened("step")
    app.segmented_control(key="step.source").set_value("sentence").run()
    board = calm(app).session_state["step.board"]
    layer, head = (app.segmented_control(key=f"step.{name}").value for name in ("layer", "head"))
    row = run_step(board.inputs).pattern[head - 1, -1]
    assert row.max() > 0.9
    # No other layer or head shows an edge that is stronger by more than rounding.
    record = reading_of("swap", board.origin[2], None).record
    assert row.max() >= record.pattern[:, :, -1].max() - 1e-3
    assert str(board.origin[-1]) == str(layer)
    app.selectbox(key="step.model").set_value("verb").run()
    board, head = app.session_state["step.board"], app.segmented_control(key="step.head").value
    assert calm(app)
    assert head - 1 == run_step(board.inputs).pattern[:, -1].max(axis=-1).argmax()


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_page_says_which_vectors_go_in(lang: str) -> None:
    say = translator(lang, "step")
    app = opened("step", lang=lang)
    assert say("goes_in.numbers", n=4, d=8) in told(app)
    app.segmented_control(key="step.tokens").set_value(6).run()
    assert say("goes_in.numbers", n=6, d=8) in told(app)
    app.segmented_control(key="step.source").set_value("sentence").run()
    board, head = app.session_state["step.board"], app.segmented_control(key="step.head").value
    n, d = board.inputs.x.shape
    line = say("goes_in.sentence", n=n, d=d, layer=board.origin[-1], head=head)
    assert line in told(app)
    assert say("goes_in.numbers", n=6, d=8) not in told(app)


def test_tables_are_named_by_the_words_and_what_the_mask_forbids_is_marked() -> None:
    app = opened("step")
    app.segmented_control(key="step.source").set_value("sentence").run()
    board = calm(app).session_state["step.board"]
    record, n = run_step(board.inputs), len(board.labels)
    panel = partial(_panel, Frame("zh", T, "light"), record, head=0, marks=changed(record, record))
    weights = panel("pattern", labels=board.labels)
    assert weights["rows"] == [f"{i + 1} {word}" for i, word in enumerate(board.labels)]
    assert weights["columns"] == weights["rows"]
    assert panel("v", labels=board.labels)["columns"][0] == "1"
    assert weights["shut"] == [[i, j] for i in range(n) for j in range(i + 1, n)]
    assert panel("v", labels=board.labels)["shut"] == []
    assert panel("pattern", labels=unnamed(n))["rows"] == [str(i + 1) for i in range(n)]


def test_in_english_the_sentence_is_one_that_an_english_model_reads() -> None:
    app = opened("step", lang="en")
    app.segmented_control(key="step.source").set_value("sentence").run()
    assert calm(app).text_input(key="step.text").value == simplest_pair("en").a
    assert app.selectbox(key="step.model").value == "street"
    assert app.session_state["step.board"].labels[:2] == ("The", "animal")
    app.query_params["lang"] = "zh"
    assert app.run().text_input(key="step.text").value == simplest_pair("zh").a
    assert calm(app).selectbox(key="step.model").value == "swap"


@pytest.mark.usefixtures("own_workers")
def test_a_training_of_the_page_is_paused_resumed_and_stopped() -> None:
    app = calm(opened("step").button(key="step.relations.train").click().run())
    (run,) = jobs.manager().runs(app.session_state["owi.session_id"])
    calm(app.button(key=f"step.pause.{run.id}").click().run())
    assert run.wait("paused", seconds=60) == "paused"
    calm(app.run())
    assert app.button(key=f"step.stop.{run.id}")
    calm(app.button(key=f"step.resume.{run.id}").click().run())
    assert run.wait("running", seconds=60) == "running"
    calm(app.run().button(key=f"step.stop.{run.id}").click().run())
    assert run.wait("stopped", seconds=60) == "stopped"
    assert not [b for b in calm(app.run()).button if str(b.key).startswith("step.stop")]
