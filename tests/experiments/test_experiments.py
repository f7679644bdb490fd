"""Experiments: their parameters, their recipes, and runs that end in every way a run can end."""

import json
import math
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from owi_core import experiments, training
from owi_core.checkpoints import load, shipped
from owi_core.corpora import FAMILIES, pronoun_corpus
from owi_core.errors import OwiError, RunError, SettingError, TextError
from owi_core.events import (
    Control,
    Diverged,
    Evaluated,
    Event,
    Finished,
    Paused,
    Snapshot,
    Started,
    StepDone,
    Stopped,
    to_json,
)
from owi_core.experiments import (
    EXPERIMENTS,
    find,
    language,
    parameters,
    parse_params,
    pronoun,
    recipe,
)
from owi_core.experiments._kit.ending import early_end
from owi_core.experiments._kit.params import BaseParams, command, holds_typed_text, note_of
from owi_core.experiments._kit.session import MAX_SNAPSHOTS
from owi_core.probes.routes import answer_routes
from owi_core.readings import read
from owi_core.tokenizer import WordTokenizer
from pages._ui.base.i18n import translator
from tests.experiments.some import some
from tests.house.source import ROOT
from tests.tiny import global_generator_untouched, refused, rng, sentences_of

SMALL: dict[str, Any] = {"d_model": 8, "n_head": 2, "d_mlp": 8, "n_layer": 1, "batch_size": 4}
OF_LANGUAGE = SMALL | {"steps": 7, "window": 8}
OF_PRONOUN = SMALL | {"family": "person", "steps": 7, "n_train": 100}
TRAINERS = ("language", "pronoun")  # a lab tries its own experiment in its own tests


def small(name: str, **changes: Any) -> Any:
    usual = {"language": OF_LANGUAGE, "pronoun": OF_PRONOUN}[name]
    return EXPERIMENTS[name].params(**(usual | changes))


def run(name: str, params: Any, *rest: Any, **named: Any) -> list[Event]:
    return list(EXPERIMENTS[name].run(params, *rest, **named))


def result_of(events: list[Event]) -> dict[str, Any]:
    last = events[-1]
    assert isinstance(last, Finished)
    return {k: v for k, v in last.result.items() if k != "train_seconds"}  # a clock is no number


def of_kind(kind: type[Event], events: list[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


@pytest.fixture(scope="session", params=TRAINERS)
def whole_run(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, list[Event], Path]:
    folder = tmp_path_factory.mktemp(request.param)
    return request.param, run(request.param, small(request.param), folder), folder


def test_listing_the_experiments_imports_none_of_them_and_finding_one_imports_that_one() -> None:
    code = """
import sys
from owi_core.experiments import EXPERIMENTS, find

def imported():
    return [n for n in EXPERIMENTS if f"owi_core.experiments.{n}" in sys.modules]

assert len(EXPERIMENTS) >= 10 and "torch" not in sys.modules and imported() == []
assert "cost" in EXPERIMENTS and imported() == []
find("step")
assert imported() == ["step"]
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_every_module_with_a_name_is_an_experiment_of_that_name() -> None:
    folder = Path(experiments.__file__).parent
    assert "altered" not in EXPERIMENTS  # a module without NAME serves others
    for name in EXPERIMENTS:
        assert (folder / f"{name}.py").exists() or (folder / name / "__init__.py").exists()
        assert find(name).name == name


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_every_experiment_takes_a_seed_of_seven(name: str) -> None:
    assert issubclass(EXPERIMENTS[name].params, BaseParams)
    assert parse_params(EXPERIMENTS[name], {"seed": "7"}).seed == 7


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_the_command_names_every_setting_that_decides_over_others(name: str) -> None:
    kind = EXPERIMENTS[name].params
    deciding = [p for p in parameters(kind) if p.decides]
    for p in deciding:
        for choice in p.choices:
            assert f"--set {p.name}={choice}" in command(name, kind(**{p.name: choice}))


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_typed_text_makes_a_run_private_and_is_left_out_of_its_note(name: str) -> None:
    kind = EXPERIMENTS[name].params
    assert not holds_typed_text(kind, asdict(kind()))
    for p in parameters(kind):
        # A parameter of any text (no choices) is one that a person types.
        assert p.typed == (p.kind is str and not p.choices), p.name
        if p.typed:
            params = kind(**{p.name: "my secret"})
            assert holds_typed_text(kind, asdict(params))
            assert "my secret" not in json.dumps(note_of(name, params, private=True))


@pytest.mark.parametrize(
    ("request_", "event", "saved"),
    [("pause", Paused(3), ["models", "state"]), ("stop", Stopped(3), ["models"])],
)
def test_an_early_end_saves_models_always_and_the_state_for_a_pause_only(
    request_: Any, event: Event, saved: list[str], tmp_path: Path
) -> None:
    calls: list[str] = []
    save = {
        "save_state": lambda _: calls.append("state"),
        "save_models": lambda _: calls.append("models"),
    }
    assert early_end(3, tmp_path, Control(request_), **save) == event
    assert calls == saved
    assert early_end(3, None, Control(request_), **save) == event
    assert calls == saved  # without a folder nothing more is saved


def test_an_experiment_is_found_by_name_and_another_name_is_refused() -> None:
    assert {"pronoun", "language"} <= set(EXPERIMENTS)
    assert find("pronoun") is EXPERIMENTS["pronoun"]
    with refused("experiment_unknown", SettingError, name="nothing"):
        find("nothing")


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_every_parameter_says_its_meaning_and_its_default_lies_in_its_range(name: str) -> None:
    for p in parameters(EXPERIMENTS[name].params):
        assert p.meaning
        assert p.kind in (int, float, str, bool)
        if p.kind in (int, float):
            assert p.low is not None
            assert p.high is not None
            assert p.default is None or p.low <= p.default <= p.high
        assert not p.choices or p.default is None or p.default in p.choices


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_both_ends_of_every_range_are_taken_and_what_lies_beyond_is_refused(name: str) -> None:
    experiment = EXPERIMENTS[name]
    for p in parameters(experiment.params):
        if p.low is None or p.high is None:
            continue
        for end in (p.low, p.high):
            assert getattr(parse_params(experiment, {p.name: str(end)}), p.name) == end
        for beyond in (p.low - 1, p.high + 1):
            with refused("setting_out_of_range", SettingError, name=p.name, low=p.low, high=p.high):
                parse_params(experiment, {p.name: str(beyond)})


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_every_choice_is_taken_and_no_other(name: str) -> None:
    experiment = EXPERIMENTS[name]
    for p in parameters(experiment.params):
        for choice in p.choices:
            assert getattr(parse_params(experiment, {p.name: choice}), p.name) == choice
        if p.choices:
            with refused("setting_not_a_choice", SettingError, name=p.name, value="nothing"):
                parse_params(experiment, {p.name: "nothing"})


@pytest.mark.parametrize("typed", ["0,003", "0.003", "3,0e-3", "０．００３"])
def test_a_setting_is_read_with_a_decimal_point_or_a_decimal_comma(typed: str) -> None:
    assert parse_params(EXPERIMENTS["pronoun"], {"lr": typed}).lr == 0.003
    with refused("setting_not_a_number", SettingError, name="lr", value="1,000.5"):
        parse_params(EXPERIMENTS["pronoun"], {"lr": "1,000.5"})


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("steps", "many", "setting_not_whole"),
        ("steps", "", "setting_not_whole"),
        ("steps", "7.5", "setting_not_whole"),
        ("steps", "9" * 5000, "setting_not_whole"),
        ("steps", 7.5, "setting_not_whole"),
        ("steps", True, "setting_not_whole"),
        ("lr", "fast", "setting_not_a_number"),
        ("lr", "nan", "setting_out_of_range"),
        ("lr", "inf", "setting_out_of_range"),
        ("lr", [], "setting_not_a_number"),
        ("seed", "-1", "setting_out_of_range"),
        ("seed", None, "setting_not_whole"),
        ("tie_weights", "perhaps", "setting_not_a_choice"),
        ("tie_weights", 1, "setting_not_a_choice"),
        ("mask", 3, "setting_not_text"),
        ("nothing", "1", "setting_unknown"),
    ],
)
@pytest.mark.parametrize("experiment", TRAINERS)
def test_a_value_that_does_not_fit_is_refused(
    experiment: str, name: str, value: object, code: str
) -> None:
    with refused(code, SettingError, name=name):
        parse_params(EXPERIMENTS[experiment], {name: value})


@pytest.mark.parametrize("word", ["true", "True", "1", "yes", "on"])
def test_yes_and_no_are_read_as_people_write_them(word: str) -> None:
    opposite = {"true": "false", "True": "False", "1": "0", "yes": "no", "on": "off"}[word]
    experiment = EXPERIMENTS["pronoun"]
    assert parse_params(experiment, {"tie_weights": word}).tie_weights is True
    assert parse_params(experiment, {"tie_weights": opposite}).tie_weights is False


@given(
    st.sampled_from(sorted(EXPERIMENTS)),
    st.integers(0, 40),
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
)
def test_any_value_gives_params_or_a_refusal_in_words(name: str, at: int, value: object) -> None:
    names = [p.name for p in parameters(EXPERIMENTS[name].params)]
    try:
        parse_params(EXPERIMENTS[name], {names[at % len(names)]: value})
    except OwiError as error:
        assert all(sentences_of(error))  # noqa: PT017


@pytest.mark.parametrize("d_model", [8, 12, 64, 128, 256])
@pytest.mark.parametrize("family", FAMILIES)
def test_defaults_fit_a_model_of_any_width(family: str, d_model: int) -> None:
    params = pronoun.Params(family=family, d_model=d_model)
    assert params.model_config(99, pronoun.BLOCK_SIZE).d_model == d_model
    for preset in language.PRESETS:
        values = language.Params(preset=preset, d_model=d_model)
        assert values.embedding_scale is not None
        assert values.embedding_scale <= math.sqrt(d_model) + 1e-12


def test_who_asks_for_passes_gets_passes_and_who_asks_for_steps_steps() -> None:
    one = language.Params(epochs=3)
    assert (one.steps, one.epochs) == (0, 3)
    assert language.Params(preset="article", steps=50).steps == 50
    prepared = language.prepare(small("language", steps=None, epochs=2, own_text="ab" * 20))
    assert prepared.trainer.config.steps == 2 * prepared.trainer.steps_per_pass


def test_recipe_is_stable() -> None:
    assert recipe("pronoun", pronoun.Params()) == recipe("pronoun", pronoun.Params())
    # What stands in for a value left out is part of the recipe, however it came there.
    steps = pronoun.Params().steps
    assert recipe("pronoun", pronoun.Params(steps=steps)) == recipe("pronoun", pronoun.Params())
    assert recipe("pronoun", pronoun.Params(lr=1)) == recipe("pronoun", pronoun.Params(lr=1.0))


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_recipe_changes_with_every_parameter(name: str) -> None:
    params = EXPERIMENTS[name].params()
    seen = {recipe(name, params)}
    for p in parameters(type(params)):
        value = getattr(params, p.name)
        if p.choices:
            other: Any = next(c for c in p.choices if c != value)
        elif p.kind is bool:
            other = not value
        elif p.kind is str:
            other = "它"
        else:
            other = p.low if value != p.low else p.high
        seen.add(recipe(name, replace(params, **{p.name: other})))
    assert len(seen) == 1 + len(parameters(type(params)))
    assert recipe("another", params) not in seen


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("pronoun", {}),
        ("pronoun", {"family": "fit", "embedding_scale": math.sqrt(128), "seed": 3}),
        ("pronoun", {"family": "verb", "tie_weights": False, "watch": '它\'s "x" 苹果'}),
        ("pronoun", {"family": "fit", "steps": pronoun.RECIPES["swap"]["steps"]}),
        ("language", {"preset": "article", "optimizer": "muon", "repeat": 2}),
        ("language", {"epochs": 5}),
        ("language", {"preset": "article", "steps": 40}),
    ],
)
def test_command_of_a_note_gives_the_same_parameters_back(
    name: str, values: dict[str, Any]
) -> None:
    params = EXPERIMENTS[name].params(**values)
    words = shlex.split(command(name, params))
    assert words[:5] == ["python", "-m", "owi_core", "run", name]
    pairs = [word.partition("=") for word in words[5:] if word != "--set"]
    read_back = parse_params(EXPERIMENTS[name], {key: value for key, _, value in pairs})
    assert read_back == params


def test_a_run_begins_goes_on_and_finishes(whole_run: tuple[str, list[Event], Path]) -> None:
    name, events, _ = whole_run
    first, last = events[0], events[-1]
    assert isinstance(first, Started)
    assert (first.experiment, first.steps) == (name, 7)
    assert first.recipe == recipe(name, small(name))
    assert [event.step for event in of_kind(StepDone, events)] == list(range(1, 8))
    assert isinstance(last, Finished)
    assert last.params == asdict(small(name))
    assert {"code", "passed", "values"} == set(last.verdict)
    assert last.result["n_params"] == first.n_params
    for event in events:
        json.loads(to_json(event), parse_constant=pytest.fail)


def test_result_has_all_that_was_promised(whole_run: tuple[str, list[Event], Path]) -> None:
    name, events, _ = whole_run
    promised = {
        "pronoun": {
            "accuracy_heldout", "accuracy_heldout_structure", "attention_on_antecedent",
            "accuracy_unseen_words", "n_params", "steps", "train_seconds", "final_loss_nats",
        },
        "language": {"epoch_loss_nats", "prefix_only_loss_nats", "n_params", "sample"},
    }  # fmt: skip
    assert promised[name] <= set(events[-1].result)  # type: ignore[attr-defined]


def test_result_reads_back_from_its_json_and_names_what_is_wrong_in_another(
    whole_run: tuple[str, list[Event], Path],
) -> None:
    name, events, _ = whole_run
    kind = {"pronoun": pronoun.Result, "language": language.Result}[name]
    line = json.loads(to_json(events[-1]))["result"]
    assert kind.from_dict(line).to_dict() == line == events[-1].result  # type: ignore[attr-defined]
    with refused("event_unreadable", RunError):
        kind.from_dict(line | {"n_params": "many"})
    with refused("event_unreadable", RunError):
        kind.from_dict({key: value for key, value in line.items() if key != "steps"})


def test_snapshots_show_the_watched_sentence_from_before_the_first_step_to_after_the_last(
    whole_run: tuple[str, list[Event], Path],
) -> None:
    name, events, _ = whole_run
    shots = of_kind(Snapshot, events)
    assert [shot.step for shot in shots] == [0, 3, 6, 7]
    T = len(shots[0].tokens)
    for shot in shots:
        assert len(shot.pattern) == 1
        assert len(shot.pattern[0]) == 2
        for head in shot.pattern[0]:
            assert [len(row) for row in head] == [T] * T
            assert all(sum(row) == pytest.approx(1, abs=1e-3) for row in head)
    assert shots[0].pattern != shots[-1].pattern
    if name == "pronoun":
        assert shots[0].tokens[shots[0].query] == "她"


def test_finished_run_leaves_its_model_with_the_command_and_the_result(
    whole_run: tuple[str, list[Event], Path],
) -> None:
    name, events, folder = whole_run
    assert [path.name for path in folder.iterdir()] == ["model.safetensors"]
    bundle = load(folder)
    assert bundle.note["experiment"] == name
    assert bundle.note["result"] == events[-1].result  # type: ignore[attr-defined]
    assert bundle.note["recipe"] == recipe(name, small(name))
    assert bundle.model.n_params == bundle.note["result"]["n_params"]
    if name == "pronoun":
        measured = pronoun.measure_samples(bundle, pronoun_corpus("person", 0, 100).heldout)
        assert measured.accuracy == bundle.note["result"]["accuracy_heldout"]


def test_same_recipe_gives_the_same_result(whole_run: tuple[str, list[Event], Path]) -> None:
    name, events, _ = whole_run
    with global_generator_untouched():
        again = run(name, small(name))
    assert result_of(again) == result_of(events)
    assert of_kind(Snapshot, again) == of_kind(Snapshot, events)


def asked(events: Iterator[Event], control: Control, request: Any, at: int) -> list[Event]:
    """Let a run go on to step `at`, then ask it for a pause or a stop."""
    seen = []
    for event in events:
        seen.append(event)
        if isinstance(event, StepDone) and event.step == at:
            control.request = request
    return seen


@pytest.mark.parametrize("at", [1, 5])
def test_paused_run_goes_on_to_the_same_result(
    whole_run: tuple[str, list[Event], Path], tmp_path: Path, at: int
) -> None:
    name, whole, _ = whole_run
    control = Control()
    events = EXPERIMENTS[name].run(small(name), tmp_path, control)
    first = asked(events, control, "pause", at)
    assert first[-1] == Paused(at)
    assert {"model.safetensors", "state.safetensors", "state.json"} == {
        path.name for path in tmp_path.iterdir()
    }
    load(tmp_path)
    rest = run(name, small(name), tmp_path, Control(), True)
    assert result_of(rest) == result_of(whole)
    assert of_kind(Snapshot, first) + of_kind(Snapshot, rest) == of_kind(Snapshot, whole)
    steps = of_kind(StepDone, first) + of_kind(StepDone, rest)
    assert [event.step for event in steps] == list(range(1, 8))
    assert [e.loss_nats for e in steps] == [e.loss_nats for e in of_kind(StepDone, whole)]


@pytest.mark.parametrize("name", TRAINERS)
def test_stopped_run_leaves_a_model_that_loads_and_reads(name: str, tmp_path: Path) -> None:
    control = Control()
    events = asked(EXPERIMENTS[name].run(small(name), tmp_path, control), control, "stop", 2)
    assert events[-1] == Stopped(2)
    assert [path.name for path in tmp_path.iterdir()] == ["model.safetensors"]
    bundle = load(tmp_path)
    text = "小明把苹果送给小红，她笑了" if name == "pronoun" else bundle.tokenizer.label(0) * 3
    if text.strip():
        assert read(bundle, text).record.checks()


@pytest.mark.parametrize("name", TRAINERS)
def test_wish_before_the_first_step_is_heard(name: str, tmp_path: Path) -> None:
    control = Control("stop")
    events = run(name, small(name), tmp_path, control)
    assert events[-1] == Stopped(0)
    assert of_kind(StepDone, events) == []
    control = Control("pause")
    assert run(name, small(name), tmp_path, control)[-1] == Paused(0)


@pytest.mark.parametrize("name", TRAINERS)
def test_resuming_from_a_folder_without_a_state_is_refused(name: str, tmp_path: Path) -> None:
    with refused("state_unreadable", RunError):
        run(name, small(name), tmp_path, None, True)


@pytest.mark.parametrize("steps", [59, 61, 178])
def test_snapshots_of_a_run_are_at_most_sixty(steps: int) -> None:
    text = "abcdefghijklmnopqrstuvwxyz"
    params = small("language", own_text=text, steps=steps, window=4, batch_size=1)
    shots = of_kind(Snapshot, run("language", params))
    assert len(shots) <= MAX_SNAPSHOTS == 60
    assert len(shots) > min(steps // 3, 40)
    assert (shots[0].step, shots[-1].step) == (0, steps)
    assert len({shot.step for shot in shots}) == len(shots)


@pytest.mark.parametrize("name", TRAINERS)
def test_a_run_that_diverges_says_so_last_and_leaves_no_model(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = training.loss_nats
    monkeypatch.setattr(training, "loss_nats", lambda *args: honest(*args) * math.inf)
    events = run(name, small(name), tmp_path)
    assert isinstance(events[-1], Diverged)
    assert events[-1].settings["lr"] == small(name).lr
    assert of_kind(StepDone, events) == []
    assert list(tmp_path.iterdir()) == []


OWN_TEXTS = {
    "as short as may be": "abcdefghijklmnopqrst",
    "shorter than the window": "从前有座山，山里有座庙，庙里有个老和尚讲",
    "one character": "啊" * 40,
    "two characters": "啊哦" * 10,
    "emoji": "👨‍👩‍👧😀🇨🇳👍🏽" * 6,
    "begins blank": "    \n\n" * 4 + "def f(x):\n    return x\n",
    "ends blank": "once upon a time there was\n\n\n   ",
    "markup": "<b>$x^2$</b> **bold** `code` &amp; \\n {0} %s",
    "controls": "a\tb\nc\rd " * 4,
    "combining": "e\u0301a\u0308" * 15,
    "half-width": "ｱｲｳ１２３" * 5,
    "right to left": "שלום עולם " * 4,
}


@pytest.mark.parametrize("name", OWN_TEXTS)
def test_any_text_of_ones_own_is_learned(name: str, tmp_path: Path) -> None:
    text = OWN_TEXTS[name]
    events = run("language", small("language", own_text=text, window=32, steps=2), tmp_path)
    result = result_of(events)
    bundle = load(tmp_path)
    assert result["sample"].startswith("".join(bundle.tokenizer.encode(text).labels[:4]))
    assert result["memorised"]
    for event in events:
        json.loads(to_json(event), parse_constant=pytest.fail)


def test_sample_continues_the_prompt_by_the_tokens_asked_for() -> None:
    params = small("language", own_text="to be or not to be", repeat=2, prompt="not")
    text = result_of(run("language", params))["sample"]
    assert text.startswith("not")
    assert len(text) == 3 + language.N_SAMPLE


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"own_text": "abc"}, "text_too_short"),
        ({"own_text": "   \n "}, "text_empty"),
        ({"own_text": "\ud800" * 30}, "text_not_text"),
        ({"own_text": "a" * 1_000_001}, "text_too_long"),
        # What could be trained but not be loaded again.
        ({"own_text": "".join(map(chr, range(0x20000, 0x25000)))}, "too_many_characters"),
        ({"own_text": "ab" * 20 + "\u0301" * 64}, "text_not_text"),
        ({"prompt": "鬱"}, "unknown_characters"),
        ({"text_file": "/nowhere/nothing.txt"}, "text_file_unreadable"),
        ({"text_file": "/"}, "text_file_unreadable"),
        ({"text_file": "a\0b"}, "text_file_unreadable"),
    ],
)
def test_a_text_that_cannot_be_learned_is_refused(values: dict[str, Any], code: str) -> None:
    with refused(code, TextError):
        run("language", small("language", **values))


def test_a_text_file_is_learned(tmp_path: Path) -> None:
    path = tmp_path / "own.txt"
    path.write_bytes("一二三四五六七八九十，上山打老虎。老虎没打到，打到小松鼠。".encode("gb18030"))
    prepared = language.prepare(small("language", text_file=str(path)))
    assert prepared.bundle.tokenizer.encode("老虎").unknown == ()
    assert prepared.bundle.note["private"]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("language", {"own_text": "日记：小明今天把大苹果都拿走了。" * 2, "prompt": "日记"}),
        ("pronoun", {"watch": "小红把日记送给小明，他笑了"}),
    ],
)
def test_note_of_a_model_does_not_carry_what_its_user_wrote(
    name: str, values: dict[str, Any]
) -> None:
    prepare = {"language": language.prepare, "pronoun": pronoun.prepare}[name]
    note = prepare(small(name, **values)).bundle.note
    assert note["private"]
    assert "日记" not in str(note)
    assert set(note["params"]) == set(asdict(small(name)))
    assert not prepare(small(name)).bundle.note["private"]


def test_a_long_text_keeps_its_end_out_of_training() -> None:
    text = "".join(chr(0x4E00 + i % 300) for i in range(2100))
    prepared = language.prepare(small("language", own_text=text, window=8))
    assert prepared.heldout is not None
    seen = len(prepared.trainer.data) + 8  # tokens that training can see
    assert seen == 2100 - 210
    assert len(prepared.heldout) == 211 - 8
    result = result_of(run("language", small("language", own_text=text, window=8)))
    assert result["heldout_loss_nats"] > 0
    assert not result["memorised"]


def test_a_repeated_text_is_split_before_it_is_repeated() -> None:
    """Repeated first, its held-out end would be the training part again."""
    text = "".join(chr(0x4E00 + int(i)) for i in torch.randint(300, (2_100,), generator=rng(0)))
    prepared = language.prepare(small("language", own_text=text, window=8, repeat=3))
    assert prepared.heldout is not None
    assert len(prepared.trainer.data) + 8 == 3 * (2_100 - 210)
    train = {tuple(row) for row in prepared.trainer.data.ids.tolist()}
    assert not any(tuple(row) in train for row in prepared.heldout.ids.tolist())
    assert prepared.heldout_seen == 0
    short = language.prepare(small("language", text="zh", window=8, repeat=10))
    assert short.heldout is None
    result = result_of(run("language", small("language", text="zh", window=8, repeat=10)))
    assert result["memorised"]
    assert result["heldout_loss_nats"] is None


@given(
    train=st.lists(st.integers(0, 2), max_size=30),
    kept_out=st.lists(st.integers(0, 2), max_size=12),
    window=st.integers(1, 4),
)
def test_held_out_windows_that_training_sees_are_counted(
    train: list[int], kept_out: list[int], window: int
) -> None:
    def pieces(ids: list[int]) -> list[tuple[int, ...]]:
        return [tuple(ids[i : i + window + 1]) for i in range(len(ids) - window)]

    seen = sum(piece in pieces(train) for piece in pieces(kept_out))
    assert language.n_seen(train, kept_out, window) == seen


def test_a_periodic_text_of_ones_own_is_reported_as_seen() -> None:
    result = result_of(run("language", small("language", own_text="春夏秋冬" * 600, window=8)))
    assert result["heldout_windows"] == 241 - 8
    assert result["heldout_windows_seen"] == result["heldout_windows"]


def test_each_window_is_learned_once_in_an_epoch() -> None:
    own = {"own_text": "abcdefgh" * 9, "window": 8, "steps": None, "epochs": 2, "batch_size": 10}
    params = small("language", preset="article", **own)
    trainer = language.prepare(params).trainer
    taken: list[torch.Tensor] = []
    take = trainer.data.take
    object.__setattr__(trainer.data, "take", lambda rows: taken.append(rows) or take(rows))
    list(trainer.steps())
    n = len(trainer.data)
    assert n == 64
    assert [len(rows) for rows in taken] == 2 * [10, 10, 10, 10, 10, 10, 4]
    first, second = torch.cat(taken[:7]), torch.cat(taken[7:])
    assert sorted(first.tolist()) == sorted(second.tolist()) == list(range(n))
    assert first.tolist() != second.tolist()


@pytest.mark.parametrize(
    ("values", "remarks"),
    [
        ({"steps": 5, "warmup_steps": 20, "lr": 0.01}, {"warmup_over_steps": 0.0025}),
        ({"steps": 5, "warmup_steps": 5, "lr": 0.01}, {}),
        ({"steps": 2, "warmup_steps": 0, "window": 40}, {"window_shortened": 28}),
    ],
)
def test_settings_that_do_not_act_as_they_were_set_are_reported(
    values: dict[str, Any], remarks: dict[str, float]
) -> None:
    events = run("language", small("language", own_text="abcde" * 6, **values))
    started = events[0]
    assert isinstance(started, Started)
    assert [remark.code for remark in started.remarks] == list(remarks)
    for remark, number in zip(started.remarks, remarks.values(), strict=True):
        assert number in (pytest.approx(x) for x in remark.values.values())
    if "warmup_over_steps" in remarks:
        done = [event.lr for event in events if isinstance(event, StepDone)]
        assert max(done) == pytest.approx(remarks["warmup_over_steps"])


@pytest.mark.parametrize(
    ("name", "values"),
    [("language", {"preset": "quick"}), ("language", {"preset": "article"})]
    + [("pronoun", {"family": family, "n_train": 200}) for family in FAMILIES],
)
def test_an_untrained_tied_model_that_starts_above_ln_v_predicts_what_it_has_just_read(
    name: str, values: dict[str, Any]
) -> None:
    """The sentence under a loss chart says so; here it is measured for every recipe."""
    prepared = {"language": language, "pronoun": pronoun}[name].prepare(
        EXPERIMENTS[name].params(**values)
    )
    model, trainer = prepared.bundle.model.eval(), prepared.trainer
    batch = trainer.data.take(torch.arange(32))
    with torch.no_grad():
        loss = float(training.loss_nats(model, batch))
        own = model(batch.ids).logits.argmax(dim=-1) == batch.ids
    if batch.read_at is not None:  # only there is an answer asked for
        own = own.gather(1, batch.read_at[:, None])
    if loss > math.log(model.config.vocab_size) + 0.5:
        assert float(own.float().mean()) > 0.9


@pytest.mark.parametrize("name", TRAINERS)
def test_a_run_reports_the_loss_of_knowing_nothing(name: str, tmp_path: Path) -> None:
    started = run(name, small(name, steps=1), tmp_path)[0]
    assert isinstance(started, Started)
    assert started.uniform_nats == pytest.approx(math.log(load(tmp_path).tokenizer.vocab_size))


def test_epoch_means_are_by_hand() -> None:
    assert language.epoch_means([1.0, 3.0, 5.0, 7.0, 10.0], 2) == [2.0, 6.0, 10.0]


@pytest.mark.parametrize(
    ("result", "code"),
    [
        ((0.2, 0.1, 0.2), "learned_by_heart"),
        ((6.9, 0.1, 0.03), "looks_ahead"),
        ((2.0, 0.1, 2.0), "not_learned_yet"),
        ((2.0, None, 2.0), "not_learned_yet"),
    ],
)
def test_verdict_of_language_is_chosen_by_what_was_measured(
    result: tuple[float | None, ...], code: str
) -> None:
    names = ("prefix_only_loss_nats", "floor_nats", "final_loss_nats")
    verdict = language.verdict(some(language.Result, **dict(zip(names, result, strict=True))))
    assert (verdict.code, verdict.passed) == (code, code == "learned_by_heart")


@pytest.mark.parametrize(
    ("accuracy", "without", "alone", "code"),
    [
        (1.0, 0.12, 1.0, "learned_direct"),
        (1.0, 0.95, 0.1, "learned_by_detour"),
        (1.0, 0.95, 0.95, "learned_both_ways"),
        (1.0, 0.5, 0.5, "learned_by_two_routes"),
        (0.5, 0.0, 0.5, "not_learned"),
    ],
)
def test_verdict_of_pronoun_is_chosen_by_what_was_measured(
    accuracy: float, without: float, alone: float, code: str
) -> None:
    result = some(
        pronoun.Result,
        accuracy_heldout=accuracy,
        accuracy_without_direct=without,
        accuracy_direct_alone=alone,
        attention_on_antecedent=[[0.1, 0.1], [0.2, 0.3]],  # a spread row is no detour
    )
    verdict = pronoun.verdict(result)
    assert (verdict.code, verdict.passed) == (code, code != "not_learned")
    assert verdict.values["layer"] == 2
    for lang in ("zh", "en"):
        assert f"{accuracy:.1%}" in translator(lang, "train")(f"verdict.{code}", **verdict.values)


@pytest.mark.parametrize("name", ["fit_bidirectional", "person", "street", "swap", "verb"])
def test_every_shipped_pronoun_model_is_direct_by_the_experiment(name: str) -> None:
    bundle = shipped(name)
    samples = list(pronoun_corpus(bundle.note["params"]["family"], 5, 60, 40).heldout)
    found = pronoun.measure_routes(bundle, samples)
    one_by_one = []
    for sample in samples:
        encoding = bundle.tokenizer.encode_words(sample.words)  # type: ignore[union-attr]
        meant = [i for i, word in enumerate(sample.words) if word == sample.target]
        target = encoding.ids[sample.antecedent]
        one_by_one.append(answer_routes(bundle.model, encoding.ids, sample.position, target, meant))
    assert found.route == "direct"
    assert found.direct_alone == sum(r.holds_direct_alone for r in one_by_one) / 40
    assert found.without_direct == sum(r.holds_without_direct for r in one_by_one) / 40


def test_samples_are_padded_on_the_right_and_asked_at_the_pronoun() -> None:
    corpus = pronoun_corpus("fit", 0, 30, 1)
    tokenizer = WordTokenizer(corpus.words, 16, corpus.classes)
    data = pronoun.encode_samples(corpus.train, tokenizer)
    asked_all = pronoun.encode_samples(corpus.train, tokenizer, "all")
    assert data.lengths is not None
    assert data.read_at is not None
    assert asked_all.read_at is None
    for i, sample in enumerate(corpus.train):
        n = len(sample.words)
        ids = data.ids[i].tolist()
        assert tokenizer.decode(ids[:n]) == "".join(sample.words)
        assert ids[n:] == [0] * (len(ids) - n)
        assert data.lengths[i] == n
        assert sample.words[data.read_at[i]] == "它"
        assert tokenizer.label(int(data.targets[i, 0])) == sample.target
        wanted = [*ids[1:n], -100] + [-100] * (len(ids) - n)
        wanted[sample.position] = int(data.targets[i, 0])
        assert asked_all.targets[i].tolist() == wanted


def test_measured_mass_and_accuracy_are_those_of_the_sentences_one_by_one() -> None:
    params = small("pronoun", n_layer=2)
    prepared = pronoun.prepare(params)
    samples = prepared.tests["heldout"][:40]
    measured = pronoun.measure_samples(prepared.bundle, samples)
    right, mass = 0, 0.0
    for sample in samples:
        reading = read(prepared.bundle, "".join(sample.words), sample.position)
        right += reading.answer.word == sample.target
        mass = mass + reading.record.pattern[:, :, sample.position, sample.antecedent]
    assert measured.accuracy == right / 40
    assert measured.mass == pytest.approx(mass / 40, abs=1e-5)
    assert measured.mass.shape == (2, 2)


def test_spare_rows_are_redrawn_at_the_end() -> None:
    prepared = pronoun.prepare(small("pronoun"))
    weights = prepared.bundle.model.embedding.weight
    before = weights.detach().clone()
    pronoun.redraw_spare_rows(prepared.bundle, 0)
    changed = (weights != before).any(dim=1).nonzero().flatten().tolist()
    assert isinstance(prepared.bundle.tokenizer, WordTokenizer)
    assert changed == list(prepared.bundle.tokenizer.spare_ids)


def test_finished_pronoun_model_has_fresh_spare_rows(
    whole_run: tuple[str, list[Event], Path],
) -> None:
    name, _, folder = whole_run
    if name == "pronoun":
        bundle = load(folder)
        assert isinstance(bundle.tokenizer, WordTokenizer)
        rows = bundle.model.embedding.weight[bundle.tokenizer.spare_ids.start :]
        std = bundle.model.config.embedding_std
        assert torch.equal(rows, torch.empty(16, 8).normal_(0, std, generator=rng(1)))


def test_a_watched_sentence_of_ones_own_is_watched() -> None:
    params = small("pronoun", watch="小红把<b>哈密瓜</b>送给小明，他笑了", steps=1)
    shots = of_kind(Snapshot, run("pronoun", params))
    assert "哈密瓜" in shots[0].tokens
    assert shots[0].tokens[shots[0].query] == "他"


@pytest.mark.parametrize(
    ("watch", "code"),
    [("  ", "text_empty"), ("苹果" * 129, "text_over_block"), ("\ud800", "text_not_text")],
)
def test_a_sentence_that_cannot_be_watched_is_refused(watch: str, code: str) -> None:
    with refused(code, TextError):
        run("pronoun", small("pronoun", watch=watch))


def test_an_untrained_model_is_a_run_of_no_steps(tmp_path: Path) -> None:
    events = run("pronoun", small("pronoun", steps=0), tmp_path)
    assert of_kind(StepDone, events) == []
    assert result_of(events)["final_loss_nats"] is None
    assert load(tmp_path).note["result"]["steps"] == 0


def test_measurements_are_made_while_it_learns() -> None:
    events = run("language", small("language", steps=41))
    assert [event.step for event in of_kind(Evaluated, events)] == [0, 40, 41]


@pytest.mark.parametrize("name", TRAINERS)
def test_a_run_that_ends_worse_than_it_began_is_told_that_the_loss_rose(name: str) -> None:
    rising = run(name, small(name, lr=10.0, optimizer="adam", schedule="constant", steps=20))[-1]
    assert isinstance(rising, Finished)
    assert rising.verdict["code"] == "loss_rose"
    assert rising.verdict["values"]["last"] > rising.verdict["values"]["first"]
    falling = run(name, small(name))[-1]
    assert isinstance(falling, Finished)
    assert falling.verdict["code"] != "loss_rose"
