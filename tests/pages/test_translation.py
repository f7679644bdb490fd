"""The translation page: a run, one sentence step by step, and wrong inputs, in both languages."""

import pytest
from streamlit.testing.v1 import AppTest

from owi_core.experiments.translation.results import Result
from owi_core.jobs.runs import Run
from owi_core.jobs.tasks import ENDED
from pages._labs.translation.code import run_code, words_code
from pages._labs.translation.models import examples, gold_of, is_right, seen_by
from pages._labs.translation.view import gold_cells
from pages._ui.base.i18n import catalog
from pages._ui.draw.run_panel import result_of
from pages._ui.session import jobs
from tests.pages_under_test import calm, component_data, opened, told

pytestmark = pytest.mark.usefixtures("own_workers")


def trained(lang: str = "zh", corpus: str = "sentences") -> tuple[AppTest, Run]:
    app = opened("translation", lang=lang, corpus=corpus, **{f"steps_{corpus}": "8"}, d_model="16")
    app.button(key="translation-start").click().run()
    run = jobs.manager().runs(app.session_state["owi.session_id"])[-1]
    run.wait(*ENDED, seconds=240)
    return app.run(), run


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_page_asks_for_a_run_before_anything_was_trained(lang: str) -> None:
    app = calm(opened("translation", lang=lang))
    assert not app.error
    assert not app.main.metric


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_a_run_shows_numbers_rows_maps_cuts_and_searches(lang: str) -> None:
    app, run = trained(lang)
    assert not calm(app).error
    words = catalog(lang, "translation")
    result = result_of(run, Result)
    assert result is not None
    assert [metric.label for metric in app.main.metric][:2] == [
        words["result.exact_heldout"], words["result.exact_heldout_frame"]
    ]  # fmt: skip
    assert f"{result.exact_heldout:.1%}" in [metric.value for metric in app.main.metric]
    text = "".join(examples(run.params)[0].source)
    seen = seen_by(run, text)
    shown = component_data(app, "translation.source")
    assert shown["labels"] == list(seen.source)
    assert shown["weights"] == pytest.approx(seen.cross[-1].mean(axis=0)[0].tolist(), abs=1e-4)
    assert words["cut.title"] in [title.value for title in app.main.subheader]


def test_a_typed_sentence_is_translated_and_a_strange_word_is_named() -> None:
    app, _ = trained()
    app.text_input(key="translation.own").set_value("小明想买苹果").run()
    assert component_data(app, "translation.source")["labels"] == ["小明", "想", "买", "苹果"]
    app.text_input(key="translation.own").set_value("小明想买大象").run()
    assert "大象" in app.error[0].value
    assert not app.exception
    app.text_input(key="translation.own").set_value("上" * 40).run()
    assert app.error
    assert not app.exception


def test_a_word_that_is_cut_out_moves_what_the_model_says() -> None:
    app, run = trained()
    text = "".join(examples(run.params)[0].source)
    without = seen_by(run, text, 1)
    assert (without.cross[..., 1] == 0).all()
    assert (without.encoder[:, :, :, 1] == 0).all()
    app.selectbox(key="translation.cut").set_value(1).run()
    change = without.log_p - seen_by(run, text).log_p
    n = sum(change <= -0.5)
    assert f"{len(change)} 个词里有 {n} 个" in told(app)


def test_right_and_wrong_are_told_by_the_gold_translation() -> None:
    _, run = trained()
    pair = examples(run.params)[0]
    seen = seen_by(run, "".join(pair.source))
    assert gold_of(run.params, pair.source) == pair
    assert seen.share_right(seen.target) == 1
    assert is_right(run.params, seen, pair) == seen.share_right(pair.target)
    assert is_right(run.params, seen, None) is None
    assert gold_cells(((0,), (), (1, 2))) == [(0, 0), (2, 1), (2, 2)]


def test_numbers_are_right_when_they_read_back() -> None:
    app, run = trained(corpus="numbers")
    assert not calm(app).error
    seen = seen_by(run, "一万零三百零五")
    assert is_right(run.params, seen, None) == float("".join(seen.target) == "10305")


def test_the_code_names_what_was_set() -> None:
    code = run_code({"corpus": "dates", "seed": 3})
    assert "corpus='dates'" in code
    assert "seed=3" in code
    compile(words_code({}, "小明想买苹果", 1), "shown", "exec")
