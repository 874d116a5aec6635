"""The optimal pruning as a mixed-integer program, written from the meaning of prices alone."""

import numpy as np
from prunings import LOSSES
from receipts import Tariff, counted_in_bills, names_of, rows_as_compared, walk
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

SCALE = 1e4  # HiGHS takes a gap of 1e-6 for none


class Program:
    """Yes-or-no variables by name, what a yes costs, and rules "who says yes here must there"."""

    def __init__(self):
        self.number = {}
        self.price = []
        self.rules = []
        self.constant = 0.0

    def variable(self, name):
        if name not in self.number:
            self.number[name] = len(self.price)
            self.price.append(0.0)
        return self.number[name]

    def add_price(self, name, price):
        self.price[self.variable(name)] += price

    def require(self, name, other):
        """No `name` without `other`."""
        self.rules.append((self.variable(name), self.variable(other)))

    def solve(self):
        """Return the least total, and the names that say yes."""
        if not self.price:
            return self.constant, set()
        rules = np.array(sorted(set(self.rules))).reshape(-1, 2)
        each = np.arange(len(rules))
        matrix = coo_array(
            (
                np.repeat([1.0, -1.0], len(rules)),
                (np.tile(each, 2), np.concatenate([rules[:, 0], rules[:, 1]])),
            ),
            shape=(len(rules), len(self.price)),
        )
        result = milp(
            SCALE * np.array(self.price),
            integrality=np.ones(len(self.price)),
            bounds=Bounds(0, 1),
            constraints=[LinearConstraint(matrix.tocsr(), ub=0)] if len(rules) else [],
            options={"mip_rel_gap": 0},
        )
        assert result.success, result.message
        yes = {name for name, at in self.number.items() if result.x[at] > 0.5}
        return result.fun / SCALE + self.constant, yes


def solve_by_program(forest, X, y, costs, tradeoff, feature_names=None, weights=None, loss="error"):
    """Return the least objective of any pruning, and the kept splits that reach it."""
    names = names_of(forest, feature_names)
    weights = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=float)
    shares = weights / weights.sum()
    paying = counted_in_bills(costs, weights, len(X))
    paying = paying / paying.sum()
    tariff = Tariff(costs, names, len(X))
    program = Program()
    splits = np.flatnonzero(forest.is_split)
    for node in splits:
        program.variable(("kept", node))
        if forest.parent[node] >= 0:
            program.require(("kept", node), ("kept", forest.parent[node]))
    for row, values in enumerate(rows_as_compared(forest, X)):
        for tree in range(forest.n_trees):
            passed = walk(forest, tree, values, forest.is_split)
            _lose(program, forest, tree, passed, values, y[row], shares[row], loss)
            for node in passed:
                program.add_price(("kept", node), tradeoff * paying[row] * costs.per_split)
                feature = names[forest.feature[node]]
                if not tariff.knows(row, feature):
                    program.require(("kept", node), ("needs", row, feature))
    _needs_of_rows(program, tariff, names, paying, tradeoff)
    _needs_of_model(program, tariff, forest, names, tradeoff)
    objective, yes = program.solve()
    kept = np.zeros(forest.n_nodes, dtype=bool)
    kept[[node for what, node, *_ in yes if what == "kept"]] = True
    return objective, kept


def _lose(program, forest, tree, passed, values, label, share, loss):
    """A row loses at its root; each kept split replaces a node's loss by that of its child."""
    root = int(forest.tree_start[tree])
    share /= forest.n_trees
    program.constant += share * LOSSES[loss](forest.values[root], label)
    for node in passed:
        value = values[forest.feature[node]]
        left = forest.missing_left[node] if np.isnan(value) else value <= forest.threshold[node]
        child = forest.left[node] if left else forest.right[node]
        before, after = (LOSSES[loss](forest.values[at], label) for at in (node, child))
        program.add_price(("kept", node), share * (after - before))


def _needs_of_rows(program, tariff, names, shares, tradeoff):
    """Who needs a feature needs what it is made of; it is charged, and so are its groups."""
    charged = set()
    for row, share in enumerate(shares):
        for feature in names:
            need = ("needs", row, feature)
            for before in tariff.prerequisites(feature):
                if not tariff.knows(row, before):
                    program.require(need, ("needs", row, before))
            dues = [(feature, tariff.price(row, feature))]
            dues += [(group, tariff.fee(group)) for group in tariff.groups_of(feature)]
            for name, due in dues:
                charge = ("charged", name, tariff.batch(row, name))
                program.require(need, charge)
                if charge not in charged:
                    program.add_price(charge, tradeoff * share * due)
                    charged.add(charge)


def _needs_of_model(program, tariff, forest, names, tradeoff):
    """The model needs what its kept splits test, and what that is made of."""
    once = tradeoff / (tariff.costs.predictions or 1)
    for node in np.flatnonzero(forest.is_split):
        program.add_price(("kept", node), once * tariff.costs.per_node)
        program.require(("kept", node), ("in model", names[forest.feature[node]]))
    for feature in names:
        for other in [*tariff.prerequisites(feature), *tariff.groups_of(feature)]:
            program.require(("in model", feature), ("in model", other))
    for name in [*names, *tariff.groups]:
        program.add_price(("in model", name), once * tariff.upkeep(name))
