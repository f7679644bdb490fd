"""The Train page: every choice leads to a run that can be started, every end has its words."""

import math
import re
import types
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from owi_core.checkpoints import FILE_NAME, MAX_UPLOAD_BYTES, load
from owi_core.errors import SettingError
from owi_core.events import Diverged, Event, Finished, Paused, StepDone, Stopped
from owi_core.experiments import EXPERIMENTS, parameters, parse_params, recipe
from owi_core.experiments.pronoun import LOOK_AHEAD
from owi_core.jobs.runs import Run
from owi_core.jobs.tasks import ENDED, UNDER_WAY
from pages._labs.train.code import run_code
from pages._labs.train.form import CORPORA, OWN, choice_of, corpus_of
from pages._labs.train.view import perplexities
from pages._ui.base.i18n import catalog, field_error_text, translator
from pages._ui.base.page import Frame
from pages._ui.draw.code import OWN_TEXT_FILE
from pages._ui.draw.decimals import typed_key
from pages._ui.draw.run_panel import progress_text
from pages._ui.session import jobs
from tests.ui.test_frame import opened

pytestmark = pytest.mark.usefixtures("own_workers")

TEXT = "春眠不觉晓，处处闻啼鸟。夜来风雨声，花落知多少。"
HIDDEN = {"family", "text", "text_file", "own_text"}


def at_corpus(corpus: str, lang: str = "zh") -> AppTest:
    app = opened("train", lang=lang)
    return app.main.segmented_control[0].set_value(corpus).run()


def start(app: AppTest) -> tuple[AppTest, Run]:
    app.button(key="train-start").click().run()
    (run,) = jobs.manager().runs(app.session_state["owi.session_id"])
    run.wait(*ENDED, seconds=180)
    return app.run(), run


def own_text_app(text: str, steps: int = 3) -> AppTest:
    app = at_corpus(OWN)
    app.text_area[0].set_value(text).run()
    return app.number_input(key=f"train.{OWN}.quick.steps").set_value(steps).run()


@pytest.mark.parametrize("lang", ["zh", "en"])
@pytest.mark.parametrize("experiment", ["language", "pronoun"])
def test_every_setting_and_every_choice_is_named(experiment: str, lang: str) -> None:
    words = catalog(lang, "train")
    for parameter in parameters(EXPERIMENTS[experiment].params):
        if parameter.name in HIDDEN:
            continue
        assert f"setting.{parameter.name}" in words
        assert f"setting_help.{parameter.name}" in words
        for choice in parameter.choices:
            assert f"choice.{parameter.name}.{choice}" in words


@pytest.mark.parametrize("corpus", CORPORA)
def test_every_corpus_draws_its_settings(corpus: str) -> None:
    app = at_corpus(corpus)
    assert not app.exception
    assert not app.error
    assert len(app.number_input) > 8


@pytest.mark.parametrize("corpus", CORPORA)
def test_every_corpus_makes_a_recipe_and_is_found_again_in_it(corpus: str) -> None:
    choice = choice_of(corpus, {"seed": 3}, TEXT)
    params = vars(parse_params(EXPERIMENTS[choice.experiment], choice.params))
    assert corpus_of(params) == corpus
    assert choice.private == (corpus == OWN)
    assert params["seed"] == 3


def test_sentence_of_ones_own_makes_the_run_private() -> None:
    assert choice_of("swap", {"watch": "小明把我的日记放在桌子上，小红拿走了它"}, "").private
    assert choice_of("zh", {"prompt": "春"}, "").private
    assert not choice_of("zh", {"prompt": ""}, "").private


def test_adjective_family_starts_with_the_mask_that_can_see_it() -> None:
    for corpus in LOOK_AHEAD:
        key = f"train.{corpus}.mask"
        assert at_corpus(corpus).selectbox(key=key).value == "bidirectional"
    assert at_corpus("swap").selectbox(key="train.swap.mask").value == "causal"


def test_each_corpus_remembers_its_own_settings() -> None:
    app = at_corpus("swap")
    app.number_input(key="train.swap.seed").set_value(7).run()
    app.main.segmented_control[0].set_value("verb").run()
    assert app.number_input(key="train.verb.seed").value == 0
    app.main.segmented_control[0].set_value("swap").run()
    assert app.number_input(key="train.swap.seed").value == 7


@pytest.mark.parametrize("text", ["", "   ", "\n\u3000"])
def test_blank_text_is_refused_in_words(text: str) -> None:
    app = own_text_app(text)
    app.button(key="train-start").click().run()
    assert app.error[0].value
    assert app.text_area[0].value == text


def test_text_that_is_too_long_is_refused_with_its_measure_and_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OWI_LONGEST_TEXT", "100")
    app = own_text_app(TEXT * 5)
    app.button(key="train-start").click().run()
    assert "100" in app.error[0].value
    assert str(5 * len(TEXT) - 100) in app.error[0].value
    assert app.text_area[0].value == TEXT * 5


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_settings_that_exclude_each_other_are_refused_and_kept(lang: str) -> None:
    app = at_corpus("swap", lang)
    app.number_input(key="train.swap.n_head").set_value(3).run()
    app, run = start(app)
    assert run.code == "d_model_not_divisible"
    assert "128" in app.error[0].value
    assert app.number_input(key="train.swap.n_head").value == 3


def test_the_width_alone_can_be_changed() -> None:
    app = at_corpus("swap")
    scale = typed_key("train.swap.embedding_scale")
    usual = app.text_input(key=scale).value
    app.number_input(key="train.swap.d_model").set_value(64).run()
    assert app.text_input(key=scale).value == "8"
    app.number_input(key="train.swap.steps").set_value(2)
    app.number_input(key="train.swap.n_train").set_value(100).run()
    app, run = start(app)
    assert (run.code, run.state) == ("", "finished")
    app.number_input(key="train.swap.d_model").set_value(128).run()
    assert app.text_input(key=scale).value == usual
    app.text_input(key=scale).set_value("4").run()  # a choice of one's own stays
    app.number_input(key="train.swap.d_model").set_value(64).run()
    assert app.text_input(key=scale).value == "4"


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_an_odd_width_is_called_odd(lang: str) -> None:
    app = at_corpus("swap", lang)
    app.number_input(key="train.swap.n_head").set_value(1)
    app.number_input(key="train.swap.d_model").set_value(63).run()
    app, run = start(app)
    assert run.code == "d_model_odd"
    assert "63" in app.error[0].value


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_a_refusal_names_the_field_as_the_page_does(lang: str) -> None:
    error = SettingError("setting_out_of_range", name="embedding_scale", value=9, low=1, high=8)
    said = field_error_text(translator(lang, "train"), error)
    assert catalog(lang, "train")["setting.embedding_scale"] in said
    assert "embedding" not in said or lang == "en"
    assert "embedding_scale" not in said.replace("\\", "")


def _with_a_model() -> None:
    import types

    import streamlit as st

    from pages._labs.train import models
    from pages._ui.base.i18n import translator
    from pages._ui.base.page import Frame

    run = types.SimpleNamespace(
        id=1, experiment="pronoun", params={"family": "swap"}, has_model=True,
        folder=st.session_state["test.folder"],
    )  # fmt: skip
    models._download(Frame("zh", translator("zh", "train"), "light"), run)


@pytest.mark.parametrize("over", [0, 1_250_000])
def test_a_model_too_large_to_come_back_is_called_so_before_it_is_taken(
    tmp_path: Path, over: int
) -> None:
    (tmp_path / FILE_NAME).write_bytes(bytes(MAX_UPLOAD_BYTES + over))
    app = AppTest.from_function(_with_a_model, default_timeout=20)
    app.session_state["test.folder"] = tmp_path
    app.run()
    assert not app.exception
    assert len(app.main.get("download_button")) == 1
    told = catalog("zh", "train")["take.too_large"].format(size=6.25, limit=5)
    assert [told in caption.value for caption in app.caption] == [True] * bool(over)


def test_own_text_is_trained_shown_and_taken_along() -> None:
    app, run = start(own_text_app(TEXT * 4))
    assert not app.exception
    assert not app.error
    assert (run.state, run.private, run.shared) == ("finished", True, False)
    result = run.latest(Finished).result
    assert app.code[0].value == result["sample"]
    assert f"{result['n_params']:,}" in [figure.value for figure in app.metric]
    app.button(key="train.use").click().run()
    used = Path(app.session_state["current_model"])
    assert load(used).note["private"]
    app.button(key="owi.forget_model").click().run()
    assert "current_model" not in app.session_state


def test_scrubbing_back_shows_the_first_snapshot() -> None:
    app, _ = start(own_text_app(TEXT * 4))
    slider = app.select_slider[0]
    assert slider.value == 3
    slider.set_value(0).run()
    assert not app.exception
    t = catalog("zh", "train")["scrub.now"]
    assert t.format(step=0) in [caption.value for caption in app.caption]


def test_stored_result_is_shown_with_a_way_to_train_again() -> None:
    app, first = start(own_text_app(TEXT * 4))
    app.button(key="train-start").click().run()
    assert catalog("zh", "common")["shared.stored"] in [info.value for info in app.info]
    app.button(key="train.fresh").click().run()
    again = jobs.manager().runs(app.session_state["owi.session_id"])[-1]
    assert again.id != first.id
    assert again.wait(seconds=180) == "finished"
    assert again.latest(Finished).result["sample"] == first.latest(Finished).result["sample"]


@pytest.mark.parametrize(
    ("experiment", "params"),
    [
        ("pronoun", {"family": "fit", "mask": "bidirectional", "n_train": 100}),
        ("language", {"preset": "quick", "text": "en", "prompt": "the "}),
        ("language", {"preset": "quick", "own_text": TEXT * 2}),
    ],
)
def test_code_shown_runs_and_trains_the_same_recipe(
    experiment: str,
    params: dict[str, object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / OWN_TEXT_FILE).write_text(TEXT * 2, encoding="utf-8")
    full = parse_params(EXPERIMENTS[experiment], params | {"steps": 2})
    shown: dict[str, object] = {}
    exec(run_code(experiment, vars(full)), shown)
    assert recipe(experiment, shown["params"]) == recipe(experiment, full)
    assert "nats" in capsys.readouterr().out


def _page_with_an_end() -> None:
    import types

    import streamlit as st

    from pages._ui.base.i18n import translator
    from pages._ui.base.page import Frame
    from pages._ui.draw.run_panel import Panel

    ends = st.session_state["ends"]
    run = types.SimpleNamespace(
        id=1,
        experiment="pronoun",
        params={},
        code=ends.get("code", ""),
        values=ends.get("values", {}),
        latest=lambda kind: ends.get(kind.event),
        state=ends.get("state", ""),
        others=0,
    )
    page = Frame("en", translator("en", "train"), "light")
    Panel.of(page, run).outcome()


def end(*events: Event, **ends: object) -> AppTest:
    app = AppTest.from_function(_page_with_an_end, default_timeout=20)
    app.session_state["ends"] = ends | {event.event: event for event in events}
    return app.run()


@pytest.mark.parametrize(
    "code", ["worker_lost", "worker_crashed", "worker_not_started", "disk_full"]
)
def test_failed_run_says_why(code: str) -> None:
    app = end(code=code)
    assert app.error[0].value == catalog("en", "errors")[f"errors.{code}"]


@pytest.mark.parametrize("remedy", ["clip_gradient", "lower_lr", "longer_warmup"])
def test_diverged_run_says_what_was_set_and_what_to_try(remedy: str) -> None:
    app = end(Diverged(7, {"lr": 10.0, "optimizer": "adam"}, remedy))
    (told,) = [warning.value for warning in app.warning]
    assert "step 7" in told
    assert "lr = 10.0" in told
    assert catalog("en", "common")[f"remedy.{remedy}"] in told


def test_stopped_run_says_where() -> None:
    assert "step 12" in end(Stopped(12), state="stopped").info[0].value


def test_run_stopped_while_it_waited_to_go_on_has_what_its_pause_saved() -> None:
    done = StepDone(12, 90, 1.0, 0.003, 1.0, 1.0, 1.0)
    assert "step 12" in end(Paused(12), done, state="stopped").info[0].value
    assert "before it could save" in end(done, state="stopped").info[0].value
    assert "before it began" in end(state="stopped").info[0].value


def unbegun(state: str, place: int) -> types.SimpleNamespace:
    return types.SimpleNamespace(state=state, queue_position=place, latest=lambda kind: None)


def test_run_that_ends_while_its_page_is_drawn_is_drawn_again() -> None:
    """The buttons were drawn for a run under way: the watch below them has to notice."""
    app = AppTest.from_function(_page_whose_run_ends_meanwhile, default_timeout=20).run()
    assert app.button(key="train-start").disabled is False
    assert app.session_state["draws"] == 2


def _page_whose_run_ends_meanwhile() -> None:
    import types

    import streamlit as st

    from pages._ui.base.i18n import translator
    from pages._ui.base.page import Frame
    from pages._ui.draw.run_panel import Panel

    st.session_state["draws"] = st.session_state.get("draws", 0) + 1
    run = types.SimpleNamespace(
        id=1, experiment="pronoun", params={}, code="", values={}, others=0, shared=False,
        latest=lambda kind: None,
        pause=None, stop=None, queue_position=0,
        state="stopping" if st.session_state["draws"] == 1 else "stopped",
    )  # fmt: skip
    panel = Panel.of(Frame("en", translator("en", "train"), "light"), run)
    panel.buttons()
    run.state = "stopped"
    panel.watch()


@pytest.mark.parametrize("lang", ["zh", "en"])
@pytest.mark.parametrize("state", sorted(ENDED | UNDER_WAY | {"paused"}))
def test_before_the_first_step_no_step_is_told_of(state: str, lang: str) -> None:
    run = unbegun(state, 1)
    page = Frame(lang, translator(lang, "train"), "light")
    told = progress_text(page, run)
    assert told == catalog(lang, "common")[f"early.{state}"]
    assert not re.search(r"…\s*/|\d", told)


def test_place_in_the_queue_is_told_and_the_next_in_turn_is_told_so() -> None:
    page = Frame("en", translator("en", "train"), "light")
    third = unbegun("queued", 3)
    assert "2 before" in progress_text(page, third)
    next_one = unbegun("queued", 1)
    assert "Next in turn" in progress_text(page, next_one)


LEARNED = {
    "accuracy": 0.998, "layer": 2, "mass": 0.97, "without_direct": 0.1, "direct_alone": 0.99
}  # fmt: skip


@pytest.mark.parametrize(
    ("verdict", "values", "passed"),
    [
        ("learned_direct", LEARNED, True),
        ("learned_by_detour", LEARNED, True),
        ("learned_both_ways", LEARNED, True),
        ("learned_by_two_routes", LEARNED, True),
        ("not_learned", {"accuracy": 0.5, "layer": 2, "mass": 0.1}, False),
        ("loss_rose", {"first": 6.4, "last": 29000.0, "lr": 10.0}, False),
        ("learned_by_heart", {"honest_loss": 0.07, "floor": 0.05, "loss": 0.08}, True),
        ("looks_ahead", {"honest_loss": 6.9, "floor": 0.05, "loss": 0.03}, False),
        ("not_learned_yet", {"honest_loss": 2.0, "floor": 0.05, "loss": 1.8}, False),
    ],
)
def test_verdict_is_told_by_its_code_and_values(
    verdict: str, values: dict[str, float], passed: bool
) -> None:
    app = end(Finished("x", {}, {}, {"code": verdict, "passed": passed, "values": values}))
    assert len(app.success if passed else app.warning) == 1
    assert not app.exception


def test_a_file_in_another_encoding_is_asked_for_it_and_its_first_line_is_shown() -> None:
    text = "철수가 사과를 책상 위에 놓았다.\n영희가 그것을 가져갔다."
    data = text.encode("euc_kr")
    app = at_corpus(OWN)
    app.file_uploader[0].set_value(("mine.txt", data, "text/plain")).run()
    (asked,) = [box for box in app.selectbox if "encoding" in str(box.key)]
    assert asked.value == "euc_kr"
    assert any("EUC" in option and "철수가" in option for option in asked.options)
    assert any("GB18030" in option and "철수가" not in option for option in asked.options)
    assert not app.exception


def test_a_file_in_utf8_is_asked_nothing() -> None:
    app = at_corpus(OWN)
    app.file_uploader[0].set_value(("mine.txt", TEXT.encode(), "text/plain")).run()
    assert not [box for box in app.selectbox if "encoding" in str(box.key)]


def test_perplexity_stands_beside_each_loss_of_a_model() -> None:
    shown = [("heldout_loss_nats", math.log(12)), ("floor_nats", 1.0), ("accuracy_heldout", 1.0)]
    assert perplexities(shown) == {"heldout_loss_nats": pytest.approx(12)}
    assert perplexities([("final_loss_nats", 1e4)]) == {}
