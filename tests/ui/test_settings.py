"""The server's settings: what each variable does, and that a wrong one harms nobody."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from owi_core.errors import LessonError
from pages._ui.base import access, settings
from pages._ui.base.entries import listed_entries
from pages._ui.base.i18n import catalog
from pages._ui.base.settings import Settings, read
from pages._ui.frame import settings_check
from pages._ui.lessons.catalog import available, lesson
from tests.house.source import ROOT
from tests.pages_under_test import calm, opened, told

TOKEN = "sixteen-letters!"


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("OWI_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("OWI_STRICT_TEXT", "1")


def test_without_variables_everything_is_at_its_default() -> None:
    found, wrong = read({"PATH": "/bin", "OWI_SLOTS": "  "})
    assert found == Settings()
    assert wrong == ()
    assert found.slots == max(1, (os.cpu_count() or 1) - 1)


@pytest.mark.parametrize(
    ("name", "text", "field", "value"),
    [
        ("OWI_SLOTS", "3", "slots", 3),
        ("OWI_NICE", "0", "nice", 0),
        ("OWI_GRACE_SECONDS", "2.5", "grace_seconds", 2.5),
        ("OWI_LANGUAGE", "zh", "language", "zh"),
        ("OWI_HIDDEN_PAGES", " cost, tying,", "hidden", frozenset({"cost", "tying"})),
        ("OWI_LESSONS", "/", "lessons", Path("/")),
        ("OWI_STATUS_TOKEN", TOKEN, "status_token", TOKEN),
    ],
)
def test_a_variable_sets_its_setting(name: str, text: str, field: str, value: object) -> None:
    found, wrong = read({name: text})
    assert getattr(found, field) == value
    assert wrong == ()


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("OWI_SLOTS", "many", "setting_not_whole"),
        ("OWI_SLOTS", "0", "setting_out_of_range"),
        ("OWI_SLOTS", "1.5", "setting_not_whole"),
        ("OWI_NICE", "-5", "setting_out_of_range"),
        ("OWI_GRACE_SECONDS", "soon", "setting_not_a_number"),
        ("OWI_GRACE_SECONDS", "nan", "setting_out_of_range"),
        ("OWI_RUN_MB", "9" * 400, "setting_out_of_range"),
        ("OWI_LANGUAGE", "fr", "setting_not_a_choice"),
        ("OWI_HIDDEN_PAGES", "cost,nowhere", "setting_not_a_choice"),
        ("OWI_HIDDEN_PAGES", "../app", "setting_not_a_choice"),
        ("OWI_LESSONS", "/no/such/folder", "setting_no_folder"),
        ("OWI_STATUS_TOKEN", "short", "setting_length"),
        ("OWI_SLOT", "2", "setting_unknown"),
    ],
)
def test_a_wrong_variable_is_named_and_its_default_holds(name: str, text: str, code: str) -> None:
    found, wrong = read({name: text})
    assert found == Settings()
    assert [error.code for error in wrong] == [code]
    assert wrong[0].values["name"] == name
    line = settings_check.sentence(wrong[0])
    assert name in line
    assert "\n" not in line
    assert name != "OWI_STATUS_TOKEN" or text not in line


def test_whoever_starts_a_server_can_ask_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert settings_check.main() == 0
    monkeypatch.setenv("OWI_SLOTS", "many")
    assert settings_check.main() == 2
    assert "OWI_SLOTS must be a whole number" in capsys.readouterr().err


@pytest.mark.parametrize("module", ["pages._ui.settings_check", "pages._ui.frame.settings_check"])
def test_the_settings_are_checked_under_both_names(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module],
        cwd=ROOT,
        env=os.environ | {"OWI_SLOTS": "many"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "OWI_SLOTS must be a whole number" in done.stderr


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_a_wrong_setting_is_told_under_the_page_and_logged_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, lang: str
) -> None:
    monkeypatch.setenv("OWI_SLOTS", f"many {lang}")
    with caplog.at_level(logging.WARNING):
        app = calm(opened("home", lang=lang).run())
    assert catalog(lang, "common")["settings_wrong"] in told(app)
    assert f"many {lang}" in told(app)
    assert caplog.text.count("OWI_SLOTS") == 1


def test_the_servers_language_comes_before_the_browsers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OWI_LANGUAGE", "zh")
    assert opened("home", lang="").title[0].value == catalog("zh", "home")["page.question"]
    assert opened("home", lang="en").title[0].value == catalog("en", "home")["page.question"]


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_a_hidden_page_is_nowhere_and_says_so(monkeypatch: pytest.MonkeyPatch, lang: str) -> None:
    monkeypatch.setenv("OWI_HIDDEN_PAGES", "tying")
    assert "tying" not in [entry.name for entry in listed_entries(lang)]
    app = calm(opened("tying", lang=lang))
    assert [title.value for title in app.title] == [catalog(lang, "common")["absent.title"]]
    assert not app.main.button
    assert catalog(lang, "tying")["page.question"] not in told(app)


def test_a_lesson_that_goes_to_a_hidden_page_is_not_offered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = {name for name, _ in available("zh")}
    monkeypatch.setenv("OWI_HIDDEN_PAGES", "masking")
    fewer = {name for name, _ in available("zh")}
    assert fewer < names
    for name in names - fewer:
        with pytest.raises(LessonError, match="lesson_unknown"):
            lesson(name, "zh")


def test_a_page_offers_no_way_to_a_hidden_one(monkeypatch: pytest.MonkeyPatch) -> None:
    to_rows = catalog("zh", "compare")["to_rows"]
    assert to_rows in [link.proto.label for link in opened("compare").main.get("page_link")]
    monkeypatch.setenv("OWI_HIDDEN_PAGES", "rows")
    assert to_rows not in [link.proto.label for link in opened("compare").main.get("page_link")]


def test_the_status_page_is_there_for_the_token_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not access.may_open("status", {})
    assert not access.may_open("status", {"token": ""})
    monkeypatch.setenv("OWI_STATUS_TOKEN", TOKEN)
    assert not access.may_open("status", {})
    assert not access.may_open("status", {"token": TOKEN[:-1]})
    assert not access.may_open("status", {"token": "\ud800" + TOKEN})
    assert access.may_open("status", {"token": TOKEN})
    assert access.may_open("rows", {})


@pytest.mark.parametrize("name", ["deploy.md", "deploy.zh.md"])
def test_every_variable_is_documented_with_its_default_and_bounds(name: str) -> None:
    document = (settings.PAGES.parent / "docs" / name).read_text("utf-8")
    for variable, default, bounds in settings.table():
        assert document.count(f"| `{variable}` | {default} | {bounds}") == 1, variable
