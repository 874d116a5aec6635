"""The equalities of one tree, and the network matrix that row operations make of them.

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
from thriftwood.paper.instance import PaperInstance
from thriftwood.paper.numbering import nodes_down_to
from thriftwood.paper.program import Constraints
from thriftwood.support.arrays import IntArray
from thriftwood.support.validation import is_whole


def tree_equalities(instance: PaperInstance, tree: int) -> Constraints:
    """Return the equalities of IP3 for one tree, as the paper prints them for its two.

    Parameters
    ----------
    instance : PaperInstance
    tree : int
        From 0.

    Returns
    -------
    Constraints
        Columns: z of the tree's nodes in pre-order, then w^(t)_{k,i} by feature and example. Rows:
        leaves, real and fictitious, in pre-order.
    """
    forest, uses = instance.forest, instance.uses
    if not is_whole(tree) or not 0 <= tree < forest.n_trees:
        raise InputError(
            f"There is no tree {tree!r}: they are numbered from 0 to {forest.n_trees - 1}."
        )
    nodes = instance.nodes_of(tree)
    leaves = nodes[~forest.is_split[nodes]]
    own = np.flatnonzero(uses.tree == tree)
    ends = np.concatenate([leaves, uses.node[own]])  # where the way from the root ends
    order = _in_preorder(instance, ends, np.concatenate([leaves, uses.row[own]]))
    row, passed = nodes_down_to(forest, ends)
    fictitious = np.arange(len(own))
    rows = np.concatenate([row, len(leaves) + fictitious])
    place = instance.numbering.number[passed] - instance.numbering.number[nodes[0]]
    columns = np.concatenate([place, len(nodes) + fictitious])
    shape = (len(ends), len(nodes) + len(own))
    matrix = csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
    w_names = [instance.tree_w_names[use] for use in own]
    names = [f"leaf_{instance.numbering.number[leaf]}" for leaf in leaves]
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


def _in_preorder(instance: PaperInstance, ends: IntArray, row: IntArray) -> IntArray:
    """Sort leaves and fictitious last children: what ends below a node comes before it ends."""
    last, depth = instance.numbering.last[ends], instance.forest.depth[ends]
    order: IntArray = np.lexsort((row, -depth, last))
    return order
