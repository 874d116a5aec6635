"""Numbers that look random but depend on values alone: the same row draws the same again."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.support import draws_kernels as kernels
from thriftwood.support.arrays import FloatArray


def uniform_per_row(rows: NDArray[Any], seed: int = 0) -> FloatArray:
    """Return a number between 0 and 1 for each row, by mixing the bits of its values."""
    columns = np.arange(rows.shape[1])
    drawn = np.empty(len(rows))
    kernels.draw(np.ascontiguousarray(rows), columns, np.uint64(seed % 2**64), drawn)
    return drawn
