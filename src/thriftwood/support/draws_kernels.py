"""Numba loops that mix the bits of values."""

import numpy as np

from thriftwood.support.compiling import kernel, small_kernel


@kernel
def draw(rows, columns, seed, drawn):
    """Fill in a number between 0 and 1 for each row, from its values in some columns."""
    for i in range(len(rows)):
        drawn[i] = uniform(rows[i], columns, seed)


@small_kernel
def uniform(row, columns, seed):
    """Return a number between 0 and 1, from the values of a row in some columns."""
    state = seed
    for column in columns:
        value = np.float64(row[column])
        if np.isnan(value):
            value = np.nan  # all NaNs are alike
        state = scramble(state ^ np.float64(value + 0.0).view(np.uint64))  # minus zero is zero
    return np.float64(scramble(state) >> np.uint64(11)) * 2.0**-53


@small_kernel
def scramble(state):
    """Spread every bit over all others, one to one: add an odd constant, fold, multiply, fold."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))
