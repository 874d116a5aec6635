"""From trees, rows and prices to a closure problem, and back.

Law: the profit of a set of projects at a tradeoff is the fall of the paper's IP3 objective when the
splits of that set are kept instead of none, times rows, trees and the closure's unit; where trees
are pruned each alone, the fall of the mean of their objectives.
"""

from thriftwood.formulation.asks import Asks, list_asks
from thriftwood.formulation.build import ClosureIndex, build_closure, build_complexity, whole_gains
from thriftwood.formulation.counting import CountArray, once, times_counted, weight_counted
from thriftwood.formulation.losses import Loss, loss_function, loss_named, node_losses
from thriftwood.formulation.majoriser import ensemble_losses, majorised_losses
from thriftwood.formulation.purchases import Purchases, list_purchases
from thriftwood.formulation.recorded_gain import RECORDED_GAIN, recorded_losses
from thriftwood.formulation.shards import (
    Digits,
    WholePrices,
    common_units,
    digits_of,
    read_piece_weights,
    shard_of,
    whole_prices,
)
from thriftwood.formulation.targets import (
    ClassWeight,
    in_whole_numbers,
    read_class_weights,
    read_loss_weights,
    read_target,
    read_weights,
)

__all__ = [
    "RECORDED_GAIN",
    "Asks",
    "ClassWeight",
    "ClosureIndex",
    "CountArray",
    "Digits",
    "Loss",
    "Purchases",
    "WholePrices",
    "build_closure",
    "build_complexity",
    "common_units",
    "digits_of",
    "ensemble_losses",
    "in_whole_numbers",
    "list_asks",
    "list_purchases",
    "loss_function",
    "loss_named",
    "majorised_losses",
    "node_losses",
    "once",
    "read_class_weights",
    "read_loss_weights",
    "read_piece_weights",
    "read_target",
    "read_weights",
    "recorded_losses",
    "shard_of",
    "times_counted",
    "weight_counted",
    "whole_gains",
    "whole_prices",
]
