"""Dantzig-Wolfe decomposition: trees prune themselves at prices that a master sets.

G. B. Dantzig and P. Wolfe (1960), Decomposition principle for linear programs, Operations Research
8(1). The *master* shares the cost of each item out among the arcs that lead to it. With these
shares as prices, the dual values of column generation, each component solves its own *pricing
subproblem*: its best closed set, a new *column*. The values of all subproblems add up to a
Lagrangian *dual bound*, whatever the prices, and every closed set that the master finds is within
the bound.

The textbook's master mixes whole columns. Ours is that of D. Bienstock and M. Zuckerberg (2010),
Solving LP relaxations of large-scale precedence constrained problems: the columns so far cut each
component into connected *pieces*, and the master mixes pieces. It can form every mixture of the
columns and many more, has one variable per piece, and is itself a closure problem, so that a
minimum cut solves it instead of a linear program. Where the bound is not reached yet, some column
is not made of pieces, so every round cuts: it ends. Prices do not jump from round to round, since
the master shares out evenly whatever its flow leaves open: no other damping is needed.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from thriftwood.closure import (
    ClosureProblem,
    ClosureSolution,
    Flow,
    Solver,
    exact_sum,
    group_twin_items,
    merge_twin_items,
    smallest_optimum,
)
from thriftwood.errors import CertificateError, InputError
from thriftwood.solvers import dantzig_wolfe_kernels as kernels
from thriftwood.solvers.min_cut import min_cut
from thriftwood.solvers.subproblems import Columns, batches_of, subproblem_workers
from thriftwood.support.arrays import BoolArray, IndexArray, IntArray, read_only
from thriftwood.support.parallel import n_threads
from thriftwood.support.progress import progress_bar
from thriftwood.support.validation import one_number_from_zero, truth, whole_number

# A dual bound and the flow that proves it.
DualBound = tuple[int, Flow]


@dataclass(frozen=True)
class Round:
    """One round of the decomposition: master, subproblems, bound.

    Profits are those of pruning, in the whole numbers of the certificate: what is gained over
    single leaves.

    Attributes
    ----------
    n_pieces : int
        Variables of the master.
    n_columns : int
        Trees whose column is not made of the pieces that the master had; those of the start, before
        the first round, do not count.
    profit : int
        Of the best pruning found so far.
    bound : int
        Dual bound: no pruning has a larger profit; the least of all rounds so far.
    seconds : float
        Since the solver was called.
    """

    n_pieces: int
    n_columns: int
    profit: int
    bound: int
    seconds: float

    @property
    def gap(self) -> int:
        return self.bound - self.profit

    @property
    def relative_gap(self) -> float:
        """The share of the bound that may be missed."""
        return self.gap / max(self.bound, 1)


@dataclass(frozen=True)
class DantzigWolfe:
    """Dantzig-Wolfe decomposition as a solver: trees prune themselves at prices of a master.

    To pass to `prune` as its solver.

    Parameters
    ----------
    tolerance : float
        Stop as soon as at most this share of the profit can be missed: 0.01 means that the pruning
        found is proven to gain 99 % of what the best one gains over single leaves. At 0 the answer
        is the optimum.
    max_rounds : int
        Stop after so many rounds, with what was found and proven by then.
    n_jobs : int, optional
        Workers that the trees are spread over, as in joblib: processes, or the Dask cluster that a
        `joblib.parallel_config` names. None means 1 unless such a context says otherwise. The
        answer does not depend on it; joblib's backend "multiprocessing" may hang when it is
        interrupted.
    progress : bool, optional
        Whether to show rounds and gap on a line; None does on a terminal, for work of over a
        second.
    master : callable
        Solver of the master, a closure problem of pieces, that returns a flow with its answer: our
        minimum cut, or another such as `thriftwood.solvers.linear_program` (HiGHS).

    Examples
    --------
    >>> import thriftwood as tw
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> heart = tw.datasets.load_heart()
    >>> forest = RandomForestClassifier(20, random_state=0).fit(heart.X, heart.y)
    >>> pruned = tw.prune(
    ...     forest,
    ...     heart.X,
    ...     heart.y,
    ...     costs=heart.costs,
    ...     tradeoff=0.001,
    ...     solver=tw.DantzigWolfe(max_rounds=50),
    ... )
    >>> pruned.proof.rounds[-1].gap
    0
    """

    tolerance: float = 0.0
    max_rounds: int = 1000
    n_jobs: int | None = None
    progress: bool | None = None
    master: Solver = field(default=min_cut, repr=False)

    def __post_init__(self) -> None:
        meaning = "It is the share of the profit that may be missed; at 0 none is."
        if one_number_from_zero(self.tolerance, "tolerance", meaning) >= 1:
            raise InputError(f"`tolerance` is {self.tolerance}: it must be below 1. {meaning}")
        whole_number(self.max_rounds, "max_rounds", 1)
        n_threads(self.n_jobs)
        if self.progress is not None:
            truth(self.progress, "progress")
        if not callable(self.master):
            raise InputError(f"`master` is {self.master!r}: pass a solver such as `min_cut`.")

    def __call__(self, problem: ClosureProblem) -> ClosureSolution:
        """Return the smallest best set of projects, or the best found, with the flow it has."""
        begin = perf_counter()
        smaller, undo = merge_twin_items(problem)
        batches = batches_of(smaller, n_threads(self.n_jobs))
        rounds: list[Round] = []
        with (
            progress_bar("Pruning by trees:", self.progress) as line,
            subproblem_workers(smaller, batches, self.n_jobs) as solve,
        ):
            pieces, best = _start(smaller, solve)
            while not self._is_done(rounds):
                kept, prices = _solve_master(smaller, pieces, self.master)
                columns = solve(prices)
                best = min(best, _dual_bound(smaller, prices, columns), key=_bound)
                n_pieces = int(pieces.sum())
                pieces, n_columns = _cut(pieces, smaller, columns)
                rounds.append(
                    Round(
                        n_pieces,
                        n_columns,
                        profit=smaller.profit(kept),
                        bound=_bound(best),
                        seconds=perf_counter() - begin,
                    )
                )
                line(_words(rounds))
        _, flow = best
        if rounds[-1].gap == 0:
            kept = smallest_optimum(smaller, flow)
        return undo(ClosureSolution(kept, flow, rounds[-1].gap, tuple(rounds)))

    def _is_done(self, rounds: list[Round]) -> bool:
        if not rounds:
            return False
        last = rounds[-1]
        if last.gap <= self.tolerance * last.bound:
            return True
        if last.n_columns == 0:
            raise CertificateError("The flow that the master returned does not prove its answer.")
        return len(rounds) >= self.max_rounds


def _words(rounds: list[Round]) -> str:
    last = rounds[-1]
    return f"round {len(rounds)}, gap {last.relative_gap:.2g}, {last.n_pieces} pieces"


def _start(
    problem: ClosureProblem, solve: Callable[[IntArray], Columns]
) -> tuple[BoolArray, DualBound]:
    """Solve the subproblems where everything is free, and where costs are shared evenly."""
    pieces, bounds = problem.requires < 0, []
    for prices in (np.zeros(problem.n_arcs, dtype=np.int64), _even_prices(problem)):
        columns = solve(prices)
        pieces, _ = _cut(pieces, problem, columns)
        bounds.append(_dual_bound(problem, prices, columns))
    return pieces, min(bounds, key=_bound)


def _dual_bound(problem: ClosureProblem, prices: IntArray, columns: Columns) -> DualBound:
    """Return the sum of the values of all subproblems, with the flow that proves it a bound."""
    values, _ = columns
    is_root = problem.requires < 0
    worth = np.maximum(values, 0)
    return exact_sum(worth[is_root]), Flow(np.where(is_root, 0, worth), prices)


def _bound(dual_bound: DualBound) -> int:
    return dual_bound[0]


def _cut(pieces: BoolArray, problem: ClosureProblem, columns: Columns) -> tuple[BoolArray, int]:
    """Start a piece wherever a column ends; return how many columns cut one, too."""
    requires, (_, kept) = problem.requires, columns
    ends = kept[requires] & ~kept & (requires >= 0)
    new = ends & ~pieces
    return pieces | ends, len(np.unique(kernels.roots(requires)[new]))


def _solve_master(
    problem: ClosureProblem, starts_piece: BoolArray, solver: Solver
) -> tuple[BoolArray, IntArray]:
    """Return the best set made of pieces, and prices of all arcs from the flow that proves it."""
    (gains, requires, arc_start, arc_item), piece, part_of = kernels.contract(
        problem.arrays, starts_piece
    )
    pieces = ClosureProblem(
        gains, requires, read_only(arc_start), read_only(arc_item), problem.costs
    )
    merged, group = group_twin_items(pieces)
    solution = solver(merged)
    assert solution.flow is not None
    shares = kernels.share_evenly(pieces.arrays, group, merged.arrays, solution.flow.to_item)
    return solution.kept[piece], _prices(problem, part_of, shares)


def _even_prices(problem: ClosureProblem) -> IntArray:
    """Return prices at which all who need an item pay about the same part of its cost."""
    no_shares = np.zeros(problem.n_arcs, dtype=np.int64)
    return _prices(problem, np.arange(problem.n_arcs, dtype=np.int32), no_shares)


def _prices(problem: ClosureProblem, part_of: IndexArray, shares: IntArray) -> IntArray:
    """Return prices of arcs: what the pieces they are part of pay, and what nobody pays."""
    return kernels.prices_of_arcs(problem.arrays, part_of, shares, problem.never)
