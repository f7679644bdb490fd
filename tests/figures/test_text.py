"""The words on figures stand in both languages, and the English ones are the defaults."""

import tomllib
from dataclasses import asdict

import pytest

from owi_core.assets import ASSETS
from owi_core.figures import FigureText


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_a_catalog_fills_every_field_and_nothing_else(lang: str) -> None:
    assert set(words(lang)) == set(asdict(FigureText()))
    assert FigureText(**words(lang)).threshold.format(threshold="0.1")


def test_the_defaults_are_the_english_catalog() -> None:
    assert words("en") == asdict(FigureText())


def words(lang: str) -> dict[str, str]:
    path = ASSETS / "i18n" / lang / "figures.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))
