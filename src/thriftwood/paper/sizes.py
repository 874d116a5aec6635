"""How large IP3 is, and how large the paper's paragraph on complexity says it is at most."""

from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from thriftwood.paper.instance import PaperInstance


class Size(NamedTuple):
    """How many there are, and how many there are at most by the paper's count."""

    exact: int
    at_most: int


@dataclass(frozen=True, repr=False)
class ProgramSizes:
    """The sizes of IP3 for a forest and its examples.

    Attributes
    ----------
    z : Size
        z^(t)_h: at most T times the nodes of the largest tree.
    tree_w : Size
        w^(t)_{k,i}: at most N T K_max, with K_max the most features that an example uses in a tree.
    w : Size
        w_{k,i}: at most N min(T K_max, K).
    variables : Size
        All of them.
    leaf_rows : Size
        z^(t)_h + ... = 1: at most T times the leaves of the tree with the most.
    use_rows, share_rows : Size
        w^(t)_{k,i} + ... = 1, and w^(t)_{k,i} <= w_{k,i}: at most N T K_max each.
    constraints : Size
        All of them, other than bounds on variables.
    """

    z: Size
    tree_w: Size
    w: Size
    variables: Size
    leaf_rows: Size
    use_rows: Size
    share_rows: Size
    constraints: Size

    def __repr__(self) -> str:
        lines = [f"  {'':12s}{'exact':>10s}{'at most':>10s}"]
        for field in fields(self):
            size: Size = getattr(self, field.name)
            lines.append(f"  {field.name.replace('_', ' '):12s}{size.exact:10d}{size.at_most:10d}")
        return "\n".join(["IP3 and the paper's count of it", *lines])


def count_sizes(instance: PaperInstance) -> ProgramSizes:
    """Count the variables and constraints of IP3 without building it."""
    forest, uses = instance.forest, instance.uses
    n_trees, n_samples = forest.n_trees, instance.routes.n_samples
    sizes_of_trees = np.diff(forest.tree_start)
    most_nodes = int(sizes_of_trees.max())
    most_leaves = (most_nodes + 1) // 2  # every split has two children
    most_used = int(np.bincount(uses.tree * n_samples + uses.row, minlength=1).max())
    z = Size(forest.n_nodes, n_trees * most_nodes)
    tree_w = Size(len(uses), n_samples * n_trees * most_used)
    w = Size(len(uses.pair_row), n_samples * min(n_trees * most_used, forest.n_features))
    leaf_rows = Size(forest.n_nodes - forest.n_splits, n_trees * most_leaves)
    return ProgramSizes(
        z=z,
        tree_w=tree_w,
        w=w,
        variables=_total(z, tree_w, w),
        leaf_rows=leaf_rows,
        use_rows=tree_w,
        share_rows=tree_w,
        constraints=_total(leaf_rows, tree_w, tree_w),
    )


def _total(*sizes: Size) -> Size:
    return Size(sum(size.exact for size in sizes), sum(size.at_most for size in sizes))
