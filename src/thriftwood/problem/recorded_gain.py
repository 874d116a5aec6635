"""The loss that a boosted model reported itself: the gain of each split when it was made.

What boosted trees predict depends on all of them at once, so their loss is no sum over trees. The
gains are: each is by how much a split reduced the training loss where the ensemble stood then.
"""

import numpy as np

from thriftwood.errors import InputError
from thriftwood.forest import Forest, sums_below
from thriftwood.support.arrays import FloatArray

RECORDED_GAIN = "recorded_gain"


def recorded_losses(forest: Forest, needed: bool = True) -> tuple[FloatArray, float]:
    """Return for every node the gains at and below it, lost if it were a leaf; and all gains.

    Where they are not `needed`, a model that records none has nothing to lose.
    """
    if forest.gains is None:
        if not needed:
            return np.zeros(forest.n_nodes), 1.0
        raise InputError(
            "This model does not record by how much its splits reduced the loss, so there is no "
            f"loss {RECORDED_GAIN!r} for it: leave `loss` out."
        )
    lost = sums_below(forest, forest.gains)
    total = float(lost[forest.tree_start[:-1]].sum())
    return lost, total if total > 0 else 1.0
