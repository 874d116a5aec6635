"""The paper's programs IP0, IP1, IP2, IP3 and LP1, in its own variables.

z_h is 1 where node h is a leaf of the pruned tree, w_{k,i} where example i uses feature k, and
w^(t)_{k,i} where it does so in tree t. The paper writes w for all features and examples. Here are
those that some tree uses, as its count of variables has it; nothing forces the others up from 0.
"""

from dataclasses import replace

import numpy as np

from thriftwood.errors import InputError
from thriftwood.paper.instance import PaperInstance
from thriftwood.paper.network import tree_equalities
from thriftwood.paper.program import Constraints, LinearProgram, stacked
from thriftwood.paper.rows import (
    budget_constraint,
    leaf_constraints,
    naive_constraints,
    sharing_constraints,
)
from thriftwood.support.arrays import FloatArray
from thriftwood.support.validation import one_number_from_zero


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
        raise InputError(
            f"IP2 is for one tree, and here are {n_trees}: ip3 is its form for ensembles."
        )
    equalities = tree_equalities(instance, 0)
    constraints = replace(
        equalities,
        row_names=_of_the_only_tree(equalities.row_names),
        column_names=_of_the_only_tree(equalities.column_names),
    )
    return _program("IP2", instance, constraints, _read_tradeoff(tradeoff))


def ip3(instance: PaperInstance, tradeoff: float) -> LinearProgram:
    """Return IP3, the paper's program: the equalities of each tree, and w^(t)_{k,i} <= w_{k,i}."""
    return _program("IP3", instance, _ensemble_constraints(instance), _read_tradeoff(tradeoff))


def lp1(instance: PaperInstance, budget: float) -> LinearProgram:
    """Return LP1: the relaxation of IP3 with the feature cost in a constraint.

    The paper calls its feasible set that of IP3; the proof of the corollary needs the relaxed one,
    which is convex. With `restrict()` it is the best pruning within the budget, in general hard.
    """
    number = one_number_from_zero(budget, "budget", "It is what an example may cost on average.")
    constraints = stacked(_ensemble_constraints(instance), budget_constraint(instance, number))
    return _program("LP1", instance, constraints, 0.0).relax()


def _ensemble_constraints(instance: PaperInstance) -> Constraints:
    trees = (tree_equalities(instance, tree) for tree in range(instance.forest.n_trees))
    return stacked(*trees, sharing_constraints(instance))


def _of_the_only_tree(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.replace("w(1)", "w") for name in names)


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
