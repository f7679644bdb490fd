"""The lines shown beside a figure run, and compute what the figure shows."""

from collections.abc import Callable
from dataclasses import asdict, replace
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from owi_core.checkpoints import SHIPPED
from owi_core.errors import OwiError
from owi_core.experiments import EXPERIMENTS, connections, find, parameters
from owi_core.gallery import ready_pair
from pages._ui.draw import code
from pages._ui.draw.code import OWN_FILE, Inputs
from pages._ui.session.reading import OWN

TEXTS = ("小明把苹果放在桌子上，小红拿走了它", "小明说：'\"苹果\\n苹果\"<b>' {x}")
INPUTS = Inputs("swap", TEXTS, (10, 2), layer=1, head=2)
SNIPPETS = (
    code.answer_code,
    code.rows_code,
    code.proof_code,
    code.matrix_code,
    code.heads_code,
    code.rollout_code,
    code.path_code,
)


def run(lines: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(lines, "<snippet>", "exec"), names)
    return names


@pytest.mark.parametrize("make", SNIPPETS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("head", [None, 2])
def test_snippet_runs_as_shown(make: Callable[[Inputs], str], head: int | None) -> None:
    names = run(make(Inputs("swap", TEXTS, (10, 2), 1, head)))
    assert names["a"].encoding.text == TEXTS[0]
    assert names["a"].query == 10


@pytest.mark.parametrize("make", SNIPPETS, ids=lambda make: make.__name__)
def test_snippet_for_ones_own_model_reads_the_downloaded_file(
    make: Callable[[Inputs], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / OWN_FILE).write_bytes((SHIPPED / "swap" / "model.safetensors").read_bytes())
    monkeypatch.chdir(tmp_path)
    assert run(make(Inputs(OWN, TEXTS, (10, 2)))) is not None


def test_text_with_quotes_and_breaks_comes_through_unchanged() -> None:
    assert run(code.rows_code(INPUTS))["b"].encoding.text == TEXTS[1]


def test_snippets_compute_the_numbers_of_the_page() -> None:
    names = run(code.rows_code(INPUTS))
    reading = names["a"]
    np.testing.assert_array_equal(names["row_a"], reading.record.pattern[1, 2, 10])
    changes = run(code.proof_code(INPUTS))["changes"]
    np.testing.assert_allclose(changes, reading.effects, atol=1e-5)


def test_lines_that_run_an_experiment_say_what_was_set_and_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    params = vars(connections.Params(part="maps", seed=3))
    lines = code.experiment_code("connections", params)
    assert "part='maps'" in lines
    assert "seed=3" in lines
    names = run(lines)
    assert names["params"] == connections.Params(**params)
    assert "maps" in capsys.readouterr().out


def test_every_snippet_is_a_few_lines() -> None:
    pair = ready_pair("nouns")
    assert pair is not None
    inputs = Inputs(pair.model, (pair.a, pair.b), (10, 10))
    assert max(len(make(inputs).splitlines()) for make in SNIPPETS) <= 12


def _defaults_of_each_choice(params: type[Any]) -> list[Any]:
    """Return parameters with the defaults of every combination of the deciding choices."""
    deciding = [p for p in parameters(params) if p.choices and p.kind is str]
    combinations = product(*(p.choices for p in deciding))
    names = [p.name for p in deciding]
    return [params(**dict(zip(names, each, strict=True))) for each in islice(combinations, 40)]


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_the_lines_say_enough_to_make_the_same_settings(name: str) -> None:
    """Also where a value is the default of another choice than the one that was made."""
    kind = find(name).params
    made = _defaults_of_each_choice(kind)
    numbers = [p.name for p in parameters(kind) if p.kind in (int, float)]
    for full, other in product(made, made[:: max(1, len(made) // 6)]):
        try:
            mixed = replace(full, **{each: getattr(other, each) for each in numbers})
        except OwiError:  # the two do not go together
            continue
        lines = code.experiment_code(name, asdict(mixed), "made = params")
        assert run(lines)["made"] == mixed
