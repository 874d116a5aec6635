"""Which splits ask for which charges."""

from dataclasses import dataclass

import numpy as np

from thriftwood.billing import purchase_kernels as kernels
from thriftwood.costs import OPEN, PriceList
from thriftwood.forest import Forest
from thriftwood.support.arrays import IndexArray, IntArray, read_only


@dataclass(frozen=True, eq=False)
class Asks:
    """The charges that rows meet for the first time at each split, in the order of the nodes.

    Attributes
    ----------
    node : shape (n_asks,)
    charge, gate : shape (n_asks,)
        What the rows of the node must pay there, if they pass the gate.
    """

    node: IntArray
    charge: IndexArray
    gate: IndexArray

    def __len__(self) -> int:
        return len(self.node)

    def take(self, order: IntArray) -> "Asks":
        """Return the same asks in another order."""
        return Asks(self.node[order], self.charge[order], self.gate[order])


def list_asks(forest: Forest, prices: PriceList) -> Asks:
    """Find the splits at which rows may have to pay something that they have not paid above.

    A row pays a charge in a tree at the first split that triggers it. Where rows know values the
    first split differs from row to row; then each split at which a feature is new asks for all that
    the feature triggers. Asking twice on the same way costs nothing.
    """
    n_triggers = np.diff(prices.start)
    rows_differ = bool((prices.gate != OPEN).any())
    key = np.repeat(np.arange(prices.n_features), n_triggers) if rows_differ else prices.charge
    node, trigger = kernels.find_asks(
        forest.tree_start[:-1],
        forest.left,
        forest.right,
        forest.feature,
        prices.start,
        key,
        int(n_triggers[forest.feature[forest.is_split]].sum()),
    )
    order = np.argsort(node, kind="stable")
    node, trigger = node[order], trigger[order]
    return Asks(read_only(node), read_only(prices.charge[trigger]), read_only(prices.gate[trigger]))
