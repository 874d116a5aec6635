"""Numbers that look random but depend on values alone: the same row draws the same again."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.arrays import FloatArray


def uniform_per_row(rows: NDArray[Any], seed: int = 0) -> FloatArray:
    """Return a number between 0 and 1 for each row, by mixing the bits of its values."""
    values = rows.astype(np.float64) + 0.0  # minus zero is zero
    values[np.isnan(values)] = np.nan  # all NaNs are alike
    bits = values.view(np.uint64)
    state = np.full(len(rows), seed % 2**64, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for column in range(bits.shape[1]):
            state = scramble(state ^ bits[:, column])
        state = scramble(state)
    return np.ldexp((state >> np.uint64(11)).astype(np.float64), -53)


def scramble(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread every bit over all others, one to one: add an odd constant, fold, multiply, fold."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))
