"""Lessons: a file gives a lesson or a line and a reason, and what is said follows what came out."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from owi_core.checkpoints import shipped
from owi_core.errors import LessonError, OwiError
from owi_core.measures import MEASURES, Measured
from pages._ui.base import i18n, links
from pages._ui.base.i18n import catalog, error_text
from pages._ui.lessons import bar
from pages._ui.lessons import catalog as lessons
from pages._ui.lessons.check import main as check
from pages._ui.lessons.file import MOST_BYTES, Lesson, load, parse
from pages._ui.lessons.lines import Lines
from tests.house.source import ROOT
from tests.pages_under_test import SHARE, calm, opened, told

PAGES = lessons.page_names()
NAMES = sorted(path.stem for path in (lessons.SHIPPED / "zh").glob("*.toml"))
SOUND = """version = 1
title = "A lesson"
about = "About it"

[[step]]
page = "rows"
view = { pair = "nouns" }
text = '''
[[step]]
page = "no table: these are words"
'''
ask = "Which?"
measure = { name = "answer", model = "swap", text = "小明把苹果放在桌子上，小红拿走了它" }

[[step.choice]]
text = "the table"
means = "桌子"

[[step.choice]]
text = "the cup"
means = "杯子"

[[step]]
page = "masking"
text = "The end"
"""


def parsed(text: str) -> Lesson:
    return parse(text.encode(), "lesson.toml", PAGES)


# Files


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_lesson_is_the_same_in_both_languages(name: str) -> None:
    zh, en = (load(lessons.SHIPPED / lang / f"{name}.toml", PAGES) for lang in i18n.LANGUAGES)
    assert zh.order == en.order
    for ours, theirs in zip(zh.steps, en.steps, strict=True):
        assert (ours.page, ours.view) == (theirs.page, theirs.view)
        assert (ours.question is None) == (theirs.question is None)
        if ours.question and theirs.question:
            assert ours.question.measure == theirs.question.measure
            assert ours.question.values == theirs.question.values
            means = [[c.means for c in step.choices] for step in (ours.question, theirs.question)]
            assert means[0] == means[1]


def test_four_lessons_are_shipped_in_both_languages() -> None:
    assert {"gaze", "mask", "tying", "connections"} <= set(NAMES)
    assert sorted(path.stem for path in (lessons.SHIPPED / "en").glob("*.toml")) == NAMES


FAULTS = [
    ("version = 1", "version = 2", "lesson_version", 1),
    ('about = "About it"\n', "", "lesson_missing_key", 1),
    ('title = "A lesson"', "title = 3", "lesson_needs_str", 2),
    ('title = "A lesson"', 'title = "A lesson', "lesson_toml", 2),
    ('title = "A lesson"', "title = 2026-11-30", "lesson_needs_str", 2),
    ('title = "A lesson"', 'title = " "', "lesson_length", 2),
    ('title = "A lesson"', 'title = "A lesson"\norder = true', "lesson_needs_int", 3),
    ("version = 1", "version = true", "lesson_needs_int", 1),
    ('name = "answer", ', "", "lesson_missing_key", 13),
    ('text = "小明', 'layer = "1", text = "小明', "lesson_unknown_key", 13),
    ("ask =", "step = 1\nask =", "lesson_unknown_key", 12),
    ('page = "rows"', 'page = "rowz"', "lesson_no_such", 6),
    ('view = { pair = "nouns" }', 'view = { lesson = "x" }', "lesson_view", 7),
    ('view = { pair = "nouns" }', "view = 1", "lesson_needs_dict", 7),
    ('ask = "Which?"\n', "", "lesson_missing_key", 5),
    ('name = "answer"', 'name = "anser"', "lesson_no_such", 13),
    ('model = "swap"', "model = 1", "lesson_needs_str", 13),
    ('model = "swap"', 'modal = "swap"', "lesson_unknown_key", 13),
    ('means = "杯子"', 'means = "桌子"', "lesson_twice", 21),
    ('means = "杯子"', 'right = "杯子"', "lesson_unknown_key", 21),
    ('means = "杯子"\n', "", "lesson_missing_key", 19),
    ('[[step.choice]]\ntext = "the cup"\nmeans = "杯子"\n', "", "lesson_count", 15),
    ('text = "The end"', 'text = ""', "lesson_length", 25),
    ('text = "The end"', 'text = "The end"\nextra = 1', "lesson_unknown_key", 26),
    ('text = "The end"', f'text = "{"x" * 3000}"', "lesson_length", 25),
]


def test_the_lesson_that_is_broken_below_is_sound() -> None:
    lesson = parsed(SOUND)
    assert [step.page for step in lesson.steps] == ["rows", "masking"]
    assert lesson.steps[0].view == {"pair": "nouns"}


@pytest.mark.parametrize(("old", "new", "code", "line"), FAULTS)
def test_a_fault_is_told_with_its_line(old: str, new: str, code: str, line: int) -> None:
    assert SOUND.count(old) == 1
    with pytest.raises(LessonError) as failed:
        parsed(SOUND.replace(old, new))
    assert (failed.value.code, failed.value.values["line"]) == (code, line)
    for lang in i18n.LANGUAGES:
        assert "lesson\\.toml" in error_text(lang, failed.value)
        assert str(line) in error_text(lang, failed.value)


def test_an_outcome_that_cannot_come_is_a_fault() -> None:
    cut = SOUND.replace('name = "answer"', 'name = "cut", word = "苹果"')
    with pytest.raises(LessonError) as failed:
        parsed(cut)
    assert failed.value.values["choices"] == list(MEASURES["cut"].outcomes)
    assert failed.value.values["line"] == 17


def test_bytes_that_are_no_text_and_files_too_large_are_refused() -> None:
    with pytest.raises(LessonError) as failed:
        parse(b"version = 1\ntitle = '\xff'", "x.toml", PAGES)
    assert failed.value.values["line"] == 2
    with pytest.raises(LessonError, match="lesson_too_large"):
        parse(b"#" * (MOST_BYTES + 1), "x.toml", PAGES)


def gives_a_lesson_or_an_error(data: bytes) -> None:
    line = 1
    try:
        assert isinstance(parse(data, "x.toml", PAGES), Lesson)
    except LessonError as error:
        line = error.values["line"]
    assert 1 <= line <= data.count(b"\n") + 2


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda s: s.encode("utf-8", "ignore")))
def test_any_file_gives_a_lesson_or_an_error(data: bytes) -> None:
    gives_a_lesson_or_an_error(data)


@given(
    st.integers(0, len(SOUND)), st.integers(0, 60), st.text("[]{}=\"'\\.#\n step1-", max_size=12)
)
def test_a_lesson_cut_and_patched_gives_a_lesson_or_an_error(at: int, n: int, more: str) -> None:
    gives_a_lesson_or_an_error((SOUND[:at] + more + SOUND[at + n :]).encode())


@pytest.mark.parametrize(
    "text",
    ["a = " + "[" * 50_000, "a" + ".a" * 40_000 + " = 1", "[" + '"b" . ' * 15_000 + "c]",
     "x = { a" + ".a" * 40_000 + " = 1 }", "[[step]]\n" * 11_000, 'a = """' + '\\"""' * 20_000],
)  # fmt: skip
def test_what_is_nested_too_deep_is_an_error(text: str) -> None:
    with pytest.raises(LessonError):
        parsed(text)


def test_lines_are_those_of_tables_and_not_of_words_in_strings() -> None:
    lines = Lines(SOUND)
    assert lines.of(("step", 0, "ask")) == 12
    assert lines.of(("step", 0, "choice", 1, "means")) == 21
    assert lines.of(("step", 1, "page")) == 24
    assert lines.of(("nowhere",)) == 1


@pytest.mark.parametrize("name", ["lessons.md", "lessons.zh.md"])
def test_the_lesson_that_the_document_shows_is_valid(name: str) -> None:
    text = (lessons.SHIPPED.parents[1] / "docs" / name).read_text(encoding="utf-8")
    lesson = parsed(text.partition("```toml\n")[2].partition("```")[0])
    assert lesson.steps[0].question is not None


# What there is


def test_a_teachers_folder_lies_beside_the_shipped_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "zh").mkdir()
    (tmp_path / "zh" / "mine.toml").write_text(SOUND, encoding="utf-8")
    (tmp_path / "zh" / "broken.toml").write_text("version = ", encoding="utf-8")
    (tmp_path / "zh" / "No Name.toml").write_text(SOUND, encoding="utf-8")
    monkeypatch.setenv("OWI_LESSONS", str(tmp_path))
    found = dict(lessons.available("en"))
    assert {"mine", "broken", *NAMES} == set(found)
    assert isinstance(found["mine"], Lesson)
    assert isinstance(found["broken"], LessonError)


@pytest.mark.parametrize("name", ["nothing", "../zh/gaze", "/etc/passwd", "", "zh/gaze"])
def test_no_path_leads_to_a_lesson(name: str) -> None:
    with pytest.raises(LessonError, match="lesson_unknown"):
        lessons.lesson(name, "zh")


def test_a_teacher_can_check_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text(SOUND, encoding="utf-8")
    bad.write_text(SOUND.replace("rows", "rowz"), encoding="utf-8")
    assert check([str(good)]) == 0
    assert "苹果" in capsys.readouterr().out  # none of the choices, and it says so
    assert check([str(good), str(bad)]) == 2
    assert "6" in capsys.readouterr().err


@pytest.mark.parametrize("module", ["pages._ui.lesson_check", "pages._ui.lessons.check"])
def test_a_lesson_is_checked_under_both_names(module: str, tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text(SOUND.replace("rows", "rowz"), encoding="utf-8")
    command = [sys.executable, "-m", module, str(bad)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "rowz" in done.stderr


# Measures


def test_each_measure_has_its_sentence() -> None:
    for lang in i18n.LANGUAGES:
        words = {key for key in catalog(lang, "lessons") if key.startswith("measured.")}
        assert words == {f"measured.{name}" for name in MEASURES}


@pytest.mark.parametrize("name", NAMES)
def test_each_question_of_a_shipped_lesson_has_the_choice_that_comes_out(name: str) -> None:
    for step in load(lessons.SHIPPED / "zh" / f"{name}.toml", PAGES).steps:
        if step.question is not None:
            found = bar.measured(step.question)
            right = step.question.of_outcome(found.outcome)
            assert right is not None
            assert step.question.choices[right].reveal


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("answer", {"model": "none", "text": "小明把苹果放在桌子上"}),
        ("answer", {"model": "swap", "text": ""}),
        ("looks_at", {"model": "swap", "text": "小明笑了", "layer": 9}),
        ("cut", {"model": "swap", "text": "小红拿走了它", "word": "山"}),
        ("rows", {"model": "swap", "text": "小红拿走了它", "other": "它"}),
        ("leak", {"model": "language", "text": "小鸟", "mask": "x"}),
        ("matrices", {"model": "swap", "case": "x"}),
        ("touch", {"model": "swap", "text": "小红拿走了它", "word": "zzz"}),
        ("reaches", {"kind": "x", "text": "小红拿走了它"}),
        ("mixing", {"kind": "cnn", "text": "小红拿走了它", "other": "小红"}),
    ],
)
def test_what_cannot_be_measured_is_told(name: str, values: dict[str, object]) -> None:
    with pytest.raises(OwiError) as failed:
        MEASURES[name].take(values, shipped)
    for lang in i18n.LANGUAGES:
        error_text(lang, failed.value)


# On the page


def test_a_lesson_predicts_reveals_goes_on_and_sums_up() -> None:
    app = calm(opened("home", lesson="mask"))
    assert app.query_params["pair"] == "fit_causal"
    assert app.button(key="owi.lesson.reveal").disabled
    assert catalog("zh", "lessons")["covered"] in told(app)
    assert not app.selectbox
    app.radio[0].set_value(0).run()
    app.button(key="owi.lesson.reveal").click().run()
    assert app.query_params["said"] == "0"
    assert catalog("zh", "lessons")["wrong"] in app.warning[0].value
    app.button(key="owi.lesson.next").click().run()
    assert (app.query_params["at"], app.query_params["pair"]) == ("2", "fit_bidirectional")
    app.radio[0].set_value(0).run()
    app.button(key="owi.lesson.reveal").click().run()
    assert catalog("zh", "lessons")["right"] in app.success[0].value
    app.button(key="owi.lesson.back").click().run()
    assert catalog("zh", "lessons")["wrong"] in app.warning[0].value
    end = calm(opened("home", lesson="mask", at="99", said="00"))
    assert catalog("zh", "lessons")["summary"].format(right=1, n=4) in told(end)
    end.button(key="owi.lesson.again").click().run()
    assert end.query_params["at"] == "1"
    assert "said" not in end.query_params


def test_the_verdict_follows_what_came_out(monkeypatch: pytest.MonkeyPatch) -> None:
    told_now = {"query": "它", "layer": 2}
    monkeypatch.setattr(bar, "_measured", lambda *_: Measured("桌子", 0.6, told_now))
    app = calm(opened("home", lesson="gaze", said="1"))
    assert "0.60" in app.warning[0].value
    assert catalog("zh", "lessons")["wrong"] in app.warning[0].value
    monkeypatch.setattr(bar, "_measured", lambda *_: Measured("天", 0.6, told_now))
    app = calm(opened("home", lesson="gaze", said="1"))
    assert catalog("zh", "lessons")["neither"] in app.warning[0].value


@pytest.mark.parametrize("name", NAMES)
def test_the_view_of_each_step_is_one_that_the_page_knows(name: str) -> None:
    lesson = lessons.lesson(name, "zh")
    views = {(step.page, *sorted(step.view.items())): step.view for step in lesson.steps}
    for (page, *_), view in views.items():
        app = calm(opened(page, **view))
        lines = [caption.value for caption in app.caption if caption.value.startswith(SHARE)]
        assert lines == []


def test_an_unknown_lesson_is_told_and_the_lab_stays() -> None:
    app = calm(opened("rows", lesson="nothing"))
    assert "nothing" in app.error[0].value
    assert "苹果" in told(app)


@pytest.mark.parametrize(
    "params",
    [{"lesson": "../x"}, {"at": "3"}, {"hide": "all"}, {"teach": "yes"}, {"said": "x"}],
)
def test_what_makes_no_sense_of_a_lesson_is_told_as_ignored(params: dict[str, str]) -> None:
    assert links.read(params).ignored == tuple(params)
    assert links.teaching(params) == {}


def test_teaching_mode_keeps_away_what_is_not_for_a_class() -> None:
    usual, class_ = opened("rows"), calm(opened("rows", teach="1", hide="controls"))
    assert catalog("zh", "common")["further.title"] in [e.label for e in usual.expander]
    assert catalog("zh", "common")["further.title"] not in [e.label for e in class_.expander]


def test_lessons_are_found_on_the_home_page() -> None:
    text = told(opened("home"))
    for name in NAMES:
        assert lessons.lesson(name, "zh").about in text
