"""The paper's programs IP0, IP1, IP2, IP3 and LP1, in its own variables.

z_h is 1 where node h is a leaf of the pruned tree, w_{k,i} where sample i uses feature k, and
w^(t)_{k,i} where it does so in tree t. The paper writes w for all features and samples. Here are
those that some tree uses, as its count of variables has it; nothing forces the others up from 0.
"""

from dataclasses import dataclass, replace

import numpy as np

from thriftwood.errors import InputError
from thriftwood.paper.constraints import (
    budget_constraint,
    leaf_constraints,
    naive_constraints,
    sharing_constraints,
    tree_equalities,
)
from thriftwood.paper.instance import PaperInstance
from thriftwood.paper.programs import NOISE, Constraints, LinearProgram, ProgramSolution, stacked
from thriftwood.support.arrays import BoolArray, FloatArray
from thriftwood.support.validation import one_number_from_zero


@dataclass(frozen=True, repr=False)
class ProgramSizes:
    """The sizes of IP3 for a forest and its samples.

    Attributes
    ----------
    exact, at_most : dict of str to int
        How many there are, and how many there are at most by the paper's count, with K_max the most
        features that a sample uses in a tree:

        - `z`, z^(t)_h: at most T times the nodes of the largest tree;
        - `tree_w`, w^(t)_{k,i}: at most N T K_max;
        - `w`, w_{k,i}: at most N min(T K_max, K);
        - `variables`, all of them;
        - `leaf_rows`, z^(t)_h + ... = 1: at most T times the leaves of the tree with the most;
        - `use_rows` and `share_rows`, w^(t)_{k,i} + ... = 1 and w^(t)_{k,i} <= w_{k,i}: at most
          N T K_max each;
        - `constraints`, all of them, other than bounds on variables.
    """

    exact: dict[str, int]
    at_most: dict[str, int]

    def __repr__(self) -> str:
        lines = [f"  {'':12s}{'exact':>10s}{'at most':>10s}"]
        for name, exact in self.exact.items():
            lines.append(f"  {name.replace('_', ' '):12s}{exact:10d}{self.at_most[name]:10d}")
        return "\n".join(["IP3 and the paper's count of it", *lines])


def ip0(instance: PaperInstance) -> LinearProgram:
    """Return IP0, pruning without feature costs; with several trees, all of them side by side."""
    return _program("IP0", instance, leaf_constraints(instance), 0.0)


def ip1(instance: PaperInstance, tradeoff: float) -> LinearProgram:
    """Return IP1, the naive formulation: w_{k,i} >= z_h wherever h lies below a use of k by i.

    Written for one tree in the paper; several trees share w_{k,i}. Its relaxation has fractional
    vertices.
    """
    constraints = stacked(leaf_constraints(instance), naive_constraints(instance))
    return _program("IP1", instance, constraints, _read_tradeoff(tradeoff))


def ip2(instance: PaperInstance, tradeoff: float) -> LinearProgram:
    """Return IP2, the formulation of one tree whose relaxation is integral."""
    n_trees = instance.forest.n_trees
    if n_trees > 1:
        raise InputError(f"IP2 is for one tree, and here are {n_trees}: ip3 is for ensembles.")
    equalities = tree_equalities(instance, 0)
    rows, columns = (
        tuple(name.replace("w(1)", "w") for name in names)
        for names in (equalities.row_names, equalities.column_names)
    )
    constraints = replace(equalities, row_names=rows, column_names=columns)
    return _program("IP2", instance, constraints, _read_tradeoff(tradeoff))


def ip3(instance: PaperInstance, tradeoff: float) -> LinearProgram:
    """Return IP3, the paper's program: the equalities of each tree, and w^(t)_{k,i} <= w_{k,i}."""
    return _program("IP3", instance, _ensemble_constraints(instance), _read_tradeoff(tradeoff))


def lp1(instance: PaperInstance, budget: float) -> LinearProgram:
    """Return LP1: the relaxation of IP3 with the feature cost in a constraint.

    The paper calls its feasible set that of IP3; the proof of the corollary needs the relaxed one,
    which is convex. With `restrict()` it is the best pruning within the budget, in general hard.
    """
    number = one_number_from_zero(budget, "budget", "It is what a sample may cost on average.")
    constraints = stacked(_ensemble_constraints(instance), budget_constraint(instance, number))
    return _program("LP1", instance, constraints, 0.0).relax()


def kept_splits(instance: PaperInstance, solution: ProgramSolution) -> BoolArray:
    """Return which nodes stay splits, as a mask over the forest's nodes.

    A node is a split if neither it nor a node above it is a leaf of the pruned tree: 1 minus its z
    and minus the sum of z over p(h) is 1.
    """
    value_of = solution.by_name()
    missing = [name for name in instance.z_names if name not in value_of]
    if missing:
        raise InputError(f"The solution has no {missing[0]}: it is one of another forest.")
    leaf_at = np.array([value_of[name] for name in instance.z_names])
    fractional = np.flatnonzero(np.abs(leaf_at - np.rint(leaf_at)) > NOISE)
    if len(fractional):
        name, value = instance.z_names[fractional[0]], leaf_at[fractional[0]]
        raise InputError(
            f"The solution is fractional ({name} is {value:.4g}), so it is no pruning: solve IP0, "
            "IP2 or IP3, or a program over 0 and 1."
        )
    forest = instance.forest
    which, passed = instance.nodes_down_to(np.arange(forest.n_nodes))
    leaves_passed = np.bincount(which, weights=leaf_at[passed], minlength=forest.n_nodes)
    return forest.is_split & (leaves_passed < 0.5)


def count_sizes(instance: PaperInstance) -> ProgramSizes:
    """Count the variables and constraints of IP3 without building it."""
    forest, uses = instance.forest, instance.uses
    n_trees, n_samples = forest.n_trees, instance.routes.n_samples
    most_nodes = int(np.diff(forest.tree_start).max())
    most_leaves = (most_nodes + 1) // 2  # every split has two children
    most_used = int(np.bincount(uses.tree * n_samples + uses.sample, minlength=1).max())
    most_uses = n_samples * n_trees * most_used
    most_pairs = n_samples * min(n_trees * most_used, forest.n_features)
    n_leaves = forest.n_nodes - forest.n_splits
    return ProgramSizes(
        exact=_with_totals(forest.n_nodes, len(uses), len(uses.pair_sample), n_leaves),
        at_most=_with_totals(n_trees * most_nodes, most_uses, most_pairs, n_trees * most_leaves),
    )


def _ensemble_constraints(instance: PaperInstance) -> Constraints:
    trees = (tree_equalities(instance, tree) for tree in range(instance.forest.n_trees))
    return stacked(*trees, sharing_constraints(instance))


def _program(
    name: str, instance: PaperInstance, constraints: Constraints, tradeoff: float
) -> LinearProgram:
    """Add the objective: 1 / (N T) times e_h z_h, plus the tradeoff times c_k / N times w_{k,i}."""
    weight_of = dict(zip(instance.z_names, instance.mean_losses, strict=True))
    weight_of |= zip(instance.w_names, tradeoff * instance.mean_prices, strict=True)
    objective: FloatArray = np.array(
        [weight_of.get(name, 0.0) for name in constraints.column_names]
    )
    return LinearProgram(name, objective, constraints)


def _read_tradeoff(tradeoff: float) -> float:
    return one_number_from_zero(tradeoff, "tradeoff", "It is the paper's lambda.")


def _with_totals(z: int, tree_w: int, w: int, leaf_rows: int) -> dict[str, int]:
    """Return the counts by name, with those of all variables and all constraints."""
    return {
        "z": z,
        "tree_w": tree_w,
        "w": w,
        "variables": z + tree_w + w,
        "leaf_rows": leaf_rows,
        "use_rows": tree_w,
        "share_rows": tree_w,
        "constraints": leaf_rows + 2 * tree_w,
    }
