"""From trees, rows and prices to a closure problem, and back.

Law: the profit of a set of projects at a tradeoff is the fall of the paper's IP3 objective when the
splits of that set are kept instead of none, times rows, trees and the closure's unit; where trees
are pruned each alone, the fall of the mean of their objectives.
"""

from thriftwood.formulation.asks import Asks, list_asks
from thriftwood.formulation.build import ClosureIndex, build_closure, build_complexity
from thriftwood.formulation.counting import CountArray, times_counted, weight_counted
from thriftwood.formulation.losses import Loss, loss_named, node_losses
from thriftwood.formulation.purchases import Purchases, list_purchases
from thriftwood.formulation.targets import (
    ClassWeight,
    read_loss_weights,
    read_target,
    read_weights,
)

__all__ = [
    "Asks",
    "ClassWeight",
    "ClosureIndex",
    "CountArray",
    "Loss",
    "Purchases",
    "build_closure",
    "build_complexity",
    "list_asks",
    "list_purchases",
    "loss_named",
    "node_losses",
    "read_loss_weights",
    "read_target",
    "read_weights",
    "times_counted",
    "weight_counted",
]
