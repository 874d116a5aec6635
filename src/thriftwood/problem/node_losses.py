"""What nodes would lose as leaves, in sums that add up over rows."""

from __future__ import annotations

from dataclasses import dataclass

from thriftwood.forest.routes import Routes
from thriftwood.problem.counting import weight_counted
from thriftwood.problem.given import GivenRows
from thriftwood.problem.losses import node_losses
from thriftwood.problem.recorded_gain import RECORDED_GAIN, recorded_losses
from thriftwood.support.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class NodeLosses:
    """What each node would lose as a leaf on some rows, to be added to the losses of other rows.

    Attributes
    ----------
    total : shape (n_nodes,)
    weight : float
        How much weight counts in them, all trees together.
    """

    total: FloatArray
    weight: float

    def __add__(self, other: NodeLosses) -> NodeLosses:
        return NodeLosses(self.total + other.total, self.weight + other.weight)


def node_losses_of(given: GivenRows, routes: Routes) -> NodeLosses:
    """Count what the nodes lose on these rows, which were sent through the trees."""
    total = node_losses(
        given.forest, routes, given.target, given.loss_weights, given.loss, given.times
    )
    return NodeLosses(total, weight_counted(given.rows, given.times, given.loss_weights))


def recorded_node_losses(given: GivenRows) -> NodeLosses:
    """Return what trees recorded when they were grown: the same for all rows."""
    return NodeLosses(*recorded_losses(given.forest, needed=given.loss_name == RECORDED_GAIN))
