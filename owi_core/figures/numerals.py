"""Numbers as text: a real minus sign, no negative zero, and no digit that rounding invented.

Plotly formats what it draws on an axis this way itself, but not what a hover box takes from a
trace: there `%{x:.3f}` prints a hyphen.  So figures with values of both signs format them here.
"""

MINUS = "\u2212"


def decimal(value: float, digits: int = 2) -> str:
    """Return a value with that many decimals; one that rounds to zero has no sign."""
    return with_real_minus(f"{value:.{digits}f}")


def signed(value: float, digits: int = 2) -> str:
    """Return a change with its sign, + or −; one that rounds to zero has no sign."""
    return with_real_minus(f"{value:+.{digits}f}")


def significant(value: float, digits: int = 3) -> str:
    """Return a value with that many significant digits and no trailing zeros: 0.025, 1.2e+05."""
    return with_real_minus(f"{value:.{digits}g}")


def signed_exact(value: float) -> str:
    """Return a limit or a tick with its sign and all its digits: +0.025, never +0.03; 0 is 0.

    A scale is read by its ticks: rounded to two decimals, half of 0.05 would print as +0.03 and
    the ticks would no longer be evenly spaced.  Ten digits hide the noise of binary fractions.
    """
    return "0" if value == 0 else with_real_minus(f"{value:+.10g}")


def with_real_minus(text: str) -> str:
    """Return a printed number with − for a hyphen; a zero loses its sign."""
    # The mantissa alone decides: -0.00 has no digit but zeros, -1e-05 has one.
    # "-1e-05" has two hyphens: the exponent gets a real minus as well.
    mantissa, exponent, power = text.partition("e")
    if mantissa[:1] in "+-" and not any(digit in mantissa for digit in "123456789"):
        mantissa = mantissa[1:] if mantissa[1:2].isdigit() else mantissa  # keep the sign of inf
    return (mantissa + exponent + power).replace("-", MINUS)
