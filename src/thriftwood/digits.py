"""Numbers as people read them."""


def six_digits(value: float) -> str:
    """Return a number with six digits; sums that were added up in another order look the same.

    These differ in the last bits, which may tip the sixth digit: so bits that mean nothing are
    rounded off before.
    """
    return f"{float(f'{value:.12g}'):.6g}"
