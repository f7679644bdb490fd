"""The session's own model: named on every page, used where that is said, judged as what it is."""

from pathlib import Path

import pytest
import torch
from streamlit.testing.v1 import AppTest

from owi_core.checkpoints import Bundle, save, shipped
from pages._labs.tying.touch import MINE
from pages._ui.base.entries import page_entries
from pages._ui.base.i18n import catalog
from pages._ui.session.reading import OWN, PAGES_OF_CHARACTERS, PAGES_OF_WORDS
from pages._ui.session.visit import CURRENT_MODEL
from tests.pages_under_test import opened, told
from tests.tiny import word_bundle

CHOSEN = {
    "step": "step.model",
    "rows": "rows.model",
    "tying": "tying.source",
    "projection": "projection.model",
    "feedback": "feedback.model",
}
OPTIONS = {"step": {"source": "sentence"}}


def calm(app: AppTest) -> AppTest:
    assert not app.exception
    return app


def with_model(name: str, bundle: Bundle, folder: Path, **link: str) -> AppTest:
    """Open a page in a session that has chosen this model."""
    save(bundle, folder)
    app = opened(name, **link)
    app.session_state[CURRENT_MODEL] = str(folder)
    return app.run()


@pytest.mark.parametrize("name", [entry.name for entry in page_entries("zh")])
def test_every_page_names_the_model_and_leads_back(name: str, tmp_path: Path) -> None:
    app = calm(with_model(name, shipped("swap"), tmp_path))
    assert catalog("zh", "common")["own_model.line"].split("：")[0] in told(app)
    app.button(key="owi.forget_model").click().run()
    assert CURRENT_MODEL not in calm(app).session_state
    assert not [button for button in app.button if button.key == "owi.forget_model"]


@pytest.mark.parametrize(
    ("name", "model"),
    [
        *((name, "swap") for name in PAGES_OF_WORDS),
        *((name, "language") for name in PAGES_OF_CHARACTERS),
    ],
)
def test_a_page_that_is_said_to_use_the_model_does(name: str, model: str, tmp_path: Path) -> None:
    app = with_model(name, shipped(model), tmp_path, **OPTIONS.get(name, {}))
    assert app.session_state[CHOSEN[name]] in (OWN, MINE)


def proof_of(bundle: Bundle, folder: Path) -> str:
    app = calm(with_model("tying", bundle, folder))
    return "\n".join([told(app), *(info.value for info in app.info)])


def test_an_own_model_of_two_matrices_is_never_called_one(tmp_path: Path) -> None:
    words = catalog("zh", "tying")
    bundle = word_bundle(tie_weights=False)
    said = proof_of(bundle, tmp_path)
    assert words["proof.two"] in said
    assert words["proof.one"] not in said
    assert words["proof.counted"].format(held=12, cases=12) in said
    assert said.count("✓ " + words["outcome.apart"]) == 12


def test_equal_numbers_in_two_matrices_are_said_to_be_two(tmp_path: Path) -> None:
    bundle = word_bundle(tie_weights=False)
    with torch.no_grad():
        bundle.model.lm_head.weight.copy_(bundle.model.embedding.weight)
    said = proof_of(bundle, tmp_path)
    assert catalog("zh", "tying")["proof.equal"] in said
    assert catalog("zh", "tying")["touch.two"] in said
