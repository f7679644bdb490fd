"""The home page's demos: their stored pictures are what the models and masks give."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from owi_core import demos
from owi_core.__main__ import main
from owi_core.checkpoints import shipped
from owi_core.demos import DEMOS, PROMPT, TOUCHED, Demo, measure, stored
from owi_core.gallery import ready_pair
from owi_core.probes.tie_touch import strongest_edit
from owi_core.readings import read

NAMES = [demo.name for demo in DEMOS]


def numbers(values: Any) -> np.ndarray[Any, Any]:
    """All numbers of a picture in one line, and nan where nothing is drawn."""
    if isinstance(values, list):
        return np.concatenate([numbers(value) for value in values])
    return np.array([np.nan if values is None else values], float)


LONG = ("connections",)  # six models are drawn and asked for every pair of words


@pytest.mark.parametrize(
    "demo",
    [
        pytest.param(demo, id=demo.name, marks=pytest.mark.slow if demo.name in LONG else ())
        for demo in DEMOS
    ],
)
def test_a_stored_picture_is_what_is_measured_again(demo: Demo) -> None:
    found, kept = measure(demo), stored()[demo.name]
    assert set(found) == set(kept)
    assert set(found["told"]) == set(kept["told"])
    for name, value in found["told"].items():
        if isinstance(value, str):
            assert kept["told"][name] == value
        else:
            assert kept["told"][name] == pytest.approx(value, abs=2e-3)
    for name in set(found) - {"told"}:
        np.testing.assert_allclose(numbers(kept[name]), numbers(found[name]), atol=2e-3)


def test_a_picture_that_no_longer_fits_is_noticed() -> None:
    other = Demo("order", "rows", "untrained")
    assert measure(other)["told"] != stored()["order"]["told"]


def test_a_dozen_demos_have_a_picture_each_and_english_is_among_them() -> None:
    assert len(set(NAMES)) == len(DEMOS) == 12
    assert set(stored()) == set(NAMES)
    assert stored()["street"]["told"]["word_a"] == "animal"
    assert stored()["street"]["told"]["word_b"] == "street"


def test_all_that_is_drawn_lies_on_the_scale() -> None:
    for name, picture in stored().items():
        scaled = numbers([*picture.get("rows", []), *picture.get("grids", [])] or [0.0])
        assert np.nanmin(scaled) >= 0, name
        assert np.nanmax(scaled) <= 1, name


def test_the_edited_cell_is_the_one_that_its_page_proposes() -> None:
    pair = ready_pair("nouns")
    assert pair is not None
    reading = read(shipped("swap"), pair.a)
    word = reading.bundle.tokenizer.encode(pair.answer_b or "").ids[0]
    ids, query = reading.encoding.ids, reading.query
    assert strongest_edit(reading.bundle.model, ids, query, word) == TOUCHED


def test_the_prompt_of_the_writing_demo_is_known_to_its_model() -> None:
    assert len(shipped("language").tokenizer.encode(PROMPT).ids) == len(PROMPT)


def test_the_command_measures_and_writes_one_picture_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demos, "STORED", tmp_path / "gallery.json")
    monkeypatch.setattr(demos, "DEMOS", DEMOS[:2])
    before = stored()
    assert main(["gallery"]) == 0
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line.pop("demo") for line in printed] == NAMES[:2]
    written = (tmp_path / "gallery.json").read_text("utf-8")
    assert json.loads(written) == {name: before[name] for name in NAMES[:2]}
    assert len(written.splitlines()) == 4
