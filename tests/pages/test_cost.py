"""The cost page: alive before anything is measured, each part from its button to its numbers."""

import pytest
from streamlit.testing.v1 import AppTest

from owi_core.experiments import cost
from owi_core.experiments._kit.params import parameters
from owi_core.experiments.cost import ranges, time
from owi_core.experiments.cost.outside import KINDS
from owi_core.jobs.runs import Run
from owi_core.jobs.tasks import ENDED
from owi_core.masks import Reach
from owi_core.probes.reach import fraction_linked, linked_by_kind
from pages._labs.cost import form, reach
from pages._labs.cost.code import run_code
from pages._ui.base.i18n import catalog, translator
from pages._ui.base.page import Frame
from pages._ui.session import jobs
from tests.pages_under_test import opened, told, type_number

pytestmark = pytest.mark.usefixtures("own_workers")

SMALL = {
    "time": {"length": 32, "d_model": 8, "n_layer": 1, "cap_seconds": 0.3},
    "ranges": {"length": 64, "d_model": 8, "window": 8},
    "outside": {"length": 16, "window": 3, "steps": 2},
    "scale": {"length": 16, "d_model": 8, "steps": 2},
    "depth": {"d_model": 8, "steps": 2, "batch_size": 8},
}


@pytest.fixture(scope="module")
def measured() -> tuple[AppTest, dict[str, Run]]:
    """The page after all parts were measured, small."""
    app, runs = opened("cost", lang="en"), {}
    for part, values in SMALL.items():
        for name, value in values.items():
            type_number(app, f"cost.{part}.{name}", value)
        app.run()
        app.button(key=f"cost-{part}-start").click().run()
        runs[part] = jobs.manager().runs(app.session_state["owi.session_id"])[-1]
        runs[part].wait(*ENDED, seconds=240)
    return app.run(), runs


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_every_setting_kind_part_and_verdict_is_named(lang: str) -> None:
    words = catalog(lang, "cost")
    known = {p.name for p in parameters(cost.Params)}
    for part in cost.PARTS:
        assert f"part.{part}.title" in words
        assert set(form.SETTINGS[part]) <= known
        for name in form.SETTINGS[part]:
            assert f"setting.{name}" in words
    for kind in (*time.KINDS, *ranges.KINDS):
        assert f"kind.{kind}" in words


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_page_is_alive_before_anything_was_measured(lang: str) -> None:
    app = opened("cost", lang=lang)
    assert not app.exception
    assert not app.error
    assert [m.value for m in app.metric] == ["64 MiB", "3,072 MiB"]
    assert len(app.get("plotly_chart")) == 1
    assert len(app.table) == 1


def test_what_global_words_link_is_counted_and_said_only_where_there_are_some() -> None:
    app = opened("cost", lang="en")
    reached = linked_by_kind(("window", "window_global"), 24, 3, Reach(4, 1, 2))[:, -1]
    window, share = (fraction_linked(each) for each in reached)
    assert f"{share:.0%} of the pairs are linked after 3 layers; with the window alone, " in told(
        app
    )
    assert f"{window:.0%}" in told(app)
    assert "No far word that is not global" in told(app)
    both = app.segmented_control(key="cost.reach.ways").set_value("both").run()
    assert "look both ways: 100% of the pairs" in told(both)
    none = app.number_input(key="cost.reach.n_global").set_value(0).run()
    assert "Global words" not in told(none)


@pytest.mark.parametrize("n_global", range(1, 7))
def test_words_linked_by_global_words_alone_are_counted_pair_by_pair(n_global: int) -> None:
    page = Frame("en", translator("en", "cost"), "light")
    found = reach._found(24, 4, n_global, 2, True)
    with_them, without = found.reached[[KINDS.index(k) for k in ("window_global", "window")], -1]
    pairs = [(q, k) for q in range(24) for k in range(24) if with_them[q, k] and not without[q, k]]
    said = reach._global_line(page, found, n_global, True)
    assert ("No far word that is not global" in said) == all(k < n_global for _, k in pairs)
    everything = reach._found(24, 24, n_global, 2, True)
    assert "link nothing here" in reach._global_line(page, everything, n_global, True)


def test_the_window_that_is_wide_enough_is_said_to_link_everything() -> None:
    app = opened("cost", lang="en")
    assert "reaches 9 words back" in told(app)
    app.number_input(key="cost.reach.size").set_value(24).run()
    assert "everything is linked" in told(app)


def test_memory_follows_words_heads_and_layers() -> None:
    app = opened("cost", lang="en")
    app.number_input(key="cost.memory.tokens").set_value(2048).run()
    assert [m.value for m in app.metric] == ["16 MiB", "768 MiB"]


def test_each_part_ends_with_its_verdict_and_no_complaint(measured) -> None:
    app, runs = measured
    assert {run.state for run in runs.values()} == {"finished"}
    assert not app.exception
    assert not app.error
    assert len([*app.success, *app.warning]) == len(cost.PARTS)


def test_times_slopes_and_stops_are_told(measured) -> None:
    app, _ = measured
    prose = told(app)
    assert "no cap was met" in prose or "stopped before" in prose
    assert "T×T scores written out" in prose
    tables = [list(frame.value.columns) for frame in app.dataframe]
    assert tables[0][:2] == ["model", "parameters"]


def test_the_far_side_of_the_window_is_proved_not_to_move(measured) -> None:
    app, _ = measured
    assert "✓ Where no way leads" in told(app)


def test_the_code_under_each_part_runs_and_prints_its_result(measured, capsys) -> None:
    _, runs = measured
    code = run_code(runs["scale"].params)
    exec(compile(code, "shown", "exec"), {})
    assert "by_d_head" in capsys.readouterr().out
    assert code in measured[0].session_state["owi.drawn"].all_code()


def test_heads_that_do_not_divide_the_width_are_told_with_a_remedy() -> None:
    app = opened("cost", lang="en")
    app.number_input(key="cost.scale.n_head").set_value(3).run()
    app.button(key="cost-scale-start").click().run()
    assert len(app.error) == 1
    assert not app.exception
