"""Points of a path that a report shows: some of many, and the one to begin with."""

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from thriftwood.evaluation import Evaluation, choose_point, read_rule
from thriftwood.pruning import PruningPath
from thriftwood.support.arrays import FloatArray, IntArray

# Without errors to go by: how much of the way from the least loss to the largest may be given up.
GIVEN_UP = 0.05
CHEAPEST = "the cheapest that is not clearly worse than the best on"
LEAST = "the one whose tests and errors cost least together on"
UNPRUNED = "no pruning, since none is as good as the model before pruning on"


def shown_points(costs: FloatArray, wanted: Iterable[int], most: int) -> list[int]:
    """Return at most so many points of a path: the first, the last, those wanted, others between.

    As long as there may be more, the widest gap of cost that has a point inside gets the one next
    to its middle. Costs fall along the path.
    """
    shown = sorted({0, len(costs) - 1, *wanted})
    while len(shown) < min(most, len(costs)):
        gaps = [gap for gap in pairwise(shown) if gap[1] - gap[0] > 1]
        first, last = max(gaps, key=lambda gap: costs[gap[0]] - costs[gap[1]])
        middle = (costs[first] + costs[last]) / 2
        inside = range(first + 1, last)
        shown.append(min(inside, key=lambda point: abs(costs[point] - middle)))
        shown.sort()
    return shown


def drawn_points(costs: FloatArray, wanted: Iterable[int], most: int) -> IntArray:
    """Return points of a path, in order, that look like all of them when they are drawn.

    These are all points, unless there are more than `most`; then those wanted, and of the others
    the first in each of so many equal parts of the costs.
    """
    if len(costs) <= most:
        return np.arange(len(costs))
    part = np.floor(costs / costs.max() * (most - 1))
    _, first = np.unique(part, return_index=True)
    return np.union1d(first, list(wanted))


def first_point(
    path: PruningPath,
    training: Evaluation | None,
    validation: Evaluation | None,
    nouns: str = "samples",
) -> tuple[int | None, str]:
    """Return the point to suggest, and why; None is the model before pruning.

    `training` is None where errors do not judge.
    """
    if validation is not None:
        return _suggested(validation, "the validation set", nouns)
    if training is not None:
        hint = "; those that training did not see would be a better judge"
        return _suggested(training, f"the {nouns} it was pruned on{hint}", nouns)
    most = path.losses[0] + GIVEN_UP * (path.losses.max() - path.losses[0])
    why = f"the cheapest that gives up at most {GIVEN_UP:.0%} of what there is to lose"
    return int(np.flatnonzero(path.losses <= most)[-1]), why


def _suggested(measured: Evaluation, where: str, nouns: str) -> tuple[int | None, str]:
    """Return the point that the usual rule chooses, and why; it is said what is given up."""
    is_money = measured.total_cost is not None
    choice = choose_point(measured, read_rule(None, None, is_money))
    given_up = str(choice).removesuffix(".").replace(" samples ", f" {nouns} ")
    words = UNPRUNED if choice.point is None else LEAST if is_money else CHEAPEST
    return choice.point, f"{words} {where}. {given_up}"
