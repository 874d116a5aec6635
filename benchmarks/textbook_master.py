"""The textbook's master of the decomposition, in HiGHS: it mixes whole closed sets, not pieces.

The *restricted master* mixes, for each tree of projects, the closed sets that it proposed so far.
An item is bought as far as a mixture needs it: one constraint per arc, whose dual value is the
price at which the tree is asked next, until no proposal is worth more than the mixture. We made it
as quick as we could:

- HiGHS gets the dual of the master. A proposal is a new row then, the last basis stays dual
  feasible, and HiGHS goes on from it with the dual simplex, which is its best.
- Items are one as long as all trees propose them together. A new proposal splits such groups, and
  the basis with them.
- Wentges' smoothing: trees are asked at prices between the best known and those of the master.

Trees first propose what they want where all who need an item share its cost equally.
"""

from dataclasses import dataclass
from time import perf_counter

import highspy
import numpy as np
from scipy.sparse import csr_array, vstack

from thriftwood.closure import ClosureProblem, exact_sum, merge_twin_items
from thriftwood.closure.kernels import closure_at_prices
from thriftwood.solvers.dantzig_wolfe_kernels import roots
from thriftwood.support.arrays import BoolArray, FloatArray, IntArray

SMOOTHING = 0.95  # how much of the best known prices is in those that trees are asked at
FINE = 2**20  # prices are rounded to parts of a unit, so that trees can answer in whole numbers
CLOSE = 0.5  # profits are whole numbers: no other is as near as this
TOLERANCE = 1e-6  # by how much a proposal must improve the mixture
DUAL, PRIMAL = 1, 4  # simplex strategies of HiGHS
BASIC, LOWER = highspy.HighsBasisStatus.kBasic, highspy.HighsBasisStatus.kLower
NO_LIMIT = highspy.kHighsInf


@dataclass(frozen=True)
class TextbookRun:
    """How far the rounds came; profits are those of the closure problem."""

    n_rounds: int  # restricted masters that were solved
    n_columns: int  # proposals in the last one
    n_samples: int  # its constraints: one per tree, one per group of arcs that were proposed alike
    profit: float  # of the best mixture
    bound: float  # no closed set has a larger profit
    seconds: float  # with merging twins
    finished: bool  # whether profit and bound met before the time was up


def solve_by_columns(problem: ClosureProblem, seconds: float) -> TextbookRun:
    """Generate columns until profit and bound meet or the time is up."""
    begin = perf_counter()
    smaller, _ = merge_twin_items(problem)
    master = _Master(smaller)
    best_prices = _share(smaller, master.paid)
    bound, chosen = _ask(smaller, best_prices)
    n_new = master.add(chosen)
    n_rounds, profit = 0, 0.0
    while n_new and bound - profit >= CLOSE and master.solve(seconds - perf_counter() + begin):
        n_rounds, profit, n_new = n_rounds + 1, master.profit, 0
        prices = _share(smaller, master.paid)
        smoothing = SMOOTHING
        while not n_new and bound - profit >= CLOSE:
            mixed = smoothing * best_prices + (1 - smoothing) * prices
            value, chosen = _ask(smaller, mixed)
            if value < bound:
                bound, best_prices = value, mixed
            n_new = master.add(chosen)
            if smoothing == 0:
                break
            smoothing = smoothing / 2 if smoothing > 0.1 else 0.0
    return TextbookRun(
        n_rounds=n_rounds,
        n_columns=master.proposals.shape[0],
        n_samples=master.n_trees + len(master.arcs),
        profit=profit,
        bound=bound,
        seconds=perf_counter() - begin,
        finished=bound - profit < CLOSE,
    )


def _ask(problem: ClosureProblem, prices: FloatArray) -> tuple[float, BoolArray]:
    """Return the bound that prices of arcs prove, and what all trees propose."""
    rounded = np.floor(prices * FINE).astype(np.int64)
    most = exact_sum(np.maximum(problem.gains, 0)) * FINE + 1
    gains = problem.gains * FINE
    values, chosen = closure_at_prices(gains, problem.requires, problem.arc_start, rounded, most)
    return exact_sum(np.maximum(values[problem.requires < 0], 0)) / FINE, chosen


def _share(problem: ClosureProblem, paid: FloatArray) -> FloatArray:
    """Return what arcs pay, and an equal share of what nobody pays yet."""
    total = np.bincount(problem.arc_item, paid, problem.n_items)
    n_askers = np.bincount(problem.arc_item, minlength=problem.n_items)
    too_much = np.maximum(total / problem.costs, 1)  # by what HiGHS tolerates
    unpaid = np.maximum(problem.costs - total, 0) / n_askers
    return paid / too_much[problem.arc_item] + unpaid[problem.arc_item]


class _Master:
    """The dual of the restricted master: the least values of trees that no proposal exceeds.

    Its columns are the values of trees, then what groups of arcs pay. Its rows are groups of items,
    which are paid at most what they cost, then proposals, which gain at most the value of their
    tree and what they pay.
    """

    def __init__(self, problem: ClosureProblem) -> None:
        self.problem, self.tail = problem, problem.arc_project()
        self.roots, self.tree = np.unique(roots(problem.requires), return_inverse=True)
        self.n_trees = len(self.roots)
        self.proposals = csr_array((0, problem.n_projects))
        self.history = self.tree  # the same for projects of a tree that were proposed together
        self.item_group = np.zeros(problem.n_items, dtype=np.int64)
        self.arc_group = np.full(problem.n_arcs, -1)  # none where never proposed: those pay nothing
        self.arcs = np.zeros(0, dtype=np.int64)  # one of each group
        self.column_basic, self.row_basic = np.zeros(self.n_trees, np.bool_), np.ones(1, np.bool_)
        self.profit, self.values = 0.0, np.zeros(self.n_trees)
        self.paid = np.zeros(problem.n_arcs)
        self.highs = highspy.Highs()
        self.highs.setOptionValue("output_flag", False)

    def add(self, chosen: BoolArray) -> int:
        """Add what trees propose where that improves the mixture; return how many do."""
        gains = np.bincount(self.tree, self.problem.gains * chosen, self.n_trees)
        pays = np.bincount(self.tree[self.tail], self.paid * chosen[self.tail], self.n_trees)
        new = np.flatnonzero(gains - pays > self.values + TOLERANCE)
        if len(new):
            added = csr_array(chosen & (self.tree == new[:, None]), dtype=np.float64)
            self.proposals = vstack([self.proposals, added], format="csr")
            self._split_groups(chosen & np.isin(self.tree, new))
            self.row_basic = np.append(self.row_basic, np.ones(len(new), dtype=np.bool_))
        return len(new)

    def _split_groups(self, chosen: BoolArray) -> None:
        """Split the groups of which only a part is proposed, and the basis with them.

        The first part of a group of items takes over its place in the basis. Each other part has a
        row of its own and so needs one more basic variable: the same as one that the group had.
        """
        _, self.history = np.unique(2 * self.history + chosen, return_inverse=True)
        arcs = np.flatnonzero((self.arc_group >= 0) | chosen[self.tail])
        item, history = self.problem.arc_item[arcs], self.history[self.tail[arcs]]
        # Items are alike if their arcs have the same histories: so have the sums of random names.
        names = np.random.default_rng(0).integers(2**62, size=self.problem.n_projects)
        seen = np.zeros(self.problem.n_items, dtype=np.int64)
        np.add.at(seen, item, names[history])
        _, items, item_group = np.unique(seen, return_index=True, return_inverse=True)
        both = history * len(items) + item_group[item]
        _, at, arc_group = np.unique(both, return_index=True, return_inverse=True)

        old_row, old_column = self.item_group[items], self.arc_group[arcs[at]]
        row, n_old = item_group[item[at]], self.item_group.max(initial=0) + 1
        slack_basic = self.row_basic[old_row]
        was_basic = (old_column >= 0) & self.column_basic[self.n_trees + old_column]
        takes_over = _firsts(old_row, np.ones(len(items), dtype=np.bool_))[row]
        basic = _firsts(old_column, was_basic & takes_over)
        basic |= _firsts(row, was_basic & ~takes_over & ~slack_basic[row])
        self.column_basic = np.append(self.column_basic[: self.n_trees], basic)
        self.row_basic = np.append(slack_basic, self.row_basic[n_old:])
        self.item_group, self.arcs = item_group, arcs[at]
        self.arc_group[arcs] = arc_group

    def solve(self, seconds: float) -> bool:
        """Solve the master from the last basis; return whether the time was enough."""
        highs, is_first = self.highs, self.highs.getNumCol() == 0
        self._load()
        if not is_first:
            basis = highspy.HighsBasis()
            basis.col_status = [BASIC if basic else LOWER for basic in self.column_basic]
            basis.row_status = [BASIC if basic else LOWER for basic in self.row_basic]
            basis.valid, basis.alien = True, False
            highs.setBasis(basis)
        highs.setOptionValue("simplex_strategy", PRIMAL if is_first else DUAL)
        highs.setOptionValue("time_limit", highs.getRunTime() + max(seconds, 0))
        highs.run()
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return False
        basis, solution = highs.getBasis(), np.maximum(highs.getSolution().col_value, 0)
        self.column_basic = np.array([status == BASIC for status in basis.col_status])
        self.row_basic = np.array([status == BASIC for status in basis.row_status])
        self.profit = highs.getInfo().objective_function_value
        self.values = solution[: self.n_trees]
        pays = np.flatnonzero(self.arc_group >= 0)
        group, costs = self.arc_group[pays], self.problem.costs[self.problem.arc_item[pays]]
        self.paid[pays] = solution[self.n_trees + group] * costs / np.bincount(group, costs)[group]
        return True

    def _load(self) -> None:
        """Hand the master as it is now to HiGHS."""
        n_columns, n_proposals = self.n_trees + len(self.arcs), self.proposals.shape[0]
        costs = np.bincount(self.item_group, self.problem.costs)
        paid_for = self.item_group[self.problem.arc_item[self.arcs]]
        places = paid_for, np.arange(self.n_trees, n_columns)
        items = csr_array((np.ones(len(self.arcs)), places), (len(costs), n_columns))
        # A proposal contains the root of its tree, so that stands for the value of the tree.
        proposals = self.proposals[:, np.append(self.roots, self.tail[self.arcs])]
        rows = vstack([items, proposals], format="csr")
        lower = np.append(np.full(len(costs), -NO_LIMIT), self.proposals @ self.problem.gains)
        upper = np.append(costs, np.full(n_proposals, NO_LIMIT))
        objective, zeros = np.arange(n_columns) < self.n_trees, np.zeros(n_columns)
        self.highs.clearModel()
        self.highs.addCols(n_columns, objective, zeros, zeros + NO_LIMIT, 0, zeros, [], [])
        self.highs.addRows(
            len(upper), lower, upper, rows.nnz, rows.indptr[:-1], rows.indices, rows.data
        )


def _firsts(values: IntArray, among: BoolArray) -> BoolArray:
    """Mark the first of each value among those that count."""
    marked = np.zeros(len(values), dtype=np.bool_)
    counting = np.flatnonzero(among)
    marked[counting[np.unique(values[counting], return_index=True)[1]]] = True
    return marked
