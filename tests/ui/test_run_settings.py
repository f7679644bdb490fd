"""A result names the settings that it is of, and the page says when it has other ones now."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from pages._ui.base.i18n import catalog
from tests.pages_under_test import calm, opened, rest, runs_of, told, type_number

pytestmark = pytest.mark.usefixtures("own_workers")

WORDS = catalog("zh", "common")
CHANGED = WORDS["of.changed"].partition("{")[0]


def small_train() -> AppTest:
    app = opened("train")
    for name, value in (("steps", 3), ("n_train", 100)):
        type_number(app, f"train.swap.{name}", value)
    app.run()
    app.button(key="train-start").click().run()
    return rest(app)


def small_tying() -> AppTest:
    app = opened("tying")
    for name, value in (("steps", 3), ("n_train", 100), ("d_model", 8)):
        type_number(app, f"tying.tying.swap.{name}", value)
    app.run()
    app.button(key="tying-start").click().run()
    return rest(app)


def settings_line(app: AppTest) -> str:
    start = WORDS["of.settings"].partition("{")[0]
    (line,) = [caption.value for caption in app.main.caption if caption.value.startswith(start)]
    return line.replace("\\", "")  # Markdown's escapes


@pytest.mark.parametrize(
    ("trained", "seed", "renew"),
    [
        (small_train, "train.swap.seed", "train_renew"),
        pytest.param(small_tying, "tying.seed", "tying_renew", marks=pytest.mark.slow),
    ],
)
def test_settings_changed_since_are_said_and_run_by_one_click(
    trained: Callable[[], AppTest], seed: str, renew: str
) -> None:
    app = trained()
    assert "步数 = 3" in settings_line(app)
    assert "随机种子 = 0" in settings_line(app)
    assert CHANGED not in told(app)
    app.number_input(key=seed).set_value(5).run()
    (said,) = [line for line in told(calm(app)).splitlines() if CHANGED in line]
    assert "随机种子 = 5" in said.replace("\\", "")
    assert "随机种子 = 0" in settings_line(app)  # the result is still of the old ones
    app.number_input(key=seed).set_value(0).run()
    assert CHANGED not in told(app)
    app.number_input(key=seed).set_value(5).run()
    app.button(key=renew).click().run()
    rest(app)
    assert runs_of(app)[-1].params["seed"] == 5
    assert "随机种子 = 5" in settings_line(app)
    assert CHANGED not in told(app)


def test_another_corpus_is_another_training_and_the_old_verdict_says_so() -> None:
    app = small_train()
    app.main.segmented_control(key="train.corpus").set_value("verb").run()
    assert CHANGED in told(calm(app))
    app.main.segmented_control(key="train.corpus").set_value("zh").run()
    assert CHANGED in told(calm(app))
    assert catalog("zh", "train")["corpus.swap.name"] in settings_line(app)
