"""Prune a model to one point of its frontier."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from numpy.typing import ArrayLike

from thriftwood.adapters import write_model
from thriftwood.closure import check_certificate
from thriftwood.costs import AnyCosts
from thriftwood.distributed import DualDecomposition
from thriftwood.errors import InputError
from thriftwood.problem import (
    ERROR_COSTS,
    JOINT,
    AnyErrorCosts,
    AnyLoss,
    ClassWeight,
    PruningProblem,
    closure_at,
    read_tradeoff,
)
from thriftwood.pruning.descent import descend
from thriftwood.pruning.making import problem_of
from thriftwood.pruning.proof import Certified, Descended, Proof
from thriftwood.pruning.prune_path import prune_path
from thriftwood.pruning.pruned import Pruned
from thriftwood.solvers import DantzigWolfe, Solver, read_solver
from thriftwood.support.arrays import BoolArray
from thriftwood.support.memory import tells_memory


@tells_memory
def prune(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    tradeoff: float | None = None,
    budget: float | None = None,
    costs: AnyCosts = None,
    loss: AnyLoss = None,
    error_costs: AnyErrorCosts = None,
    class_weight: ClassWeight = None,
    sample_weight: ArrayLike | None = None,
    samples: str = "all",
    qid: ArrayLike | None = None,
    solver: str | DantzigWolfe = "min_cut",
    n_jobs: int | None = None,
    memory_limit: float | str | None = None,
    decomposition: DualDecomposition | None = None,
) -> Pruned:
    """Prune a tree ensemble to the exact optimum of loss + tradeoff * cost, or within a budget.

    The optimum is that of the paper's IP3: over all ways to collapse splits of the trees, the loss
    averaged over samples and trees, plus the tradeoff times the mean bill of a sample. A sample
    pays for each feature once, however many trees ask for it. Of several optima the smallest forest
    is taken.

    Parameters
    ----------
    model : fitted model, or PruningProblem
        A problem comes alone: it has its own samples and options, those of
        `tw.pruning_problem`, which knows a few more for experts.
    X, y, costs, loss, error_costs, class_weight, sample_weight, samples, qid, n_jobs
        As in `pruning_problem`.
    tradeoff : float, optional
        The paper's lambda, at least 0: how much loss one unit of cost is worth. At 0 only splits
        that gain nothing are collapsed; the larger, the smaller the forest. With `error_costs`
        it is 1 unless you say otherwise, so that what is least is the sum of tests and errors.
    budget : float, optional
        In place of a tradeoff: what a sample may cost on average. Computes the whole path and
        returns `prune_path(...).at(budget=budget)`.
    solver : {"min_cut", "linear_program", "dantzig_wolfe"} or DantzigWolfe
        Our own maximum flow; the linear relaxation through HiGHS; or trees that prune themselves
        at prices that a master adjusts. The same answer from all three, soonest from the first. A
        `DantzigWolfe(...)` has a tolerance, a limit on rounds and workers.
    memory_limit, decomposition
        As in `prune_path`.

    Returns
    -------
    Pruned
        With the pruned model of the same type, its figures and, at a tradeoff, a certificate of
        optimality (of the gap that is left, where a decomposition was told to stop early).

    Examples
    --------
    >>> import thriftwood as tw
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> heart = tw.datasets.load_heart()
    >>> forest = RandomForestClassifier(20, random_state=0).fit(heart.X, heart.y)
    >>> pruned = tw.prune(forest, heart.X, heart.y, costs=heart.costs, tradeoff=0.001)
    >>> pruned.cost < pruned.original.cost
    True
    >>> pruned.proof.certificate.gap
    0
    """
    is_money = error_costs is not None or (
        isinstance(model, PruningProblem) and model.loss.name == ERROR_COSTS
    )
    if is_money and budget is None and tradeoff is None:
        tradeoff = 1.0
    if (tradeoff is None) == (budget is None):
        raise InputError("Pass either `tradeoff` or `budget`.")
    solve = read_solver(solver)
    with problem_of(
        model,
        X,
        y,
        costs=costs,
        loss=loss,
        error_costs=error_costs,
        class_weight=class_weight,
        sample_weight=sample_weight,
        samples=samples,
        qid=qid,
        n_jobs=n_jobs,
        memory_limit=memory_limit,
        decomposition=decomposition,
    ) as problem:
        takes_any = problem.partitions is None and problem.subsample is None and budget is None
        if solver != "min_cut" and not takes_any:
            raise InputError(
                f"The solver {solver!r} works at a tradeoff on all samples in memory: leave it out."
            )
        if budget is not None:
            return prune_path(problem, memory_limit=memory_limit).at(budget=budget)
        number = read_tradeoff(tradeoff)
        if problem.subsample is not None:
            return prune_path(problem, memory_limit=memory_limit).at(tradeoff=number)
        return _at_tradeoff(problem, number, solve)


def _at_tradeoff(problem: PruningProblem, tradeoff: float, solve: Solver) -> Pruned:
    """Return the optimum at a tradeoff, or where the true loss of a boosted model comes to."""
    proof: Proof
    if problem.loss.kind == JOINT:
        kept, figures, original, objectives = descend(problem, tradeoff, solve)
        proof = Descended(objectives)
    else:
        kept, proof = _certified(problem, tradeoff, solve)
        figures, original = map(problem.figures, (kept, problem.forest.is_split))
        if problem.node_losses.total.min() >= 0:  # then no objective is below 0
            least = min(proof.gap, figures.loss + tradeoff * figures.cost)
            proof = replace(proof, gap=least)
    return Pruned(
        **vars(figures),
        model=write_model(problem.model, kept, names=problem.forest.columns.names),
        original=original,
        loss_name=problem.loss.name,
        proof=proof,
        prices=problem.prices.without_samples(),
        tradeoff=tradeoff,
    )


def _certified(
    problem: PruningProblem, tradeoff: float, solve: Solver
) -> tuple[BoolArray, Certified]:
    """Return the splits of the best pruning found, and the checked proof."""
    if problem.partitions is not None:
        index = problem.partitions.index
        lambda_ = index.in_units(tradeoff)
        kept, certificate, scale, rounds = problem.partitions.cut(lambda_)
    else:
        closure, index = closure_at(problem, tradeoff)
        lambda_ = index.in_units(tradeoff)
        priced, scale = closure.at(lambda_)
        solution = solve(priced)
        certificate, kept = check_certificate(priced, solution), solution.kept
        rounds = solution.rounds
    missed = certificate.gap * index.gain_unit / scale + index.rounded(lambda_, scale)
    gap = float(missed / Fraction(problem.node_losses.weight))
    return index.kept_nodes(kept), Certified(certificate, gap, tuple(rounds))
