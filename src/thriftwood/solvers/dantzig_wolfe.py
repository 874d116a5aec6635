"""The best closed set by decomposition, after the paper's Dantzig-Wolfe: each tree prunes itself.

The master shares the cost of each item out among the arcs that lead to it; with these shares as
prices each component finds its own best closed set. The values of all components add up to a bound,
whatever the shares, and whatever closed set the master finds is within the bound.

The plain master mixes whole closed sets of a component. Ours is that of Bienstock and Zuckerberg
(2010), for problems with precedences: the closed sets proposed so far cut each component into
connected *pieces*, and the master mixes pieces. It can form every mixture of the proposals and many
more, has one variable per piece, and is itself a closure problem. Where the bound is not reached
yet, some component proposes a set that is not made of pieces, so every round cuts: it ends.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple

import numpy as np

from thriftwood.arguments import one_number_from_zero, truth, whole_number
from thriftwood.arrays import BoolArray, IndexArray, IntArray, handed_over
from thriftwood.closure import (
    ClosureProblem,
    ClosureSolution,
    Flow,
    reduce_until_stable,
    smallest_optimum,
)
from thriftwood.closure import kernels as closure_kernels
from thriftwood.closure.problem import exact_sum
from thriftwood.closure.reductions import merge_twin_items
from thriftwood.errors import CertificateError, InputError
from thriftwood.parallel import check_n_jobs, n_workers
from thriftwood.progress import progress_line
from thriftwood.solvers import decomposition_kernels as kernels
from thriftwood.solvers.components import Answer, Components, components_of
from thriftwood.solvers.min_cut import min_cut


@dataclass(frozen=True)
class Round:
    """What one round of the decomposition came to.

    Profits are those of pruning, in the whole numbers of the certificate: what is gained over
    single leaves.

    Attributes
    ----------
    n_pieces : int
        Variables of the master.
    n_columns : int
        Trees whose proposal was new to the master, in this round.
    profit : int
        Of the best pruning found so far.
    bound : int
        No pruning has a larger profit; the least of all rounds so far.
    seconds : float
        Since the first round began.
    """

    n_pieces: int
    n_columns: int
    profit: int
    bound: int
    seconds: float

    @property
    def gap(self) -> int:
        return self.bound - self.profit


@dataclass(frozen=True, eq=False)
class DecomposedSolution(ClosureSolution):
    """The kept projects, the flow that proves how good they are, and how the rounds went."""

    rounds: tuple[Round, ...]

    @property
    def gap(self) -> int:
        return self.rounds[-1].gap


@dataclass(frozen=True)
class DantzigWolfe:
    """The paper's decomposition as a solver: trees prune themselves at prices that a master sets.

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
        Workers that the trees are spread over, as in joblib: processes, or the cluster that a
        `joblib.parallel_config` names. None means 1 unless such a context says otherwise. The
        answer does not depend on it.
    progress : bool, optional
        Whether to show rounds and gap on a line; None does on a terminal, for work of over a
        second.
    master : callable
        What solves the master, a closure problem of pieces, and returns a flow with it.

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
    >>> pruned.rounds[-1].gap
    0
    """

    tolerance: float = 0.0
    max_rounds: int = 1000
    n_jobs: int | None = None
    progress: bool | None = None
    master: Callable[[ClosureProblem], ClosureSolution] = min_cut

    def __post_init__(self) -> None:
        one_number_from_zero(self.tolerance, "tolerance", "At 0 the answer is the optimum.")
        whole_number(self.max_rounds, "max_rounds", 1)
        check_n_jobs(self.n_jobs)
        if self.progress is not None:
            truth(self.progress, "progress")
        if not callable(self.master):
            raise InputError(f"`master` is {self.master!r}: pass a solver such as `min_cut`.")

    def __call__(self, problem: ClosureProblem) -> DecomposedSolution:
        """Return the smallest best set of projects, or the best found, with the flow it has."""
        smaller, undo = reduce_until_stable(problem)
        sure_profit = problem.profit(undo(_nothing(smaller)).kept)
        components = components_of(smaller, n_workers(self.n_jobs))
        with (
            components.at_work(self.n_jobs) as ask,
            progress_line("Pruning by trees:", self.progress) as line,
        ):
            best, pieces = _start(components, ask)
            rounds: list[Round] = []
            begin = perf_counter()
            while not self._is_done(rounds):
                kept, prices = _solve_master(smaller, pieces, self.master)
                answer = ask(prices)
                best = best.improved_by(components, kept, prices, answer)
                n_pieces = int(pieces.sum())
                pieces, n_columns = _cut(pieces, components, answer)
                rounds.append(
                    Round(
                        n_pieces,
                        n_columns,
                        best.profit + sure_profit,
                        best.bound + sure_profit,
                        perf_counter() - begin,
                    )
                )
                line(_words(rounds))
        if rounds[-1].gap == 0:
            best = best._replace(kept=smallest_optimum(smaller, best.flow))
        solution = undo(ClosureSolution(best.kept, best.flow))
        return DecomposedSolution(solution.kept, solution.flow, tuple(rounds))

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
    return f"round {len(rounds)}, gap {last.gap / max(last.bound, 1):.2g}, {last.n_pieces} pieces"


def _nothing(problem: ClosureProblem) -> ClosureSolution:
    return ClosureSolution(np.zeros(problem.n_projects, np.bool_), _no_flow(problem))


def _no_flow(problem: ClosureProblem) -> Flow:
    return Flow(np.zeros(problem.n_projects, np.int64), np.zeros(problem.n_arcs, np.int64))


class _State(NamedTuple):
    """The best set found, and the best proof."""

    kept: BoolArray
    profit: int
    flow: Flow
    bound: int

    def improved_by(
        self, components: Components, kept: BoolArray, prices: IntArray, answer: Answer
    ) -> "_State":
        better = self
        problem = components.problem
        for found in (kept, answer.chosen):
            profit = problem.profit(found)
            if profit > better.profit:
                better = better._replace(kept=found, profit=profit)
        is_root = problem.requires < 0
        worth = np.maximum(answer.values, 0)
        bound = exact_sum(worth[is_root])
        if bound < better.bound:
            flow = Flow(np.where(is_root, 0, worth), prices)
            better = better._replace(bound=bound, flow=flow)
        return better


def _start(components: Components, ask: Callable[[IntArray], Answer]) -> tuple[_State, BoolArray]:
    """Ask components for what they want alone: everything free, shared equally, all to be paid."""
    problem = components.problem
    costs = problem.costs[problem.arc_item]
    free = np.zeros_like(costs)
    shared = _prices(problem, np.arange(problem.n_arcs, dtype=np.int32), free)
    nothing = np.zeros(problem.n_projects, np.bool_)
    best = _State(nothing, 0, _no_flow(problem), exact_sum(np.maximum(problem.gains, 0)))
    pieces = problem.requires < 0
    for prices in (free, shared, costs):
        answer = ask(prices)
        pieces, _ = _cut(pieces, components, answer)
        if prices is not costs:  # who all pay the whole cost pay too much together: no bound
            best = best.improved_by(components, nothing, prices, answer)
    return best, pieces


def _cut(pieces: BoolArray, components: Components, answer: Answer) -> tuple[BoolArray, int]:
    """Start a piece wherever a proposal ends; return how many proposals were new, too."""
    requires = components.problem.requires
    ends = answer.chosen[requires] & ~answer.chosen & (requires >= 0)
    new = ends & ~pieces
    return pieces | ends, len(np.unique(components.root[new]))


def _solve_master(
    problem: ClosureProblem,
    pieces: BoolArray,
    master: Callable[[ClosureProblem], ClosureSolution],
) -> tuple[BoolArray, IntArray]:
    """Return the best set made of pieces, and prices for all arcs from the flow that proves it."""
    gains, requires, arc_start, arc_item, piece, part_of = kernels.contract(
        problem.gains,
        problem.requires,
        problem.arc_start,
        problem.arc_item,
        problem.n_items,
        pieces,
    )
    whole = ClosureProblem(
        gains, requires, handed_over(arc_start), handed_over(arc_item), problem.costs
    )
    merged, _ = merge_twin_items(whole)
    group, _ = closure_kernels.twin_groups(arc_start, arc_item, problem.n_items)
    solution = master(merged)
    assert solution.flow is not None
    shares = kernels.share_evenly(
        problem.costs,
        arc_start,
        arc_item,
        group,
        merged.arc_start,
        merged.arc_item,
        solution.flow.to_item,
    )
    return solution.kept[piece], _prices(problem, part_of, shares)


def _prices(problem: ClosureProblem, part_of: IndexArray, shares: IntArray) -> IntArray:
    """Return prices of arcs: what the pieces they are part of pay, and what nobody pays."""
    prices: IntArray = kernels.prices_of_arcs(
        problem.costs,
        problem.arc_start,
        problem.arc_item,
        part_of,
        shares,
        exact_sum(np.maximum(problem.gains, 0)) + 1,
    )
    return prices
