"""Two languages, one set of sentences: same keys and placeholders, a sentence for every error."""

import ast
from collections.abc import Iterator

import pytest

from tests.house.source import (
    LANGUAGES,
    Module,
    app,
    called_name,
    catalog,
    catalog_names,
    placeholders,
    where,
)

ERRORS = {"OwiError", "SettingError", "TextError", "ModelFileError", "LessonError", "RunError"}
NAMES = sorted(catalog_names("zh") | catalog_names("en"))


def raised() -> Iterator[tuple[Module, ast.Call, str]]:
    """Yield every call that makes an error with a literal code."""
    for module in app():
        for call in module.calls():
            code = call.args[0] if call.args else None
            if called_name(call) in ERRORS and isinstance(code, ast.Constant):
                yield module, call, str(code.value)


def test_every_catalog_exists_in_both_languages() -> None:
    assert catalog_names("zh") == catalog_names("en")


@pytest.mark.parametrize("name", NAMES)
def test_a_catalog_has_the_same_keys_in_both_languages(name: str) -> None:
    assert set(catalog("zh", name)) == set(catalog("en", name))


@pytest.mark.parametrize("name", NAMES)
def test_a_sentence_has_the_same_placeholders_in_both_languages(name: str) -> None:
    zh, en = catalog("zh", name), catalog("en", name)
    different = {
        key: (placeholders(zh[key]), placeholders(en[key]))
        for key in zh
        if placeholders(zh[key]) != placeholders(en[key])
    }
    assert different == {}


@pytest.mark.parametrize("name", NAMES)
def test_no_sentence_is_empty_or_left_in_the_other_language(name: str) -> None:
    for key, sentence in catalog("en", name).items():
        assert sentence.strip(), key
        # The sentences to be read by the model are Chinese in both; prose is not.
        assert sum("\u4e00" <= c <= "\u9fff" for c in sentence) <= len(sentence) / 2, key


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_error_that_is_raised_has_a_sentence(lang: str) -> None:
    missing = [
        f"{where(module, call)}: {code}"
        for module, call, code in raised()
        if f"errors.{code}" not in catalog(lang, "errors")
    ]
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_an_error_has_every_value_that_its_sentence_needs(lang: str) -> None:
    for module, call, code in raised():
        given = {keyword.arg for keyword in call.keywords}
        if None not in given:  # **values cannot be read here
            needed = placeholders(catalog(lang, "errors").get(f"errors.{code}", ""))
            assert needed <= given, f"{where(module, call)}: {code} lacks {needed - given}"


def test_every_error_sentence_is_used() -> None:
    written = {str(node.value) for module in app() for node in module.strings()}
    codes = {key.removeprefix("errors.") for key in catalog("zh", "errors")}
    assert codes - written == set()
