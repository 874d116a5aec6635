"""All best closed sets at once, from the cheapest prices to the dearest."""

from dataclasses import dataclass
from fractions import Fraction

from thriftwood.closure import kernels
from thriftwood.support.arrays import BoolArray, IndexArray, IntArray


@dataclass(frozen=True, eq=False)
class ClosurePath:
    """With which step each project drops out as the price of items rises.

    At prices of `tradeoff` times cost the smallest best closed set keeps the projects whose step
    has a larger gain per cost. So the sets are nested, and there is one more than there are steps.

    Attributes
    ----------
    step_of : shape (n_projects,)
        The step with which a project drops, from 0; -1 if it is never kept, `n_steps` if it is kept
        at any price, because it needs nothing that costs.
    gain, cost : shape (n_steps,)
        What a step gives up and saves. It happens at the price gain / cost, which rises from step
        to step.
    slack : float
        By how many gains, at any price, the set of the path may miss the optimum because prices
        had to be rounded to stay within 64 bits; 0 where that never happened.
    """

    step_of: IndexArray
    gain: IntArray
    cost: IntArray
    slack: float

    @property
    def n_steps(self) -> int:
        return len(self.gain)

    def price(self, step: int) -> Fraction:
        """Return the exact price at which a step happens."""
        return Fraction(int(self.gain[step]), int(self.cost[step]))

    def kept(self, n_dropped: int) -> BoolArray:
        """Return the projects that are kept after a number of steps."""
        return self.step_of >= n_dropped


def last_steps(
    step_of: IndexArray, arc_start: IntArray, arc_item: IndexArray, n_items: int
) -> IndexArray:
    """Return for each item the last step among the projects that need it, -1 if there is none.

    The items that project `h` needs are `arc_item[arc_start[h]:arc_start[h + 1]]`.
    """
    last: IndexArray = kernels.last_need(step_of, arc_start, arc_item, n_items)
    return last
