"""The command line: JSON that a program can read, and one line for each mistake of a user."""

import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
import torch

from owi_core import checkpoints
from owi_core.__main__ import EXIT_USER, main, sentence
from owi_core.assets import ASSETS
from owi_core.checkpoints import load, save, to_bytes
from owi_core.errors import SettingError, TextError
from owi_core.experiments import EXPERIMENTS, parameters
from tests.tiny import character_bundle, word_bundle

TEXT = "小明把苹果放在桌子上，小红拿走了它"
SMALL = ("d_model=8", "n_head=2", "d_mlp=8", "n_layer=1", "batch_size=4", "steps=2")
PRONOUN = ("run", "pronoun", "--set", "family=person", "--set", "n_train=100")
LANGUAGE = ("run", "language", "--set", "window=8")


def settings(*pairs: str) -> list[str]:
    return [word for pair in pairs for word in ("--set", pair)]


@pytest.fixture(scope="session")
def shipped_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    save(word_bundle(), folder / "swap")
    save(word_bundle(seed=1), folder / "verb")
    save(character_bundle(), folder / "language")
    return folder


@pytest.fixture(autouse=True)
def _tiny_shipped_models(shipped_models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "SHIPPED", shipped_models)


class Console:
    """Runs a command in this process and reads what it printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def lines(self, *arguments: str, code: int = 0) -> list[str]:
        threads = torch.get_num_threads()
        assert main(arguments) == code
        torch.set_num_threads(threads)
        out, err = self._capsys.readouterr()
        assert err == ""
        return out.splitlines()  # type: ignore[no-any-return]

    def values(self, *arguments: str) -> dict[str, Any]:
        (line,) = self.lines(*arguments)
        return loaded(line)

    def complaint(self, *arguments: str) -> str:
        """The one line that a user's mistake is answered with."""
        assert main(arguments) == 2
        out, err = self._capsys.readouterr()
        assert out == ""
        assert err.endswith("\n")
        (line,) = err.splitlines()
        assert "{" not in line
        assert "Traceback" not in line
        return line  # type: ignore[no-any-return]


def loaded(line: str) -> dict[str, Any]:
    return json.loads(line, parse_constant=pytest.fail)  # type: ignore[no-any-return]


@pytest.fixture
def console(capsys: pytest.CaptureFixture[str]) -> Console:
    return Console(capsys)


def test_list_names_every_parameter_with_default_range_and_meaning(console: Console) -> None:
    text = "\n".join(console.lines("list"))
    for name, experiment in EXPERIMENTS.items():
        assert name in text
        for p in parameters(experiment.params):
            line = next(line for line in text.splitlines() if line.startswith(f"  {p.name} = "))
            assert p.meaning in text
            assert "(" in line
    assert "seed = 0  (0 … 2147483647)" in text
    assert "mask = 'causal'  (causal, bidirectional)" in text


def test_run_pronoun_ends_with_all_that_was_promised(console: Console) -> None:
    lines = [loaded(line) for line in console.lines(*PRONOUN, *settings(*SMALL))]
    assert lines[0]["event"] == "started"
    last = lines[-1]
    assert last["event"] == "finished"
    assert last["experiment"] == "pronoun"
    assert last["params"]["family"] == "person"
    assert last["params"]["d_model"] == 8
    assert set(last["result"]) >= {
        "accuracy_heldout", "accuracy_heldout_structure", "attention_on_antecedent",
        "accuracy_unseen_words", "n_params", "steps", "train_seconds", "final_loss_nats",
    }  # fmt: skip
    ((first_head, second_head),) = last["result"]["attention_on_antecedent"]
    assert 0 <= first_head <= 1
    assert 0 <= second_head <= 1
    assert set(last["verdict"]) == {"code", "passed", "values"}


def test_run_language_ends_with_all_that_was_promised(console: Console) -> None:
    lines = [loaded(line) for line in console.lines(*LANGUAGE, *settings(*SMALL, "text=en"))]
    last = lines[-1]
    assert (last["event"], last["experiment"]) == ("finished", "language")
    result = last["result"]
    assert {"epoch_loss_nats", "prefix_only_loss_nats", "n_params", "sample"} <= set(result)
    assert isinstance(result["epoch_loss_nats"], list)
    assert isinstance(result["sample"], str)


def test_article_preset_runs_on_a_text_file(console: Console, tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("abcdefghijklmnopqrstuvwxy", encoding="utf-8")
    pairs = ("preset=article", f"text_file={path}", "steps=1", "batch_size=1", "window=8")
    last = loaded(console.lines("run", "language", *settings(*pairs))[-1])
    assert last["result"]["n_params"] == 400_896


def test_run_saves_the_model_in_the_folder_that_was_named(console: Console, tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "文件夹"
    console.lines(*LANGUAGE, *settings(*SMALL), "--save", str(folder))
    assert load(folder).note["experiment"] == "language"
    values = console.values("generate", "--model", str(folder), "--prompt", "山", "--seed", "1")
    assert len(values["tokens"]) == 50


def test_attend_prints_one_object_with_all_that_was_promised(console: Console) -> None:
    values = console.values("attend", "--text", TEXT)
    assert values["tokens"][-1] == "它"
    assert values["query"] == {"index": 10, "token": "它"}
    assert len(values["pattern"]) == 2
    assert len(values["row"][0][0]) == 11
    for name in ("answer", "knock_out", "knock_out_control", "checks", "unknown_words"):
        assert name in values
    assert 0 <= values["answer"]["probability"] <= 1
    assert all(check["passed"] for check in values["checks"])


def test_attend_takes_a_chinese_query_and_a_model_by_name_or_folder(
    console: Console, shipped_models: Path
) -> None:
    for model in ("swap", str(shipped_models / "swap")):
        values = console.values("attend", "--text", TEXT, "--query", "苹果", "--model", model)
        assert values["query"] == {"index": 2, "token": "苹果"}


def test_the_model_is_chosen_by_the_text_when_none_is_named(console: Console) -> None:
    wipe = "小明把苹果放在桌子上，小红擦净了它"
    by_text = console.values("attend", "--text", wipe)
    assert by_text == console.values("attend", "--text", wipe, "--model", "verb")
    assert by_text != console.values("attend", "--text", wipe, "--model", "swap")


def test_compare_prints_both_readings_and_their_difference(console: Console) -> None:
    other = TEXT.replace("苹果", "杯子")
    values = console.values("compare", "--a", TEXT, "--b", other, "--query", "它")
    assert values["a"]["text"] == TEXT
    assert values["b"]["text"] == other
    difference = values["row_difference"]
    assert len(difference) == 2
    assert sum(difference[0]) == pytest.approx(0, abs=1e-5)


def test_generate_prints_the_continuation_and_each_probability(console: Console) -> None:
    command = ("generate", "--prompt", "注意", "--temperature", "0.7", "--seed", "3")
    values = console.values(*command, "--max-new-tokens", "6", "--top-k", "3")
    assert values["prompt"] == "注意"
    assert values["continuation"] == "".join(token["token"] for token in values["tokens"])
    assert len(values["tokens"]) == 6
    assert all(0 < token["probability"] <= 1 for token in values["tokens"])
    assert values == console.values(*command, "--max-new-tokens", "6", "--top-k", "3")
    anew = console.values(*command, "--max-new-tokens", "6", "--top-k", "3", "--no-cache")
    assert anew["continuation"] == values["continuation"]
    assert [token["u"] for token in anew["tokens"]] == [token["u"] for token in values["tokens"]]


def test_a_decimal_comma_is_read_as_a_point(console: Console) -> None:
    started = json.loads(console.lines(*PRONOUN, *settings(*SMALL, "lr=0,003"))[0])
    assert started["params"]["lr"] == 0.003
    texts = [
        console.values("generate", "--prompt", "a", "--temperature", typed)["continuation"]
        for typed in ("0,3", "0.3")
    ]
    assert texts[0] == texts[1]


MISTAKES: dict[str, tuple[tuple[str, ...], str]] = {
    "no command": ((), "--help"),
    "unknown command": (("fly",), "fly"),
    "unknown option": (("list", "--fast"), "--fast"),
    "unknown experiment": (("run", "nothing"), "pronoun"),
    "no experiment": (("run",), "experiment"),
    "unknown setting": (("run", "pronoun", "--set", "speed=3"), "speed"),
    "no value": (("run", "pronoun", "--set", "seed"), "NAME=VALUE"),
    "empty value": (("run", "pronoun", "--set", "seed="), "seed"),
    "no number": (("run", "pronoun", "--set", "steps=many"), "many"),
    "no whole number": (("run", "pronoun", "--set", "steps=2.5"), "2.5"),
    "two marks in a number": (("generate", "--prompt", "a", "--top-p", "0,5,"), "0,5,"),
    "not a number": (("run", "pronoun", "--set", "lr=nan"), "lr"),
    "out of range": (("run", "pronoun", "--set", "n_layer=7"), "between 1 and 6, and it is 7"),
    "no such choice": (("run", "pronoun", "--set", "family=cat"), "swap"),
    "heads do not divide": ((*PRONOUN, *settings("d_model=8", "n_head=3")), "divisible"),
    "scale too large": ((*PRONOUN, *settings("d_model=8", "n_head=2", "embedding_scale=9")), "9"),
    "neither yes nor no": (("run", "pronoun", "--set", "tie_weights=maybe"), "true, false"),
    "line break in a name": (("run", "pronoun", "--set", "a\nb=1"), "a b"),
    "braces in a name": (("run", "[x]%s$1"), "[x]%s$1"),
    "unknown text": (("run", "language", "--set", "text=fr"), "zh"),
    "text too short": (("run", "language", "--set", "own_text=abc"), "20"),
    "no text file": (("run", "language", "--set", "text_file=/nowhere/x.txt"), "x.txt"),
    "folder as text file": (("run", "language", "--set", "text_file=/"), "read"),
    "missing text": (("attend",), "--text"),
    "blank text": (("attend", "--text", "  "), "at least one"),
    "empty text": (("attend", "--text", ""), "at least one"),
    "text too long": (("attend", "--text", "苹果" * 65), "65"),
    "far too long": (("attend", "--text", "苹果" * 2000), "2000"),
    "query not there": (("attend", "--text", TEXT, "--query", "梨"), "梨"),
    "unknown model": (("attend", "--text", TEXT, "--model", "nothing"), "language, swap, verb"),
    "folder without model": (("attend", "--text", TEXT, "--model", "/"), "model.safetensors"),
    "missing sentence": (("compare", "--a", TEXT), "--b"),
    "blank sentence": (("compare", "--a", TEXT, "--b", "\n"), "at least one"),
    "missing prompt": (("generate",), "--prompt"),
    "empty prompt": (("generate", "--prompt", ""), "at least one"),
    "unknown character": (("generate", "--prompt", "鬱"), "鬱"),
    "temperature too high": (("generate", "--prompt", "注", "--temperature", "99"), "temperature"),
    "temperature no number": (("generate", "--prompt", "注", "--temperature", "hot"), "hot"),
    "temperature nan": (("generate", "--prompt", "注", "--temperature", "nan"), "temperature"),
    "top-p of nothing": (("generate", "--prompt", "注", "--top-p", "0"), "top_p"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_answered_by_one_line_that_names_it(name: str, console: Console) -> None:
    arguments, named = MISTAKES[name]
    line = console.complaint(*arguments)
    assert named in line
    assert line.endswith((".", "NAME=VALUE. See python -m owi_core --help."))


def test_a_binary_file_is_no_text(console: Console, tmp_path: Path) -> None:
    path = tmp_path / "picture.txt"
    path.write_bytes(bytes(range(256)) * 4)
    assert "plain text" in console.complaint(*LANGUAGE, *settings(f"text_file={path}")).lower()
    path.write_bytes(b"")
    assert "at least one" in console.complaint(*LANGUAGE, *settings(f"text_file={path}"))
    path.write_bytes(b"a" * 1_000_001)
    assert "1000001" in console.complaint(*LANGUAGE, *settings(f"text_file={path}"))


def test_a_spoiled_model_is_no_model(console: Console, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(to_bytes(word_bundle())[:-9])
    command = ("attend", "--text", TEXT, "--model", str(tmp_path))
    assert "cannot be read" in console.complaint(*command)


def test_a_folder_that_cannot_be_made_is_refused_before_the_training(
    console: Console, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "inside"):
        line = console.complaint(*LANGUAGE, *settings(*SMALL), "--save", str(folder))
        assert str(folder) in line


def test_a_run_that_diverges_ends_with_1(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    from owi_core import training

    honest = training.loss_nats
    monkeypatch.setattr(training, "loss_nats", lambda *args: honest(*args) * float("nan"))
    lines = console.lines(*LANGUAGE, *settings(*SMALL), code=1)
    last = loaded(lines[-1])
    assert last["event"] == "diverged"
    assert last["remedy"]
    assert last["settings"]["lr"] > 0


def test_interrupt_ends_with_130(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    from owi_core import readings

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(readings, "read", interrupted)
    assert console.lines("attend", "--text", TEXT, code=130) == []


def test_sentence_of_an_error_is_one_line_even_where_none_was_written() -> None:
    assert sentence(SettingError("no_such_code", name="a\nb")) == "no_such_code: name=a b"
    assert sentence(TextError("text_over_block")) == "text_over_block"  # its values are missing
    assert sentence(SettingError("setting_out_of_range", name="x", value=1, low=None, high=2))


def python(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [sys.executable, "-m", "owi_core", *arguments],
        capture_output=True,
        cwd=ASSETS.parent,
        env=os.environ | environment,
        timeout=120,
        check=False,
    )


def test_a_real_process_prints_utf8_whatever_the_terminal_speaks(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/\xff.txt"  # a file name that is no text
    text = "山下有一棵大树，树上有一只小鸟。小鸟在唱歌。"
    Path(os.fsdecode(name)).write_text(text, encoding="utf-8")
    pairs = (*SMALL, "window=4", f"text_file={os.fsdecode(name)}")
    done = python("run", "language", *settings(*pairs), PYTHONIOENCODING="ascii")
    assert done.stderr == b""
    assert done.returncode == 0
    last = loaded(done.stdout.decode("utf-8").splitlines()[-1])
    assert last["event"] == "finished"
    assert last["result"]["sample"].startswith("山下有一")


def test_a_real_process_answers_a_mistake_with_2_and_one_line() -> None:
    done = python("attend", "--text", " ", "--model", "没有", PYTHONIOENCODING="ascii")
    assert done.returncode == 2
    assert done.stdout == b""
    assert len(done.stderr.decode("utf-8").splitlines()) == 1


def test_a_reader_that_has_gone_is_no_mistake() -> None:
    command = [sys.executable, "-m", "owi_core", "list"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ASSETS.parent
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 0


def test_what_was_typed_steers_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["attend", "--text", "它", "--query", "\x1b[31mx\x9b"]) == EXIT_USER
    assert "\\u001b[31mx\\u009b" in capsys.readouterr().err
    assert main(["generate", "--prompt", "\x9ba", "--max-new-tokens", "1"]) == 0
    out = capsys.readouterr().out
    assert not [c for c in out.strip() if unicodedata.category(c) == "Cc"]
    assert json.loads(out)["prompt"] == "\x9ba"
