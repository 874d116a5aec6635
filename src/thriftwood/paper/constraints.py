"""The constraints that the paper's programs are made of.

Every w^(t)_{k,i} is the z of a fictitious child of u(t, k, i) (the paper's Lemma 1), so there is
one equality for each leaf, real or fictitious: exactly one node on the way from the root to it is a
leaf of the pruned tree. With these leaves in pre-order, a column has ones in consecutive rows, the
rows of leaves below its node, and differences of neighbouring rows leave one 1 and one -1 of them.

Two things the paper does not say. The fictitious children need a place in the pre-order too: we put
them last below u(t, k, i), as its matrices do, and in general their rows then come between those of
real leaves. And n rows become n + 1, whose sum is 0: the matrix is that of a network, where every
column is an arc, and the right side -1, 0, ..., 0, 1 sends one unit through it.
"""

import numpy as np
from scipy.sparse import csr_array, vstack

from thriftwood.errors import InputError
from thriftwood.forest import first_uses
from thriftwood.paper.instance import PaperInstance
from thriftwood.paper.programs import Constraints
from thriftwood.support.arrays import FloatArray, IntArray
from thriftwood.support.validation import is_whole


def tree_equalities(instance: PaperInstance, tree: int) -> Constraints:
    """Return the equalities of IP3 for one tree, from 0, as the paper prints them for its two.

    Columns are z of the tree's nodes in pre-order, then w^(t)_{k,i} by feature and sample; rows are
    leaves, real and fictitious, in pre-order.
    """
    n_trees = instance.forest.n_trees
    if not is_whole(tree) or not 0 <= tree < n_trees:
        raise InputError(f"There is no tree {tree!r}: they are numbered from 0 to {n_trees - 1}.")
    own = np.flatnonzero(instance.uses.tree == tree)
    return _path_equalities(instance, instance.nodes_of(tree), own)


def leaf_constraints(instance: PaperInstance) -> Constraints:
    """Return z_h + the sum of z over p(h) = 1 for every leaf h, in pre-order."""
    no_uses = np.empty(0, dtype=np.int64)
    return _path_equalities(instance, np.argsort(instance.number), no_uses)


def _path_equalities(instance: PaperInstance, nodes: IntArray, own: IntArray) -> Constraints:
    """Return the equalities of the leaves among nodes in pre-order, and of some of the uses."""
    forest, uses = instance.forest, instance.uses
    leaves = nodes[~forest.is_split[nodes]]
    ends = np.concatenate([leaves, uses.node[own]])  # where the way from the root ends
    # A fictitious child is the last one: what ends below a node comes before the node ends.
    last = instance.number[ends] + instance.n_below[ends]
    order = np.lexsort((np.concatenate([leaves, uses.sample[own]]), -forest.depth[ends], last))
    row, passed = instance.nodes_down_to(ends)
    fictitious = np.arange(len(own))
    rows = np.concatenate([row, len(leaves) + fictitious])
    place = instance.number[passed] - instance.number[nodes[0]]
    columns = np.concatenate([place, len(nodes) + fictitious])
    shape = (len(ends), len(nodes) + len(own))
    matrix = csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
    w_names = [instance.tree_w_names[use] for use in own]
    names = [f"leaf_{instance.number[leaf]}" for leaf in leaves]
    names += [f"use of {name}" for name in w_names]
    return Constraints(
        matrix=matrix[order],
        senses=("=",) * len(ends),
        right_side=np.ones(len(ends)),
        row_names=tuple(names[place] for place in order),
        column_names=(*(instance.z_names[node] for node in nodes), *w_names),
    )


def network_form(equalities: Constraints) -> Constraints:
    """Return -r_1, r_1 - r_2, ..., r_n of the rows r_1 to r_n, the paper's row operations.

    Every column then has exactly two entries other than 0, a 1 and a -1, if `equalities` are those
    of `tree_equalities`. The rows add up to 0, so any one of them is redundant.
    """
    rows, sides = equalities.matrix, equalities.right_side
    n = len(sides)
    return Constraints(
        matrix=csr_array(vstack([-rows[:1], rows[:-1] - rows[1:], rows[n - 1 :]])),
        senses=("=",) * (n + 1),
        right_side=np.concatenate([-sides[:1], sides[:-1] - sides[1:], sides[-1:]]),
        row_names=("-r_1", *(f"r_{row} - r_{row + 1}" for row in range(1, n)), f"r_{n}"),
        column_names=equalities.column_names,
    )


def naive_constraints(instance: PaperInstance) -> Constraints:
    """Return w_{k,i} - z_h >= 0 for all h such that i is in S_h and k is used in p(h): IP1's."""
    node, pair = _nodes_below_uses(instance)
    n_nodes = len(instance.z_names)
    names = [
        f"{instance.w_names[k_i]} at {instance.z_names[h]}"
        for h, k_i in zip(node, pair, strict=True)
    ]
    return Constraints(
        matrix=_differences(n_nodes + pair, node, n_nodes + len(instance.w_names)),
        senses=(">=",) * len(node),
        right_side=np.zeros(len(node)),
        row_names=tuple(names),
        column_names=(*instance.z_names, *instance.w_names),
    )


def sharing_constraints(instance: PaperInstance) -> Constraints:
    """Return w^(t)_{k,i} - w_{k,i} <= 0 for every use, those of the same k and i together."""
    use, pair = np.arange(len(instance.uses)), instance.uses.pair
    n_uses, n_pairs = len(use), len(instance.w_names)
    return Constraints(
        matrix=_differences(use, n_uses + pair, n_uses + n_pairs),
        senses=("<=",) * n_uses,
        right_side=np.zeros(n_uses),
        row_names=tuple(f"share of {name}" for name in instance.tree_w_names),
        column_names=(*instance.tree_w_names, *instance.w_names),
    )


def budget_constraint(instance: PaperInstance, budget: float) -> Constraints:
    """Return that the mean feature cost is at most the budget: LP1's."""
    return Constraints(
        matrix=csr_array(instance.mean_prices[None, :]),
        senses=("<=",),
        right_side=np.array([budget]),
        row_names=("budget",),
        column_names=tuple(instance.w_names),
    )


def _nodes_below_uses(instance: PaperInstance) -> tuple[IntArray, IntArray]:
    """Return every h and (k, i) such that i reaches h and k is used above it, by k, i and h."""
    forest, uses, n_samples = instance.forest, instance.uses, instance.routes.n_samples
    below, above = instance.nodes_down_to(np.arange(forest.n_nodes))
    apart = (below != above) & np.isin(above, first_uses(forest))
    below, above = below[apart], above[apart]
    times = instance.routes.n_samples_of[below]
    node = np.repeat(below, times)
    feature = np.repeat(forest.feature[above].astype(np.int64), times)
    row = instance.samples_through(below)
    pair = np.searchsorted(
        uses.pair_feature * n_samples + uses.pair_sample, feature * n_samples + row
    )
    order = np.lexsort((instance.number[node], pair))
    return node[order], pair[order]


def _differences(plus: IntArray, minus: IntArray, n_columns: int) -> csr_array:
    """Return a matrix with a 1 and a -1 in every row."""
    rows = np.arange(len(plus))
    signs: FloatArray = np.repeat([1.0, -1.0], len(rows))
    places = (np.tile(rows, 2), np.concatenate([plus, minus]))
    return csr_array((signs, places), shape=(len(rows), n_columns))
