"""Numbers that components print: the same text as figures print, with a real minus sign."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from owi_core.assets import ASSETS
from owi_core.figures.numerals import decimal
from tests.browser.browsing import ROOT

# None is halfway between two texts: there JavaScript and Python round to different sides.
VALUES = [0.25, -0.25, -1.75, 12.4, -0.001, 0.0, -0.0, -123.456, 1e-7]
SCRIPTS = sorted([*(ASSETS / "components").glob("*.js"), *ROOT.glob("pages/_labs/*/*.js")])


def test_a_number_of_a_component_is_printed_like_that_of_a_figure(chromium: Browser) -> None:
    page = chromium.new_page()
    common = (ASSETS / "components" / "common.js").read_text(encoding="utf-8")
    call = "([values, digits]) => values.map((value) => decimal(value, digits))"
    page.add_script_tag(content=f"const PALETTES = {{}};\n{common}")
    for digits in (0, 2, 3):
        printed = page.evaluate(call, [VALUES, digits])
        assert printed == [decimal(value, digits) for value in VALUES]
    page.close()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_no_component_prints_a_number_with_a_hyphen(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    shown = re.sub(r"field\.value = .*", "", text)  # what is typed over must be typed as it is
    found = [line for line in shown.splitlines() if ".toFixed(" in line]
    assert [line for line in found if "Math.abs(value).toFixed(digits)" not in line] == []
