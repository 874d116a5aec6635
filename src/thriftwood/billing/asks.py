"""Which splits ask for which cost items."""

from dataclasses import dataclass

import numpy as np

from thriftwood.billing import purchase_kernels as kernels
from thriftwood.costs import NO_MASK, PriceList
from thriftwood.forest import Forest
from thriftwood.support.arrays import IndexArray, IntArray, read_only


@dataclass(frozen=True, eq=False)
class Asks:
    """The cost items that rows meet for the first time at each split, in the order of the nodes.

    Attributes
    ----------
    node : shape (n_asks,)
    cost_item, mask : shape (n_asks,)
        What the rows of the node must pay there, where the mask is True.
    """

    node: IntArray
    cost_item: IndexArray
    mask: IndexArray

    def __len__(self) -> int:
        return len(self.node)

    def take(self, order: IntArray) -> "Asks":
        """Return the same asks in another order."""
        return Asks(self.node[order], self.cost_item[order], self.mask[order])


def list_asks(forest: Forest, prices: PriceList) -> Asks:
    """Find the splits at which rows may have to pay something that they have not paid above.

    A row pays a cost item in a tree at the first split that buys it. Where rows know values the
    first split differs from row to row; then each split at which a feature is new asks for all that
    the feature buys. Asking twice on the same way costs nothing.
    """
    n_per_feature = np.diff(prices.start)
    rows_differ = bool((prices.mask != NO_MASK).any())
    key = (
        np.repeat(np.arange(prices.n_features), n_per_feature) if rows_differ else prices.cost_item
    )
    node, entry = kernels.find_asks(
        forest.tree_start[:-1],
        forest.left,
        forest.right,
        forest.feature,
        prices.start,
        key,
        int(n_per_feature[forest.feature[forest.is_split]].sum()),
    )
    order = np.argsort(node, kind="stable")
    node, entry = node[order], entry[order]
    return Asks(read_only(node), read_only(prices.cost_item[entry]), read_only(prices.mask[entry]))
