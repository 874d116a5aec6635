"""A tree that prunes itself at prices: the paper's sub-problem, its network and our one pass."""

import numpy as np
from builders import instance_of, plain_closure, pruning_cases
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from thriftwood import paper
from thriftwood.solvers.subproblems import subproblems_of


@settings(max_examples=200)
@given(pruning_cases(), st.integers(0, 2**32 - 1))
def test_one_pass_finds_the_optimum_of_the_network_program_of_every_tree(case, seed):
    instance = instance_of(case)
    forest, losses = instance.forest, instance.losses
    problem, index, purchases = plain_closure(
        forest, instance.routes, losses, instance.prices, instance.weights
    )
    most = max(losses.max(), 1.0)  # in the program everything is divided by it
    unit = float(index.gain_unit) / most
    eighths = np.random.default_rng(seed).integers(0, 4, problem.n_arcs) / 8
    prices = np.rint(eighths / unit).astype(np.int64)
    with subproblems_of(problem).workers(n_jobs=1) as solve:
        values, _ = solve(prices)

    node = index.split[problem.arc_project()]
    feature = purchases.cost_item[problem.arc_item]
    row = purchases.item_payer[problem.arc_item]
    weight = dict(zip(instance.z_names, losses / most, strict=True))
    for t, k, i, price in zip(forest.tree_of(node), feature, row, prices, strict=True):
        weight[f"w({t + 1})_{k + 1},{i + 1}"] = price * unit

    roots = forest.tree_start[:-1]
    number = {node: project for project, node in enumerate(index.split)}
    for tree, root in enumerate(roots):
        network = paper.network_form(paper.tree_equalities(instance, tree))
        program = linprog(
            [weight[name] for name in network.column_names],
            A_eq=network.matrix,
            b_eq=network.right_side,
        )
        gained = max(values[number[root]], 0) * unit if root in number else 0.0
        np.testing.assert_allclose(program.fun, losses[root] / most - gained, atol=1e-6)
