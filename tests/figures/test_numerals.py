"""Numbers on figures: real minus signs, no negative zero, ticks with all their digits."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from owi_core.figures.numerals import decimal, signed, signed_exact, significant


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (decimal(-0.004), "0.00"),
        (decimal(-1.5), "−1.50"),
        (decimal(2), "2.00"),
        (signed(-0.0004, 3), "0.000"),
        (signed(0.0), "0.00"),
        (signed(-11.497), "−11.50"),
        (signed(0.104), "+0.10"),
        (signed(-0.0004), "0.00"),
        (signed(-6.03), "−6.03"),
        (signed(0.95, 3), "+0.950"),
        (signed(-math.inf), "−inf"),
        (significant(-0.0), "0"),
        (significant(-1e-5), "−1e−05"),
        (significant(0.02518), "0.0252"),
        (signed_exact(-0.0), "0"),
        (signed_exact(0.05 * 0.5), "+0.025"),
        (signed_exact(-0.05 * 0.5), "−0.025"),
        (signed_exact(0.125), "+0.125"),
        (signed_exact(0.1 + 0.2), "+0.3"),
    ],
)
def test_a_number_is_written_as_in_print(text: str, expected: str) -> None:
    assert text == expected


@given(st.floats(-1e6, 1e6), st.integers(0, 6))
def test_the_text_is_the_rounded_value_and_zero_has_no_sign(value: float, digits: int) -> None:
    for text in (decimal(value, digits), signed(value, digits)):
        assert "-" not in text
        read = float(text.replace("−", "-"))
        assert read == float(f"{value:.{digits}f}")
        assert read != 0 or text[0].isdigit()
