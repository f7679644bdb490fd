"""Typed text survives Markdown and HTML: nothing is lost, and nothing in it is left active."""

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from pages._ui.base.escape import html_plain, markdown_plain

_MARKUP = st.text(alphabet=st.sampled_from(list(":[]{}()<>@.-=~$*_`\\#|!& \t\nwWa1苹"))) | st.text()
_SPAN = re.compile(r":color\[\\(.)\]\{\}")
_ENTITIES = {"&#58;": ":", "&nbsp;": " "}


def _as_read(markdown: str) -> str:
    """Read the Markdown that markdown_plain writes: spans, entities, hard breaks, backslashes."""
    text = _SPAN.sub(r"\\\1", markdown)
    text = re.sub(r"&#58;|&nbsp;", lambda match: _ENTITIES[match.group()], text)
    return re.sub(r"\\(\n|[!-/:-@\[-`{-~])", r"\1", text)


def _same_but_for_spaces(text: str) -> str:
    lines = re.split(r"\r\n|\r|\n", re.sub("[\u2066-\u2069]", "", text))
    return "\n".join(line.replace("\t", " ") for line in lines).replace(" ", "")


@given(_MARKUP)
def test_markdown_reads_back_as_typed(text: str) -> None:
    assert _same_but_for_spaces(_as_read(markdown_plain(text))) == _same_but_for_spaces(text)


@given(_MARKUP)
def test_no_punctuation_is_left_active_in_markdown(text: str) -> None:
    inert = re.sub(r"&#58;|&nbsp;", "", _SPAN.sub("", markdown_plain(text)))
    inert = re.sub(r"\\(\n|[!-/:-@\[-`{-~])", "", inert)
    assert not re.search(r"[!-/:-@\[-`{-~]", inert)


@given(_MARKUP)
def test_second_pass_finds_no_colon_but_the_first_character(text: str) -> None:
    pieces = _SPAN.split(markdown_plain(text))[::2]
    assert all(":" not in piece for piece in pieces)
    assert all("@" not in piece for piece in pieces)


@given(_MARKUP)
def test_html_reads_back_as_typed_and_opens_no_tag(text: str) -> None:
    escaped = html_plain(text)
    assert html.unescape(escaped) == text
    assert not set("<>\"'") & set(escaped)


@pytest.mark.parametrize(
    ("text", "markdown"), [("苹果", "苹果"), ("a  b", "a&nbsp;&nbsp;b"), ("", "")]
)
def test_plain_words_stay_plain(text: str, markdown: str) -> None:
    assert markdown_plain(text) == markdown


@pytest.mark.parametrize("text", ["שלום", "\u202eabc", "abc\nمرحبا"])
def test_words_from_right_to_left_turn_nothing_around(text: str) -> None:
    lines = markdown_plain(text).split("\\\n")
    directed = [line for line in lines if not line.isascii()]
    assert directed
    assert all(line[0] == "\u2068" and line[-1] == "\u2069" for line in directed)


def _page_with_an_error() -> None:
    from owi_core.errors import TextError
    from pages._ui.base.guard import guarded

    with guarded("zh"):
        raise TextError("no_such_code", word="$x$ **b** :red[r] <b>")


def test_error_with_typed_markup_is_escaped_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OWI_STRICT_TEXT", raising=False)
    app = AppTest.from_function(_page_with_an_error).run(timeout=20)
    assert not app.exception
    shown = _as_read(app.error[0].value)
    assert "$x$ **b** :red[r] <b>" in shown
    assert "**b**" not in app.error[0].value
