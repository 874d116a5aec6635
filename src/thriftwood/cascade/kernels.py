"""Numba loops over samples at the stages of a cascade."""

import numpy as np

from thriftwood.support.compiling import kernel


@kernel
def stops_at(margins, rule):
    """Return the stage where each sample stops: the first whose threshold its margin reaches."""
    last = len(rule) - 1
    stage = np.empty(len(margins), dtype=np.int64)
    for i in range(len(margins)):
        s = 0
        while s < last and margins[i, s] < rule[s]:
            s += 1
        stage[i] = s
    return stage
