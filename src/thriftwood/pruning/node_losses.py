"""What nodes would lose as leaves, in sums that add up over rows."""

from __future__ import annotations

from dataclasses import dataclass

from thriftwood.arrays import FloatArray
from thriftwood.formulation import RECORDED_GAIN, node_losses, recorded_losses, weight_counted
from thriftwood.pruning.given import GivenRows
from thriftwood.routing import Routes


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
