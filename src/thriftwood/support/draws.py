"""Numbers that look random but depend on values alone: the same row draws the same again."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.support import draws_kernels as kernels
from thriftwood.support.arrays import FloatArray, read_only


def uniform_per_row(rows: NDArray[Any], seed: int = 0) -> FloatArray:
    """Return a number between 0 and 1 for each row, by mixing the bits of its values."""
    columns, drawn = np.arange(rows.shape[1]), np.empty(len(rows))
    values = read_only(np.ascontiguousarray(rows).view())
    kernels.draw(values, read_only(columns), np.uint64(seed % 2**64), drawn)
    return drawn
