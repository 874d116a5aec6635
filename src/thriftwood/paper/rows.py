"""The constraints that the paper's programs are made of, other than the equalities of a tree."""

import numpy as np
from scipy.sparse import csr_array

from thriftwood.forest.routes import are_first_uses
from thriftwood.paper.instance import PaperInstance
from thriftwood.paper.numbering import nodes_down_to
from thriftwood.paper.program import Constraints
from thriftwood.paper.uses import rows_through
from thriftwood.support.arrays import FloatArray, IntArray


def leaf_constraints(instance: PaperInstance) -> Constraints:
    """Return z_h + the sum of z over p(h) = 1 for every leaf h, in pre-order."""
    forest, number = instance.forest, instance.numbering.number
    in_order = np.argsort(number)
    leaves = in_order[~forest.is_split[in_order]]
    row, passed = nodes_down_to(forest, leaves)
    return Constraints(
        matrix=csr_array(
            (np.ones(len(row)), (row, number[passed] - 1)), shape=(len(leaves), forest.n_nodes)
        ),
        senses=("=",) * len(leaves),
        right_side=np.ones(len(leaves)),
        row_names=tuple(f"leaf_{number[leaf]}" for leaf in leaves),
        column_names=tuple(instance.z_names[node] for node in in_order),
    )


def naive_constraints(instance: PaperInstance) -> Constraints:
    """Return w_{k,i} - z_h >= 0 for all h such that i is in S_h and k is used in p(h): IP1's."""
    node, pair = _nodes_below_uses(instance)
    names = [
        (instance.w_names[k_i], instance.z_names[h]) for h, k_i in zip(node, pair, strict=True)
    ]
    return Constraints(
        matrix=_differences(len(instance.z_names) + pair, node, _width(instance)),
        senses=(">=",) * len(node),
        right_side=np.zeros(len(node)),
        row_names=tuple(f"{w} at {z}" for w, z in names),
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
    below, above = nodes_down_to(forest, np.arange(forest.n_nodes))
    apart = (below != above) & are_first_uses(forest)[above]
    below, above = below[apart], above[apart]
    times = instance.routes.n_samples_of[below]
    node = np.repeat(below, times)
    feature = np.repeat(forest.feature[above].astype(np.int64), times)
    row = rows_through(forest, instance.routes, below)
    pair = np.searchsorted(uses.pair_feature * n_samples + uses.pair_row, feature * n_samples + row)
    order = np.lexsort((instance.numbering.number[node], pair))
    return node[order], pair[order]


def _differences(plus: IntArray, minus: IntArray, n_columns: int) -> csr_array:
    """Return a matrix with a 1 and a -1 in every row."""
    rows = np.arange(len(plus))
    signs: FloatArray = np.repeat([1.0, -1.0], len(rows))
    places = (np.tile(rows, 2), np.concatenate([plus, minus]))
    return csr_array((signs, places), shape=(len(rows), n_columns))


def _width(instance: PaperInstance) -> int:
    return len(instance.z_names) + len(instance.w_names)
