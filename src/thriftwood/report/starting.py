"""Which point is shown first, and why."""

from typing import NamedTuple

import numpy as np

from thriftwood.evaluation import Evaluation, chosen_point
from thriftwood.pruning.path import PruningPath

# Without errors to go by: how much of the way from the least loss to the largest may be given up.
GIVEN_UP = 0.05


class Start(NamedTuple):
    """The point that is shown first, in words why, and whether validation rows suggest it."""

    point: int
    why: str
    is_suggested: bool


def start_of(path: PruningPath, measured: Evaluation | None, on_validation: bool) -> Start:
    """Return the point to begin with.

    Parameters
    ----------
    path : PruningPath
    measured : Evaluation, optional
        None where errors of the ensemble do not judge the model.
    on_validation : bool
        Whether it was measured on validation rows.
    """
    if measured is None:
        most = path.losses[0] + GIVEN_UP * (path.losses.max() - path.losses[0])
        point = int(np.flatnonzero(path.losses <= most)[-1])
        why = f"the cheapest that gives up at most {GIVEN_UP:.0%} of what there is to lose"
        return Start(point, why, False)
    point = chosen_point(measured, "one_standard_error")
    if on_validation:
        return Start(
            point, "the cheapest within one standard error of the best on validation rows", True
        )
    why = (
        "the cheapest within one standard error of the best on the rows it was pruned on; rows "
        "that training did not see would be a better judge"
    )
    return Start(point, why, False)
