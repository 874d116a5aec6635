"""Sentences about prices and names that several readers of price lists need."""

import math
from collections.abc import Iterable
from difflib import get_close_matches

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


def did_you_mean(word: object, words: Iterable[object]) -> str:
    """Return a suggestion with a space before it, or nothing."""
    by_case = {str(one).lower(): str(one) for one in words}
    near = get_close_matches(str(word).lower(), by_case, n=1)
    return f" Did you mean {by_case[near[0]]!r}?" if near else ""
