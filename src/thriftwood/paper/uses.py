"""Who uses which feature where: the paper's K(t, i) and u(t, k, i)."""

from dataclasses import dataclass

import numpy as np

from thriftwood.forest import Forest
from thriftwood.forest.routes import Routes, first_uses
from thriftwood.support.arrays import IntArray, read_only


@dataclass(frozen=True, eq=False)
class Uses:
    """Every (t, k, i) such that example i uses feature k in tree t, sorted by k, i and t.

    Attributes
    ----------
    tree, feature, row, node : shape (n_uses,)
        t, k, i and u(t, k, i): the first node on the way of the example that tests the feature.
    pair : shape (n_uses,)
        Which (k, i) of the ensemble each use belongs to.
    pair_feature, pair_row : shape (n_pairs,)
        k and i of every pair that some tree uses.
    """

    tree: IntArray
    feature: IntArray
    row: IntArray
    node: IntArray
    pair: IntArray
    pair_feature: IntArray
    pair_row: IntArray

    def __len__(self) -> int:
        return len(self.node)


def list_uses(forest: Forest, routes: Routes) -> Uses:
    """Find the first uses of every example in every tree."""
    nodes = first_uses(forest)
    node = np.repeat(nodes, routes.n_samples_of[nodes])
    row = rows_through(forest, routes, nodes)
    feature, tree = forest.feature[node].astype(np.int64), forest.tree_of(node)
    order = np.lexsort((tree, row, feature))
    pairs, pair = np.unique(feature[order] * routes.n_samples + row[order], return_inverse=True)
    return Uses(
        tree=read_only(tree[order]),
        feature=read_only(feature[order]),
        row=read_only(row[order]),
        node=read_only(node[order]),
        pair=read_only(pair),
        pair_feature=read_only(pairs // routes.n_samples),
        pair_row=read_only(pairs % routes.n_samples),
    )


def rows_through(forest: Forest, routes: Routes, nodes: IntArray) -> IntArray:
    """Return the paper's S_h of several nodes, one after the other."""
    trees = forest.tree_of(nodes)
    slices = [
        routes.order[tree, routes.start[node] : routes.stop[node]]
        for tree, node in zip(trees, nodes, strict=True)
    ]
    return np.concatenate([np.empty(0, dtype=np.int64), *slices])
