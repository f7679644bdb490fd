"""The feedback page: step, back, force, fork, end, overflow, and whatever somebody types."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from owi_core.checkpoints import shipped
from owi_core.config import SamplingConfig
from owi_core.corpora import character_text
from owi_core.experiments.feedback import Params, Result
from owi_core.generation import Forecast, draw, foresee, uniforms
from owi_core.jobs.tasks import ENDED
from pages._labs.feedback.cost import repeated_lines, run_code
from pages._labs.feedback.lab import TREE
from pages._labs.feedback.next_bars import N_ROWS, n_equals_cut, rows_of
from pages._labs.feedback.tree import (
    MAX_BRANCHES,
    MAX_TOKENS,
    Token,
    Tree,
    back,
    choose,
    force,
    planted,
    shared_length,
    step,
)
from pages._ui.base.i18n import catalog
from pages._ui.session import jobs
from tests.experiments.some import some
from tests.pages_under_test import component_data, opened, reopened, shared_link, told

pytestmark = pytest.mark.usefixtures("own_workers")

PROMPT = "feedback.prompt.language"
shipped_once = cache(lambda: shipped("language"))


def tree_of(app: AppTest) -> Tree:
    return app.session_state[TREE].tree  # type: ignore[no-any-return]


def text_of(app: AppTest) -> str:
    return shipped_once().tokenizer.decode(tree_of(app).current.ids)


def press(app: AppTest, name: str, times: int = 1) -> AppTest:
    """Press a button; step and back are counted by the browser, which is not here."""
    if name not in ("step", "back"):
        return app.button(key=f"feedback.{name}").click().run()
    key = f"feedback.{name}.pressed"
    counted = app.session_state[key] if key in app.session_state else 0  # noqa: SIM401
    app.session_state[key] = counted + times
    return app.run()


def can_go_on(app: AppTest) -> bool:
    """Tell whether the text may go on: playing may begin just where a step can be taken."""
    return not app.button(key="feedback.play").disabled


def force_in(app: AppTest, character: str) -> AppTest:
    labels = shipped_once().tokenizer.characters
    app.selectbox(key="feedback.force").set_value(labels.index(character)).run()
    return press(app, "force_it")


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_step_back_force_and_switch(lang: str) -> None:
    app = opened("feedback", lang=lang)
    assert not app.error
    assert text_of(app) == character_text("zh")[:4]
    app = press(app, "step")
    drawn = text_of(app)
    assert len(drawn) == 5
    app = press(app, "back")
    assert len(text_of(app)) == 4
    assert len(text_of(press(app, "back"))) == 4
    app = press(app, "step")
    assert text_of(app) == drawn  # each step has a random number of its own
    app = force_in(press(app, "back"), "猫")
    assert text_of(app).endswith("猫")
    first, second = tree_of(app).branches
    assert (first.ids[4], second.parent, second.fork) != (second.ids[4], None, 0)
    words = catalog(lang, "feedback")
    assert words["branch.forked"].format(number=2, parent=1, place=5) in told(app)
    app = press(press(app, "branch.1"), "step")
    assert text_of(app).startswith(drawn)
    app = press(app, "restart")
    assert len(tree_of(app).branches) == 1
    assert not app.exception
    assert not app.error


def test_a_step_pressed_while_the_prompt_was_still_being_typed_is_a_step_of_the_new_text() -> None:
    """A tap on the button ends the typing: the browser sends both in one request."""
    app = press(opened("feedback"), "step")
    app.text_input(key=PROMPT).set_value("小猫")
    app = press(app, "step")
    assert len(tree_of(app).current.ids) == 3
    assert text_of(app).startswith("小猫")


def test_what_is_drawn_is_what_the_seed_and_the_settings_say() -> None:
    app = opened("feedback")
    app.number_input(key="feedback.seed").set_value(11).run()
    app.slider(key="feedback.temperature").set_value(2.0).run()
    app.slider(key="feedback.top_k").set_value(3).run()
    bundle = shipped_once()
    ids = list(tree_of(app).current.ids)
    for u in uniforms(11, 3):
        ids.append(draw(foresee(bundle.model, ids, SamplingConfig(2.0, 3)).after, u))
        app = press(app, "step")
    assert tree_of(app).current.ids == tuple(ids)
    assert f"u = {uniforms(11, 3)[-1]:.3f}" in told(app)


def test_presses_that_came_together_are_all_taken_and_none_past_the_end() -> None:
    one_by_one = opened("feedback")
    for _ in range(3):
        one_by_one = press(one_by_one, "step")
    app = press(opened("feedback"), "step", 3)
    assert tree_of(app).current.ids == tree_of(one_by_one).current.ids
    assert len(text_of(press(app, "back", 2))) == 5
    assert len(text_of(press(app, "back", 9))) == 4
    assert tree_of(press(app, "step", 1000)).current.at == MAX_TOKENS
    assert not app.exception


def test_the_text_ends_at_the_stop_character_and_goes_on_with_another() -> None:
    app = opened("feedback")
    app.slider(key="feedback.temperature").set_value(0.0).run()
    labels = shipped_once().tokenizer.characters
    stop = text_of(press(app, "step"))[-1]
    app = press(app, "back")
    app.selectbox(key="feedback.stop").set_value(labels.index(stop)).run()
    app = press(app, "step")
    assert not can_go_on(app)
    assert stop in app.main.info[0].value
    app.selectbox(key="feedback.stop").set_value(None).run()
    assert can_go_on(app)


def test_what_the_window_drops_is_struck_out_and_counted() -> None:
    app = opened("feedback")
    text = character_text("zh")[:70]
    app.text_input(key=PROMPT).set_value(text).run()
    words = catalog("zh", "feedback")["window.dropped"]
    assert words.format(block=64, count=6) in told(app)
    struck = next(m.value for m in app.main.markdown if m.value.startswith(":gray[~~"))
    assert text[:3] in struck
    assert text[8:12] not in struck
    assert not app.error


@pytest.mark.parametrize("typed", ["", "Ω", "山Ω下", "<b>&", "$x$", "🐈"])
def test_a_prompt_that_cannot_be_read_is_refused_in_words_and_kept(typed: str) -> None:
    app = opened("feedback")
    app.text_input(key=PROMPT).set_value(typed).run()
    assert len(app.error if typed else app.info) == 1
    assert app.text_input(key=PROMPT).value == typed
    assert not app.exception
    app.text_input(key=PROMPT).set_value("小猫").run()
    assert not app.error


def test_two_sessions_do_not_see_each_others_branches() -> None:
    one, other = opened("feedback"), opened("feedback")
    one = force_in(one, "猫")
    other = other.run()
    assert len(tree_of(one).branches) == 2
    assert len(tree_of(other).branches) == 1
    assert len(text_of(other)) == 4


def test_a_play_takes_a_step_at_each_beat_and_can_be_paused() -> None:
    app = press(opened("feedback"), "play")
    begun = len(text_of(app))
    app = app.run()
    assert len(text_of(app)) > begun
    app = press(app, "play")
    rest = len(text_of(app))
    assert len(text_of(app.run())) == rest


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_one_button_measures_and_every_number_is_shown(lang: str) -> None:
    app = opened("feedback", lang=lang)
    app.segmented_control(key="feedback.longest").set_value(64).run()
    app.button(key="feedback-start").click().run()
    run = jobs.manager().runs(app.session_state["owi.session_id"])[-1]
    assert run.wait(*ENDED, seconds=240) == "finished"
    app = app.run()
    assert not app.exception
    assert not app.error
    assert len(app.main.get("plotly_chart")) == 2
    words = catalog(lang, "feedback")
    for key in ("past.parts", "mask.needed", "cost.model", "repeats.recites"):
        assert words[key].split("{")[0] in told(app), key
    app.selectbox(key="feedback.model").set_value("unfinished").run()
    assert not app.error
    assert not app.exception


def test_repetition_is_told_by_the_shares() -> None:
    share = {"0.1": 0.8, "1.0": 0.1}
    shares = {"repeated_share": share, "repeated_share_shipped": share}
    result = some(Result, **shares, recited=["0.1", "2.0"])
    lines = dict(repeated_lines(result))
    assert lines["recites"] == {"temperature": "0.1"}
    assert "low_repeats" in lines
    result = replace(result, repeated_share={"0.1": 0.2, "1.0": 0.1}, recited=[])
    assert set(dict(repeated_lines(result))) == {"low_does_not", "recites_not"}


def test_the_lines_shown_run_with_what_was_set() -> None:
    names: dict[str, object] = {}
    code = run_code(vars(Params(longest=16, rounds=1, d_model=8, n_layer=1, n_written=8, steps=1)))
    exec(compile(code, "<shown>", "exec"), names)
    assert names["result"]["lengths"] == [16]  # type: ignore[index]


def drawn(index: int) -> Token:
    return Token(index, 0.5, 0.5)


def test_going_back_and_on_again_comes_by_the_same_tokens_forced_ones_too() -> None:
    tree = step(planted((1, 2)), drawn(3))
    tree = force(tree, Token(9, 0.5, 0.0, True), drawn(4))
    assert tree.current.ids == (1, 2, 3, 9)
    again = step(back(tree), drawn(4))
    assert again.current.ids == (1, 2, 3, 9)
    assert len(again.branches) == 2
    assert tree.branches[0].ids == (1, 2, 3, 4)
    assert shared_length(tree.branches[0], tree.branches) == 3


def test_another_draw_in_the_middle_forks_and_leaves_the_old_branch_whole() -> None:
    tree = step(step(planted((1,)), drawn(2)), drawn(3))
    forked = step(back(tree, 1), drawn(7))
    assert [b.ids for b in forked.branches] == [(1, 2, 3), (1, 7)]
    assert forked.current.fork == 1
    # The way that somebody went before is gone again, not copied.
    home = step(back(forked), drawn(2))
    assert (home.active, len(home.branches)) == (1, 2)


moves = st.lists(
    st.tuples(st.sampled_from(["step", "back", "force", "choose"]), st.integers(0, 5)), max_size=40
)


@given(moves)
def test_whatever_is_pressed_the_tree_stays_sound(pressed: list[tuple[str, int]]) -> None:
    tree = planted((1, 2))
    for name, value in pressed:
        before = tree
        if name == "step":
            tree = step(tree, drawn(value))
        elif name == "force":
            tree = force(tree, Token(value, 0.5, 0.0, True), drawn((value + 1) % 6))
        elif name == "back":
            tree = back(tree)
        else:
            tree = choose(tree, value)
        assert 1 <= len(tree.branches) <= MAX_BRANCHES
        assert len({b.number for b in tree.branches}) == len(tree.branches)
        assert all(2 <= b.at <= len(b.tokens) for b in tree.branches)
        assert all(b.ids[:2] == (1, 2) for b in tree.branches)
        if name in ("step", "force"):
            assert len(tree.current.ids) == len(before.current.ids) + 1
        if name == "force":
            assert tree.current.ids[-1] == value


def test_a_tree_can_be_full() -> None:
    assert not planted((1,)).full
    assert planted((1,) * MAX_TOKENS).full


@given(st.floats(0, 1, exclude_max=True), st.floats(0, 3), st.integers(0, 9))
def test_the_bars_hold_the_likeliest_and_the_one_that_u_falls_on(
    u: float, temperature: float, top_k: int
) -> None:
    bundle = shipped_once()
    forecast = foresee(bundle.model, [3, 4], SamplingConfig(temperature, top_k))
    rows = rows_of(forecast, u)
    assert N_ROWS <= len(rows) <= N_ROWS + 1
    hit = next(row for row in rows if row.id == draw(forecast.after, u))
    assert hit.low <= u < hit.high
    assert int(forecast.before.argmax()) in {row.id for row in rows}
    for row in rows:
        assert row.high - row.low == pytest.approx(row.after, abs=1e-6)


def test_a_link_gives_the_probability_that_a_character_had_when_it_was_forced() -> None:
    """The temperature of now is for what comes next, not for what is already written."""
    app = opened("feedback")
    app.button(key="feedback.force_it").click().run()
    app.slider(key="feedback.temperature").set_value(1.2).run()
    before = tree_of(app)
    again = tree_of(reopened("feedback", shared_link(app)))
    assert [t.id for b in again.branches for t in b.tokens] == [
        t.id for b in before.branches for t in b.tokens
    ]
    for mine, theirs in zip(before.branches, again.branches, strict=True):
        for token, other in zip(mine.tokens, theirs.tokens, strict=True):
            assert other.probability == pytest.approx(token.probability, abs=1e-6)
            assert (other.u, other.forced) == (token.u, token.forced)


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_at_temperature_zero_the_page_speaks_of_no_random_number(lang: str) -> None:
    app = opened("feedback", lang=lang, temperature="0")
    assert "u = " not in told(app)
    app = press(app, "step")
    said = catalog(lang, "feedback")["last.greedy"].partition("{")[0]
    assert said in told(app)
    assert "u = " not in told(app)
    shown = component_data(app, "feedback.next")
    assert shown["u"] is None
    assert not [text for text in shown["text"].values() if "u =" in text]
    app.slider(key="feedback.temperature").set_value(1.0).run()
    assert said in told(app)  # the last token was taken at temperature 0
    assert component_data(app, "feedback.next")["u"] is not None


def test_equals_that_the_limits_leave_out_are_counted() -> None:
    p = np.array([0.25, 0.25, 0.25, 0.25])
    rows = np.zeros((1, 1, 1), dtype=np.float32)
    cut = Forecast(p, np.array([0.5, 0.5, 0.0, 0.0]), rows, 0)
    assert n_equals_cut(cut) == 2
    assert n_equals_cut(Forecast(p, p, rows, 0)) == 0
    apart = Forecast(np.array([0.6, 0.3, 0.1]), np.array([1.0, 0.0, 0.0]), rows, 0)
    assert n_equals_cut(apart) == 0


def test_what_was_cut_off_is_brought_back() -> None:
    app = press(opened("feedback"), "step", 4)
    written = text_of(app)
    assert app.button(key="feedback.restore").disabled
    press(app, "back", 3)
    assert text_of(app) == written[:-3]
    press(app, "restore")
    assert text_of(app) == written
    assert len(tree_of(app).branches) == 1
    assert app.button(key="feedback.restore").disabled


def test_the_page_begins_with_a_draw_that_is_likely() -> None:
    app = press(opened("feedback"), "step")
    assert (tree_of(app).current.tokens[-1].probability or 0.0) > 0.5


def test_single_characters_get_no_meaning_that_only_a_word_has() -> None:
    app = opened("feedback", lang="en")
    assert component_data(app, "feedback.words")["gloss"] is None
