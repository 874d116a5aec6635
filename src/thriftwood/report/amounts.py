"""Amounts of money, as people read them."""

from thriftwood.support.text import unit_behind

MILLIONS = {1e9: "bn", 1e6: "M"}  # larger numbers than these can say have an exponent
TOO_LARGE = 1e12


def amount(number: float, unit: str = "") -> str:
    """Return an amount as pages and pictures write it; scripts of the page follow the same rule.

    Two decimals from 1 on, three significant digits below; millions and billions as such; the unit
    after the number.
    """
    sign = "\N{MINUS SIGN}" if number < 0 else ""
    return f"{sign}{_digits(abs(number))}{unit_behind(unit)}"


def score_amount(number: float) -> str:
    """Return a score as pages write it: three decimals, unless it is large."""
    return f"{number:.3f}".replace("-", "\N{MINUS SIGN}") if abs(number) < 10 else amount(number)


def _digits(number: float) -> str:
    if number == 0:
        return "0"
    if number >= TOO_LARGE:
        return f"{number:.2e}".replace("e+", "e")
    for size, name in MILLIONS.items():
        if number >= size:
            return f"{number / size:,.2f} {name}"
    return f"{number:,.2f}" if number >= 0.995 else f"{number:.3g}"
