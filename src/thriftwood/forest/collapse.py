"""Make leaves of the splits that are not kept."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from thriftwood.errors import ForestError
from thriftwood.forest.forest import Forest
from thriftwood.forest.kernels import LEAF, NO_SET
from thriftwood.support.arrays import BoolArray


def collapse(forest: Forest, kept: BoolArray) -> tuple[Forest, NDArray[np.int64]]:
    """Return the forest whose splits are exactly the kept ones, and where its nodes came from.

    Parameters
    ----------
    forest : Forest
    kept : bool array, shape (n_nodes,)
        True at the nodes that stay splits. A kept node must be a split whose parent is kept.

    Returns
    -------
    collapsed : Forest
        Nodes keep their order and their value; a split that is not kept becomes a leaf.
    origin : int array, shape (collapsed.n_nodes,)
        The index in `forest` of each node of `collapsed`.
    """
    _check_kept(forest, kept)
    parent = forest.parent
    stays = (parent == LEAF) | kept[parent]
    origin = np.flatnonzero(stays)
    new_index = np.cumsum(stays, dtype=np.int32) - 1
    split = kept[origin]
    collapsed = replace(
        forest,
        tree_start=np.searchsorted(origin, forest.tree_start),
        feature=np.where(split, forest.feature[origin], LEAF),
        threshold=np.where(split, forest.threshold[origin], 0.0),
        left=np.where(split, new_index[forest.left[origin]], LEAF),
        right=np.where(split, new_index[forest.right[origin]], LEAF),
        missing_left=forest.missing_left[origin] & split,
        values=forest.values[origin],
        zero_is_missing=forest.zero_is_missing[origin] & split,
        category_set=np.where(split, forest.category_set[origin], NO_SET),
        gains=None if forest.gains is None else np.where(split, forest.gains[origin], 0.0),
    )
    return collapsed, origin


def _check_kept(forest: Forest, kept: BoolArray) -> None:
    if kept.dtype != np.bool_ or kept.shape != (forest.n_nodes,):
        raise ForestError(
            f"`kept` must be a mask with one entry for each of the {forest.n_nodes} nodes."
        )
    if (kept & ~forest.is_split).any():
        raise ForestError("`kept` names a leaf: only splits can be kept.")
    below_root = forest.parent != LEAF
    if (kept & below_root & ~kept[forest.parent]).any():
        raise ForestError("`kept` names a split whose parent is not kept: it could not be reached.")
