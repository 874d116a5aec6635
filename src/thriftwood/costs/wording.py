"""Sentences about prices and names that several readers of price lists need."""

import math

from thriftwood.errors import InputError
from thriftwood.support.validation import one_number

A_PRICE = "a price is a finite number of at least 0"


def read_price(price: object, what: str) -> float:
    """Return a price as a number, or say what is wrong with `what`."""
    try:
        number = one_number(price, what)
    except InputError:
        raise InputError(f"{what} is {price!r}: {A_PRICE}.") from None
    if not math.isfinite(number) or number < 0:
        raise InputError(f"{what} is {number}: {A_PRICE}.")
    return number
