"""Trees that look at prices while they grow: BudgetRF of Nan, Wang and Saligrama (2015).

Law: a grown tree has the splits of the plain pseudo-code in `plain.py`, one by one.
"""

from thriftwood.training.columns import RankedColumns, rank_columns
from thriftwood.training.grow import GrownTree, grow_tree
from thriftwood.training.growth import Bundles, Growth

__all__ = ["Bundles", "GrownTree", "Growth", "RankedColumns", "grow_tree", "rank_columns"]
