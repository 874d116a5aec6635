"""What rows buy at which splits."""

from dataclasses import dataclass

import numpy as np

from thriftwood.arrays import BoolArray, IndexArray, IntArray, handed_over
from thriftwood.errors import RangeError
from thriftwood.forest import Forest
from thriftwood.formulation import kernels
from thriftwood.routing import Routes, first_uses


@dataclass(frozen=True, eq=False)
class Purchases:
    """The items of a forest, (feature, row) pairs, and the splits that ask for each.

    Split number `s`, in the order of the nodes, asks for `arc_item[arc_start[s]:arc_start[s + 1]]`:
    its feature for every row that passes it, unless a split above has asked for that already.

    Attributes
    ----------
    arc_start : shape (n_splits + 1,)
    arc_item : shape (n_arcs,)
    item_feature, item_row : shape (n_items,)
        What each item is: this feature of this row.
    """

    arc_start: IntArray
    arc_item: IndexArray
    item_feature: IntArray
    item_row: IntArray

    def last_needed(self, step_of: IndexArray) -> IndexArray:
        """Return for each item the last step among the splits that ask for it.

        Parameters
        ----------
        step_of : shape (n_splits,)
            With which step of a path each split drops; -1 if it is never kept.
        """
        last: IndexArray = kernels.last_need(
            step_of, self.arc_start, self.arc_item, len(self.item_row)
        )
        return last

    def needed(self, kept: BoolArray) -> BoolArray:
        """Return the items that the kept splits ask for."""
        mask: BoolArray = self.last_needed(np.where(kept, 0, -1).astype(np.int32)) == 0
        return mask


def list_purchases(forest: Forest, routes: Routes) -> Purchases:
    """Find out what the rows of each split buy there."""
    split = np.flatnonzero(forest.is_split)
    uses = first_uses(forest)
    n_arcs = np.zeros(forest.n_nodes, dtype=np.int64)
    n_arcs[uses] = routes.n_rows_of[uses]
    if n_arcs.sum() >= 2**31:
        raise RangeError(
            f"The forest buys features at {n_arcs.sum()} (split, row) pairs; up to 2**31 fit. "
            "Prune on a sample of the rows."
        )
    arc_start = np.zeros(len(split) + 1, dtype=np.int64)
    np.cumsum(n_arcs[split], out=arc_start[1:])
    arc_item = np.empty(arc_start[-1], dtype=np.int32)
    item_feature, item_row = kernels.number_items(
        uses,
        forest.feature,
        forest.tree_of(uses),
        routes.order,
        routes.start,
        routes.stop,
        arc_start[np.searchsorted(split, uses)],
        arc_item,
        min(len(arc_item), len(np.unique(forest.feature[uses])) * routes.n_rows),
    )
    return Purchases(
        handed_over(arc_start),
        handed_over(arc_item),
        handed_over(item_feature),
        handed_over(item_row),
    )
