"""Form fields: bounds and options are those declared, and a decimal reads point and comma."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from streamlit.testing.v1 import AppTest

from owi_core.experiments import EXPERIMENTS
from owi_core.untrusted import decimal_number
from pages._ui.draw.decimals import text_of
from pages._ui.draw.forms import declared

NUMBERS = some.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("typed", "number"),
    [
        ("0,003", 0.003),
        ("3,0e-3", 0.003),
        ("0.003", 0.003),
        (",5", 0.5),
        ("5.", 5.0),
        (" 1e-3 ", 0.001),
        ("−2,5", -2.5),
        ("０．００３", 0.003),
        ("0，5", 0.5),
        ("0。5", 0.5),
        ("+4", 4.0),
        ("\ufeff0\u200b.003\u2060", 0.003),
        ("\u202a−2,5\u202c", -2.5),
    ],
)
def test_a_decimal_is_read_with_a_point_or_a_comma(typed: str, number: float) -> None:
    assert decimal_number(typed) == number


@pytest.mark.parametrize(
    "typed",
    ["", " ", ".", ",", "abc", "1,000.5", "1.000,5", "1 000", "1,2,3", "--1", "1e", "nan", "inf",
     "1e999", "0x10", "1_000", "9" * 5_000, "3\n4", "３e", "٣"],
)  # fmt: skip
def test_what_has_no_single_meaning_is_not_read(typed: str) -> None:
    assert decimal_number(typed) is None


@given(number=NUMBERS, comma=some.booleans())
def test_what_a_field_shows_is_read_as_the_same_number(number: float, comma: bool) -> None:
    shown = text_of(number).replace(".", ",") if comma else text_of(number)
    assert decimal_number(shown) == number


@given(text=some.text(max_size=60))
def test_any_text_is_read_as_a_finite_number_or_not_at_all(text: str) -> None:
    number = decimal_number(text)
    assert number is None or math.isfinite(number)


def _decimal() -> None:
    import streamlit as st

    from pages._ui.base.i18n import translator
    from pages._ui.base.page import Frame
    from pages._ui.draw.decimals import decimal, read_typed
    from pages._ui.session import state

    state.remember()
    state.open_link("demo")
    state.begin_view("demo")
    page = Frame("en", translator("en", "train"), "light")
    number = decimal(page, "Rate", 1e-6, 10.0, key="demo.lr", usual=0.004)
    st.text(repr(number))
    st.button("set", on_click=state.set_kept, args=("demo.lr", 0.5))
    st.button("use", on_click=lambda: st.session_state.update(used=read_typed("demo.lr", 0, 10)))
    st.text(repr(st.session_state.get("used")))
    state.end_view()


def field(**query: str) -> AppTest:
    app = AppTest.from_function(_decimal, default_timeout=20)
    app.query_params.update(query)
    return app.run()


def typed(app: AppTest, text: str) -> AppTest:
    return app.text_input(key="demo.lr.typed").set_value(text).run()


def shown(app: AppTest) -> tuple[str, str]:
    """Return what the field shows and the number in use."""
    assert not app.exception
    return str(app.text_input(key="demo.lr.typed").value), app.text[0].value


def test_what_was_read_replaces_what_was_typed_and_is_kept_as_a_number() -> None:
    app = typed(field(), "0,003")
    assert shown(app) == ("0.003", "0.003")
    assert app.session_state["demo.lr"] == 0.003
    assert not app.error
    assert shown(typed(app, "3,0e-3")) == ("0.003", "0.003")
    assert shown(typed(app, "0,00312345678")) == ("0.00312345678", "0.00312345678")
    assert shown(app.run()) == ("0.00312345678", "0.00312345678")


@pytest.mark.parametrize(
    ("text", "says"),
    [("abc", "cannot be read"), ("1,000.5", "cannot be read"), ("0", "between"), ("11", "between")],
)
def test_a_refused_text_stays_in_the_field_and_changes_nothing(text: str, says: str) -> None:
    app = typed(typed(field(), "0,2"), text)
    assert shown(app) == (text, "0.2")
    assert says in app.error[0].value
    assert "Rate" in app.error[0].value
    assert "0.2" in app.error[0].value.replace("\\", "")
    assert shown(app.run()) == (text, "0.2")
    app = typed(app, "0.3")
    assert shown(app) == ("0.3", "0.3")
    assert not app.error


def test_a_number_set_elsewhere_replaces_a_refused_text() -> None:
    app = typed(field(), "abc")
    app.button[0].click().run()
    assert shown(app) == ("0.5", "0.5")
    assert not app.error


def test_a_link_brings_the_number_to_the_field() -> None:
    assert shown(field(v="1", lr="0.25", end="1")) == ("0.25", "0.25")
    assert shown(field(v="1", lr="99", end="1")) == ("0.004", "0.004")


@pytest.mark.parametrize(("text", "used"), [("0,7", "0.7"), ("abc", "None")])
def test_a_button_pressed_with_the_text_uses_the_new_number_or_none(text: str, used: str) -> None:
    app = field()
    app.text_input(key="demo.lr.typed").set_value(text)
    app.button[1].click().run()
    assert app.text[1].value == used


def _declared(experiment: str) -> None:
    import streamlit as st

    from owi_core.experiments import EXPERIMENTS
    from pages._ui.base.i18n import translator
    from pages._ui.base.page import Frame
    from pages._ui.draw.forms import declared, setting_field

    page = Frame("en", translator("en", "train"), "light")
    for name, parameter in declared(EXPERIMENTS[experiment].params).items():
        usual = parameter.low if parameter.default is None and not parameter.choices else None
        usual = parameter.choices[0] if parameter.choices else usual
        value = setting_field(page, parameter, f"demo.{name}", usual=usual, label=name)
        st.text(f"{name}={value!r}")


@pytest.mark.parametrize("experiment", ["pronoun", "language"])
def test_a_field_offers_what_its_parameter_declares(experiment: str) -> None:
    app = AppTest.from_function(_declared, default_timeout=20, args=(experiment,)).run()
    assert not app.exception
    limits: dict[str, Any] = app.session_state["owi.view"].limits
    for name, parameter in declared(EXPERIMENTS[experiment].params).items():
        kept = limits[f"demo.{name}"]
        if parameter.choices:
            assert tuple(kept.among) == parameter.choices
            assert tuple(app.selectbox(key=f"demo.{name}").options) != ()
        elif parameter.kind in (int, float):
            assert (kept.low, kept.high) == (parameter.low, parameter.high), name
        if parameter.kind is int:
            box = app.number_input(key=f"demo.{name}")
            assert (box.min, box.max) == (parameter.low, parameter.high)
