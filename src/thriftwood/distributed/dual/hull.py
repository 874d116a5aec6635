"""Which of several nested sets are best at some price."""

import numpy as np

from thriftwood.support.arrays import IntArray


def on_hull(gain: IntArray, cost: IntArray) -> IntArray:
    """Return the sets whose gain - price * cost is the largest at some price from 0 on.

    Parameters
    ----------
    gain, cost : shape (n_sets,)
        Of nested sets, the largest first: costs never rise.

    Returns
    -------
    sets : int array
        In the same order. Gains and costs fall from one to the next, and the price at which the
        next one is as good rises.
    """
    found: list[int] = []
    points = list(zip(gain.tolist(), cost.tolist(), strict=True))
    for place, (gained, paid) in enumerate(points):
        # A smaller set that gains as much is better at every price.
        while found and points[found[-1]][0] <= gained:
            found.pop()
        if found and points[found[-1]][1] == paid:
            continue  # it gains less and costs the same
        while len(found) > 1 and _is_below(points[found[-2]], points[found[-1]], (gained, paid)):
            found.pop()
        found.append(place)
    return np.array(found, dtype=np.int64)


def _is_below(one: tuple[int, int], two: tuple[int, int], three: tuple[int, int]) -> bool:
    """Say whether the second of three points lies on or below the line through the others."""
    up, along = one[0] - two[0], one[1] - two[1]
    next_up, next_along = two[0] - three[0], two[1] - three[1]
    return up * next_along >= next_up * along
