"""Every page in both languages, the language it opens in, and failures without tracebacks."""

import gc
import logging
import sys

import pytest
from streamlit.testing.v1 import AppTest

from owi_core import process
from owi_core.assets import ASSETS
from pages._ui.base.i18n import catalog
from pages._ui.frame.frame import page_entries
from tests.house.source import labs

APP = str(ASSETS.parent / "app.py")
NAMES = [entry.name for entry in page_entries("zh")]
LABS = labs()


def opened(name: str, **query: str) -> AppTest:
    """Start from app.py, as a page link needs, and go to the page."""
    app = AppTest.from_file(APP, default_timeout=60)
    app.query_params.update(query)
    if name != "home":
        app.switch_page(f"pages/{name}.py")
    return app.run()


@pytest.mark.parametrize("lang", ["zh", "en"])
@pytest.mark.parametrize("name", NAMES)
def test_page_opens_in_both_languages(name: str, lang: str) -> None:
    app = opened(name, lang=lang)
    assert not app.exception
    assert app.title[0].value == catalog(lang, name)["page.question"]
    assert app.sidebar.segmented_control[0].value == lang


@pytest.mark.parametrize("name", LABS)
def test_each_lab_names_the_papers_and_sources_of_its_subject(name: str) -> None:
    app = opened(name, lang="en")
    words = catalog("en", name)
    told = {line.value for line in app.markdown}
    for place in ("papers", "pytorch", "huggingface"):
        head = catalog("en", "common")[f"further.{place}"]
        assert f"**{head}** {words[f'reading.{place}']}" in told


def test_what_a_page_has_loaded_is_left_out_of_later_collections() -> None:
    gc.unfreeze()
    process.freeze_loaded.cache_clear()
    opened("home")
    spared = gc.get_freeze_count()
    assert spared > len(gc.get_objects())
    opened("home")
    assert gc.get_freeze_count() <= spared


def test_pages_that_are_drawn_at_once_wait_little_for_each_other() -> None:
    before = sys.getswitchinterval()
    process.prepare_server.cache_clear()
    try:
        opened("train")
        assert sys.getswitchinterval() < 0.001
    finally:
        sys.setswitchinterval(before)


def test_both_languages_list_the_same_pages_in_the_same_order() -> None:
    assert [entry.name for entry in page_entries("en")] == NAMES
    assert NAMES[0] == "home"


@pytest.mark.parametrize(
    ("locale", "lang"), [("zh-CN", "zh"), ("zh-Hant-TW", "zh"), ("en-GB", "en"), ("fr", "en")]
)
def test_browser_language_comes_first(locale: str, lang: str) -> None:
    app = AppTest.from_file(APP, default_timeout=60)
    app.context["locale"] = locale
    app.run()
    assert app.title[0].value == catalog(lang, "home")["page.question"]


def test_link_language_overrules_the_browser_and_nonsense_does_not() -> None:
    assert opened("home", lang="zh").title[0].value == catalog("zh", "home")["page.question"]
    assert opened("home", lang="xx").title[0].value == catalog("en", "home")["page.question"]


def test_switch_changes_language_and_address() -> None:
    app = opened("home", lang="en")
    app.sidebar.segmented_control[0].set_value("zh").run()
    assert not app.exception
    assert app.title[0].value == catalog("zh", "home")["page.question"]
    assert app.query_params["lang"] == "zh"


def _failing_page() -> None:
    import streamlit as st  # the source of this function is run alone

    from pages._ui.base.guard import guarded

    with guarded("en"):
        raise ZeroDivisionError("a secret detail")
    st.write("the page goes on")


def test_unexpected_failure_is_logged_and_told_calmly(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        app = AppTest.from_function(_failing_page, default_timeout=20).run()
    assert not app.exception
    assert "number" in app.error[0].value
    assert "secret" not in app.error[0].value
    assert app.markdown[0].value == "the page goes on"
    assert "a secret detail" in caplog.text
