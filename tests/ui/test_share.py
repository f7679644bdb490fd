"""Sharing: what a page shows comes back from its link, runs and models by their recipes."""

from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from owi_core.checkpoints import FILE_NAME
from owi_core.events import Finished
from pages._ui.base import escape
from pages._ui.base.i18n import catalog
from pages._ui.base.links import LONGEST_LINK, Limits
from pages._ui.draw.decimals import typed_key
from pages._ui.draw.scan import LONGEST_CODE
from pages._ui.frame.frame import page_entries
from pages._ui.session import jobs
from tests.pages_under_test import (
    APP,
    SHARE,
    calm,
    kept_by,
    opened,
    reopened,
    rest,
    runs_of,
    shared_link,
    told,
)

pytestmark = pytest.mark.usefixtures("own_workers")

NAMES = [entry.name for entry in page_entries("zh")]
SAID = {key.removeprefix("share."): text for key, text in catalog("zh", "common").items()}
CHOOSING = (
    "selectbox", "segmented_control", "select_slider", "slider", "number_input", "toggle",
    "text_input",
)  # fmt: skip
TEXT = "春眠不觉晓，处处闻啼鸟。夜来风雨声，花落知多少。"
SMALL = {"run.steps": "3", "run.n_train": "100", "run.d_model": "16", "run.d_mlp": "16"}


def agreed(app: AppTest) -> AppTest:
    """Press the button that starts what the link names."""
    return app.button(key="owi.link_train").click().run()


def dialog_of(app: AppTest) -> str:
    """Return what the share dialog says."""
    return "\n".join(element.value for element in [*app.markdown, *app.caption])


def body_of(app: AppTest) -> list[str]:
    """Return what the page says, but for what it says of its link."""
    return [text for text in told(app).splitlines() if not text.startswith(SHARE)]


def line_of(app: AppTest) -> str:
    return " ".join(c.value for c in app.caption if c.value.startswith(SHARE))


def another(value: Any, limits: Limits) -> Any:
    """Return a value near to this one that its widget takes as well."""
    if limits.among is not None:
        options = list(limits.among)
        return options[(options.index(value) + 1) % len(options)]
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return value.replace("苹果", "🍎苹果") or "天天"
    step = 1 if isinstance(value, int) else value / 8
    above = limits.high is None or value + step <= limits.high
    return value + step if above else value - step


def change_all(app: AppTest) -> AppTest:
    """Choose something else in every widget of the page, one after the other."""
    done: set[str] = set()
    while waiting := [key for key in kept_by(app) if key not in done]:
        key = waiting[0]
        done.add(key)
        names = (key, typed_key(key))
        widgets = [w for kind in CHOOSING for w in getattr(app.main, kind) if w.key in names]
        if widgets and key not in app.session_state["owi.view"].private:
            limits = app.session_state["owi.view"].limits[key]
            value = another(app.session_state[key], limits)
            widgets[0].set_value(value if widgets[0].key == key else str(value).replace(".", ","))
            calm(app.run())
    return app


@pytest.mark.parametrize("name", NAMES)
def test_whatever_is_chosen_on_a_page_comes_back_from_its_link(name: str) -> None:
    app = change_all(opened(name))
    shown, said = kept_by(app), told(app)
    again = calm(reopened(name, shared_link(app)))
    assert kept_by(again) == shown
    assert told(again) == said
    assert line_of(again) == ""


def test_a_value_is_not_called_unused_while_the_run_that_needs_it_is_under_way() -> None:
    """The choice below the maps is drawn when the page's own short run has ended."""
    app = opened("connections", **{"two.fresh": "cnn"})
    assert line_of(calm(app)) == ""
    app = rest(app)
    assert app.session_state["connections.two.fresh"] == "cnn"
    assert line_of(app) == ""


def test_a_link_carries_the_language_and_needs_no_window() -> None:
    link = shared_link(opened("home", lang="en"))
    assert link.startswith("/?v=1&lang=en&")
    assert reopened("home", link).title[0].value == catalog("en", "home")["page.question"]


# What a link cannot hold


def test_a_link_too_long_for_a_camera_has_no_code_and_the_dialog_says_so() -> None:
    app = opened("rows")
    assert shared_link(app)
    assert len(_images(app)) == 1
    app.text_input(key="rows.text.B").set_value("苹" * 120).run()
    assert LONGEST_CODE < len(shared_link(app)) <= LONGEST_LINK
    assert not _images(app)
    assert SAID["no_code"].partition("{")[0] in dialog_of(app)


def _images(app: AppTest) -> list[Any]:
    return list(app.get("image"))


def test_a_text_too_long_for_a_link_is_left_out_and_named() -> None:
    app = opened("rows")
    app.text_input(key="rows.text.B").set_value("苹" * 1500).run()
    link = shared_link(app)
    assert len(link) <= LONGEST_LINK
    label = escape.markdown_plain(app.text_input(key="rows.text.B").label)
    assert label in dialog_of(app)
    assert "text\\.B" not in dialog_of(app)
    labels = [button.proto.label for button in app.get("download_button")]
    assert SAID["texts"] in labels
    assert calm(reopened("rows", link)).text_input(key="rows.text.A").value


def test_pasted_corpora_stay_where_they_are() -> None:
    app = opened("train")
    app.main.segmented_control[0].set_value("own").run()
    app.text_area[0].set_value(TEXT).run()
    link = shared_link(app)
    assert "own=" not in link
    assert len(link) < 2000
    assert SAID["private"] in dialog_of(app)
    assert reopened("train", link).text_area[0].value == ""


def test_a_board_that_was_typed_over_comes_back() -> None:
    app = opened("step", changed='[["x",0,1,7.25],["mask",0,2,0]]', cell='["q",0,1]')
    calm(app)
    board = app.session_state["step.board"]
    assert board.inputs.x[0, 1] == 7.25
    assert not board.inputs.mask[0, 2]
    again = calm(reopened("step", shared_link(app))).session_state["step.board"]
    assert (again.inputs.x == board.inputs.x).all()
    assert (again.inputs.mask == board.inputs.mask).all()
    assert again.selected == ("q", 0, 1)
    app.button(key="step.reset").click().run()
    assert calm(app).session_state["step.board"].inputs.x[0, 1] != 7.25


# Runs


def train_app(**more: str) -> AppTest:
    return agreed(calm(opened("train", run="pronoun", **(SMALL | more))))


def test_a_link_trains_nothing_before_the_user_agrees() -> None:
    other = {f"run2.{name.partition('.')[2]}": value for name, value in SMALL.items()}
    links = {"run": "pronoun", "run.seed": "14", "run2": "pronoun", "run2.seed": "15"}
    app = calm(opened("train", **links, **SMALL, **other))
    assert runs_of(app) == []
    offers = [info.value.replace("\\", "") for info in app.info]
    assert len(offers) == 2
    assert all("pronoun" in offer for offer in offers)
    assert "steps = 3" in offers[0]
    assert "seed = 15" in offers[1]
    rest(agreed(app))
    assert sorted(run.params["seed"] for run in runs_of(app)) == [14, 15]
    assert not [button for button in app.button if button.key == "owi.link_train"]


def test_each_unusable_field_of_a_run_is_named() -> None:
    app = calm(opened("train", run="pronoun", **(SMALL | {"run.steps": "many", "run.lr": "-1"})))
    assert runs_of(app) == []
    assert not app.info
    for name in ("run\\.steps", "run\\.lr"):
        assert name in line_of(app)
    assert "train" not in line_of(app)


def test_marks_behind_a_value_are_dropped_where_it_means_nothing_with_them() -> None:
    text = "小明把苹果放在桌子上，小红拿走了它。"
    app = calm(opened("rows", **{"text.A": text, "pair": "typed", "end": "1"}))
    assert app.text_input(key="rows.text.A").value == text  # a text keeps its full stop
    app = calm(opened("rows", lang="en）", pair="verb。"))
    assert app.title[0].value == catalog("en", "rows")["page.question"]
    assert app.selectbox(key="rows.pair").value == "verb"
    assert line_of(app) == ""


def test_a_number_out_of_its_range_is_refused_with_the_range() -> None:
    app = calm(opened("feedback", temperature="5", seed="-1"))
    line = line_of(app).replace("\\", "")
    assert "temperature (0.0 … 3.0)" in line
    assert "seed (0 … 2147483647)" in line


def test_a_parameter_given_twice_is_named_and_the_last_counts() -> None:
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.query_params.update({"lang": "en", "pair": ["nouns", "verb"], "layer": "1"})
    app.switch_page("pages/rows.py")
    calm(app.run())
    assert app.selectbox(key="rows.pair").value == "verb"
    said = catalog("en", "common")["share.repeated"].partition("{")[0]
    assert f"{said}pair" in line_of(app)


def result_of(app: AppTest) -> dict[str, Any]:
    finished = runs_of(app)[-1].latest(Finished)
    assert finished is not None
    timed = ("train_seconds", "tokens_per_second")
    return {key: value for key, value in finished.result.items() if key not in timed}


def test_a_run_is_trained_again_at_once_and_once_for_all() -> None:
    app = train_app(step="0")
    assert SAID["run_under_way"] in line_of(app)
    other = calm(opened("train", run="pronoun", **SMALL))  # another student, the same link
    assert runs_of(other)[0].id == runs_of(app)[0].id
    rest(app)
    assert SAID["run_again"] in line_of(app)
    assert app.select_slider[0].value == 0
    link = shared_link(app)
    again = rest(reopened("train", link))
    assert SAID["run_stored"] in line_of(again)
    assert again.select_slider[0].value == 0
    assert kept_by(again) == kept_by(app)
    assert [m.value for m in again.metric] == [m.value for m in app.metric]
    before = result_of(again)
    jobs.manager.clear()  # a server of its own trains it from nothing
    alone = rest(agreed(reopened("train", link)))
    assert SAID["run_again"] in line_of(alone)
    assert kept_by(alone) == kept_by(app)
    assert result_of(alone) == before


def test_a_run_that_was_stopped_is_not_part_of_a_link() -> None:
    app = train_app(**{"run.steps": "20000", "run.seed": "5"})
    runs_of(app)[0].stop()
    rest(app)
    assert "run=" not in shared_link(app)
    assert SAID["unfinished"] in dialog_of(app)


def test_masks_and_their_run_come_back_together() -> None:
    small = {"run.steps": "2", "run.d_model": "8", "run.n_layer": "1", "run.against": "one_ahead"}
    app = rest(agreed(opened("masking", run="masking", row="3", how="gradients", **small)))
    again = rest(reopened("masking", shared_link(app)))
    assert kept_by(again) == kept_by(app)
    assert (again.session_state["masking.row"], kept_by(again)["masking.how"]) == (3, "gradients")
    assert body_of(again) == body_of(app)


def test_several_runs_of_a_page_come_back() -> None:
    relations = {"run": "relations", "run.n_head": "1", "run.steps": "2"}
    more = {"run2": "relations", "run2.n_head": "2", "run2.steps": "2"}
    app = rest(agreed(opened("step", **relations, **more)))
    link = shared_link(app)
    assert "run.n_head=1" in link
    assert "run2.n_head=2" in link
    assert [run.state for run in runs_of(rest(reopened("step", link)))] == ["finished"] * 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "settings", "more"),
    [
        ("tying", {"steps": "3", "d_model": "8", "n_train": "100"}, {"source": "own"}),
        ("projection", {"steps": "3", "d_model": "32", "against": "doubled_residual"}, {}),
        ("connections", {"part": "recall", "steps": "2"}, {"need": "far"}),
        ("cost", {"part": "ranges", "length": "64"}, {"ranges.at": "64"}),
        # At 256 tokens the cache is so much faster that no neighbour changes the verdict.
        ("feedback", {"longest": "256"}, {"model": "unfinished", "sample": "0.5"}),
    ],
)
def test_every_labs_run_comes_back_to_the_same_verdict(
    name: str, settings: dict[str, str], more: dict[str, str]
) -> None:
    recipe = {"run": name} | {f"run.{key}": value for key, value in settings.items()}
    app = rest(agreed(opened(name, **recipe, **more)))
    for key, value in more.items():
        assert app.session_state[f"{name}.{key}"] == value
    shown, verdict = kept_by(app), runs_of(app)[-1].latest(Finished).verdict["code"]
    link = shared_link(app)
    jobs.manager.clear()
    again = rest(agreed(reopened(name, link)))
    assert kept_by(again) == shown
    assert runs_of(again)[-1].latest(Finished).verdict["code"] == verdict
    assert SAID["ignored"].partition("{")[0] not in line_of(again)


# The session's own model


def with_model(prompt: str = "") -> AppTest:
    """Return the rows page, read by a model that this session has trained."""
    app = calm(opened("train", run="pronoun", **(SMALL | {"run.seed": "9"})))
    # An earlier test may have trained it: then there is nothing to agree to.
    if any(button.key == "owi.link_train" for button in app.button):
        agreed(app)
    if prompt:
        app = opened("train")
        app.number_input(key="train.swap.steps").set_value(3)
        app.number_input(key="train.swap.n_train").set_value(100)
        app.text_input(key="train.swap.watch").set_value(prompt).run()
        app.button(key="train-start").click().run()
    rest(app)
    app.button(key="train.use").click().run()
    app.switch_page("pages/rows.py")
    app.query_params.clear()
    app.query_params["lang"] = "zh"
    calm(app.run())
    assert app.selectbox(key="rows.model").value == "own"
    return app


def test_a_trained_model_is_made_again_and_used() -> None:
    app = with_model()
    link = shared_link(app)
    assert "trained=pronoun" in link
    jobs.manager.clear()
    again = reopened("rows", link)
    assert runs_of(again) == []
    assert len(again.main.selectbox) == 0
    agreed(again)
    assert SAID["model_under_way"] in [info.value for info in again.info]
    assert len(again.main.selectbox) == 0  # nothing is shown that the link does not mean
    rest(again)
    assert SAID["model_again"] in line_of(again)
    assert kept_by(again) == kept_by(app)
    assert body_of(again) == body_of(app)


def test_the_page_can_be_seen_without_waiting_for_the_model() -> None:
    link = "/rows?trained=pronoun&trained.steps=20000&model=own&pair=verb"
    app = agreed(reopened("rows", link))
    app.button(key="owi.without_model").click().run()
    calm(app)
    assert app.selectbox(key="rows.pair").value == "verb"
    assert app.selectbox(key="rows.model").value == "auto"
    assert "trained" in line_of(app)
    runs_of(app)[0].stop()
    rest(app)


def test_a_model_that_read_somebodys_words_has_its_file_and_no_recipe() -> None:
    app = with_model(prompt="小明把苹果放在桌子上，小红拿走了它")
    link = shared_link(app)
    assert "trained" not in link
    assert SAID["no_recipe"] in dialog_of(app)
    assert app.get("download_button")
    again = calm(reopened("rows", link))
    assert again.selectbox(key="rows.model").value == "auto"
    assert "model" in line_of(again)


def test_an_uploaded_model_has_no_recipe_either(tmp_path: Path) -> None:
    app = with_model()
    data = (Path(app.session_state["current_model"]) / FILE_NAME).read_bytes()
    at = AppTest.from_function(_uploading, default_timeout=60)
    at.session_state["test.data"] = data
    at.run()
    assert not at.exception
    assert at.text[0].value == "None"


def _uploading() -> None:
    import streamlit as st

    from pages._ui.session.jobs import session_jobs
    from pages._ui.session.models import current_recipe, use_uploaded

    use_uploaded(st.session_state["test.data"], session_jobs().folder)
    st.text(str(current_recipe()))
