"""The best closed set by decomposition, after the paper's Dantzig-Wolfe: each tree prunes itself.

The master shares the cost of each item out among the arcs that lead to it; with these shares as
prices each component finds its own best closed set. The values of all components add up to a bound,
whatever the shares, and whatever closed set the master finds is within the bound.

The plain master mixes whole closed sets of a component. Ours is that of Bienstock and Zuckerberg
(2010), for problems with precedences: the closed sets proposed so far cut each component into
connected *pieces*, and the master mixes pieces. It can form every mixture of the proposals and many
more, has one variable per piece, and is itself a closure problem, so that a minimum cut solves it
instead of a linear program. Where the bound is not reached yet, some component proposes a set that
is not made of pieces, so every round cuts: it ends. Prices do not jump from round to round, since
the master shares out evenly whatever its flow leaves open: no other damping is needed.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import NamedTuple

import numpy as np

from thriftwood.closure import (
    ClosureProblem,
    ClosureSolution,
    Flow,
    exact_sum,
    reduce_until_stable,
    smallest_optimum,
)
from thriftwood.errors import CertificateError, InputError
from thriftwood.solvers.components import Answer, Components, components_of
from thriftwood.solvers.master import Master
from thriftwood.solvers.min_cut import min_cut
from thriftwood.support.arrays import BoolArray, IntArray
from thriftwood.support.parallel import check_n_jobs
from thriftwood.support.progress import progress_line
from thriftwood.support.validation import one_number_from_zero, truth, whole_number
from thriftwood.support.workers import n_workers


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
        Trees, or parts of trees that the reductions left, whose proposal is not made of the pieces
        that the master had; those of the start, before the first round, do not count.
    profit : int
        Of the best pruning found so far.
    bound : int
        No pruning has a larger profit; the least of all rounds so far.
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
        Workers that the trees are spread over, as in joblib: processes, or the Dask cluster that a
        `joblib.parallel_config` names. None means 1 unless such a context says otherwise. The
        answer does not depend on it; joblib's backend "multiprocessing" may hang when it is
        interrupted.
    progress : bool, optional
        Whether to show rounds and gap on a line; None does on a terminal, for work of over a
        second.
    master : callable
        What solves the master, a closure problem of pieces, and returns a flow with it: our minimum
        cut, or another solver such as `thriftwood.solvers.linear_program` (HiGHS).

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
    master: Callable[[ClosureProblem], ClosureSolution] = field(default=min_cut, repr=False)

    def __post_init__(self) -> None:
        meaning = "It is the share of the profit that may be missed; at 0 none is."
        if one_number_from_zero(self.tolerance, "tolerance", meaning) >= 1:
            raise InputError(f"`tolerance` is {self.tolerance}: it must be below 1. {meaning}")
        whole_number(self.max_rounds, "max_rounds", 1)
        check_n_jobs(self.n_jobs)
        if self.progress is not None:
            truth(self.progress, "progress")
        if not callable(self.master):
            raise InputError(f"`master` is {self.master!r}: pass a solver such as `min_cut`.")

    def __call__(self, problem: ClosureProblem) -> DecomposedSolution:
        """Return the smallest best set of projects, or the best found, with the flow it has."""
        begin = perf_counter()
        smaller, undo = reduce_until_stable(problem)
        sure_profit = problem.profit(undo(_nothing(smaller)).kept)
        components = components_of(smaller, n_workers(self.n_jobs))
        master = Master(smaller, self.master)
        with (
            progress_line("Pruning by trees:", self.progress) as line,
            components.at_work(self.n_jobs) as ask,
        ):
            proof, pieces = _start(components, master, ask)
            rounds: list[Round] = []
            while not self._is_done(rounds):
                kept, prices = master.solve(pieces)
                answer = ask(prices)
                proof = proof.improved_by(smaller, prices, answer)
                n_pieces = int(pieces.sum())
                pieces, n_columns = _cut(pieces, components, answer)
                rounds.append(
                    Round(
                        n_pieces,
                        n_columns,
                        profit=smaller.profit(kept) + sure_profit,
                        bound=proof.bound + sure_profit,
                        seconds=perf_counter() - begin,
                    )
                )
                line(_words(rounds))
        if rounds[-1].gap == 0:
            kept = smallest_optimum(smaller, proof.flow)
        solution = undo(ClosureSolution(kept, proof.flow))
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
    return f"round {len(rounds)}, gap {last.relative_gap:.2g}, {last.n_pieces} pieces"


def _nothing(problem: ClosureProblem) -> ClosureSolution:
    no_flow = Flow(np.zeros(problem.n_projects, np.int64), np.zeros(problem.n_arcs, np.int64))
    return ClosureSolution(np.zeros(problem.n_projects, np.bool_), no_flow)


class _Proof(NamedTuple):
    """A flow, and the bound that it proves."""

    flow: Flow
    bound: int

    def improved_by(self, problem: ClosureProblem, prices: IntArray, answer: Answer) -> "_Proof":
        """Return the better of this proof and the one that an answer to prices gives."""
        is_root = problem.requires < 0
        worth = np.maximum(answer.values, 0)
        bound = exact_sum(worth[is_root])
        if bound >= self.bound:
            return self
        return _Proof(Flow(np.where(is_root, 0, worth), prices), bound)


def _start(
    components: Components, master: Master, ask: Callable[[IntArray], Answer]
) -> tuple[_Proof, BoolArray]:
    """Ask components for what they want where everything is free, and where costs are shared.

    What they would want alone, at full costs, the reductions have kept already.
    """
    problem = components.problem
    free = np.zeros(problem.n_arcs, dtype=np.int64)
    everything = exact_sum(np.maximum(problem.gains, 0))
    proof = _Proof(Flow(np.zeros(problem.n_projects, np.int64), free), everything)
    pieces = problem.requires < 0
    for prices in (free, master.equal_shares()):
        answer = ask(prices)
        pieces, _ = _cut(pieces, components, answer)
        proof = proof.improved_by(problem, prices, answer)
    return proof, pieces


def _cut(pieces: BoolArray, components: Components, answer: Answer) -> tuple[BoolArray, int]:
    """Start a piece wherever a proposal ends; return how many proposals cut one, too."""
    requires = components.problem.requires
    ends = answer.chosen[requires] & ~answer.chosen & (requires >= 0)
    new = ends & ~pieces
    return pieces | ends, len(np.unique(components.root[new]))
