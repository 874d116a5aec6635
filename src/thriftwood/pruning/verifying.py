"""Check whether one model is an optimal pruning of another, whoever made it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from thriftwood.adapters import read_forest
from thriftwood.closure import Certificate
from thriftwood.evaluation.certifying import prove
from thriftwood.forest import Forest, collapse, kept_by
from thriftwood.problem import (
    Figures,
    PruningProblem,
    check_problem,
    interval_in_words,
    read_tradeoff,
    tradeoff_inside,
    tradeoffs_of,
)
from thriftwood.pruning.path import PruningPath
from thriftwood.pruning.prune_path import prune_path
from thriftwood.pruning.pruned import Pruned
from thriftwood.support.arrays import BoolArray, FloatArray
from thriftwood.support.memory import tells_memory
from thriftwood.support.text import unit_behind
from thriftwood.support.validation import six_digits

# Figures that were added up in another order may differ by this part.
ROUNDING = 1e-12
# Files of some libraries keep only so many digits of what nodes say.
SAME_VALUE = 1e-5


@dataclass(frozen=True, repr=False)
class Verification(Figures):
    """Result of the check of a pruned model; its figures are counted anew.

    Attributes
    ----------
    tradeoff : float
        The tradeoff at which it was judged: the one that was asked for, or one for which it is
        optimal, or else the one at which it is nearest to that.
    tradeoffs : pair of float, optional
        From where to where the path says that it is optimal, if no tradeoff was asked for and it is
        as good as a point of the path. The proof is for `tradeoff`.
    certificate : Certificate
        What it reached, and what no pruning can pass, in whole numbers.
    gap : float
        By how much loss + tradeoff * cost may be above that of the best pruning, at most; where
        numbers were rounded, with what that may hide.
    same_values : bool
        Whether leaves say what the model says there. Not so after a refit, or where somebody
        changed them: splits are then what was judged, and `loss` is that of the model's own values.
    original : Figures
        Of the model before pruning.
    unit : str
        What costs are counted in.
    """

    tradeoff: float
    tradeoffs: tuple[float, float] | None
    certificate: Certificate
    gap: float
    same_values: bool
    original: Figures
    unit: str

    @property
    def is_optimal(self) -> bool:
        """True if no pruning has a smaller loss + tradeoff * cost, but for rounding."""
        return self.certificate.gap == 0

    def __repr__(self) -> str:
        proof, before = self.certificate, self.original
        lines = [
            f"Verification: {self._verdict}",
            f"  cost         {six_digits(self.cost):12s} was {six_digits(before.cost)}"
            f"{unit_behind(self.unit)}",
            f"  loss         {six_digits(self.loss):12s} was {six_digits(before.loss)}",
            f"  splits       {self.n_splits:<12d} was {before.n_splits}",
            f"  certificate  at tradeoff {self.tradeoff:g}: reached {proof.profit}, no pruning of "
            f"the model can pass {proof.bound}: gap {proof.gap}",
        ]
        if not self.same_values:
            lines.append(
                "  leaves       say something else than the model (refitted, or changed): only the "
                "splits were judged"
            )
        return "\n".join(lines)

    @property
    def _verdict(self) -> str:
        if not self.is_optimal:
            return (
                f"not proven optimal; at tradeoff {self.tradeoff:g} loss + tradeoff * cost may be "
                f"{self.gap:.3g} above the least"
            )
        rounded = f" but for rounding, {self.gap:.1g}" if self.gap else ""
        optimal = f"an optimal pruning{rounded}, proven at tradeoff {self.tradeoff:g}"
        if self.tradeoffs is None:
            return optimal
        return f"{optimal}; the path has it {interval_in_words(*self.tradeoffs)}"


@tells_memory
def verify_pruning(
    problem: PruningProblem, pruned: Any, *, tradeoff: float | None = None
) -> Verification:
    """Check that a model is an optimal pruning of another, without trusting who made it.

    The two models are laid side by side: the second may only have fewer splits. Its loss and cost
    are counted anew, and a flow proves what no pruning can pass. A refitted model is judged by its
    splits; `same_values` says whether leaves still have the model's values.

    Parameters
    ----------
    problem : PruningProblem
        The model before pruning, with samples, prices and loss, by `tw.pruning_problem(...)`.
    pruned : model or Pruned
        The model after pruning.
    tradeoff : float, optional
        The tradeoff at which to judge. None looks for one at which the model is optimal, among all.

    Examples
    --------
    >>> import thriftwood as tw
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> heart = tw.datasets.load_heart()
    >>> forest = RandomForestClassifier(20, random_state=0).fit(heart.X, heart.y)
    >>> problem = tw.pruning_problem(forest, heart.X, heart.y, costs=heart.costs)
    >>> pruned = tw.prune(problem, budget=50)
    >>> tw.verify_pruning(problem, pruned).is_optimal
    True
    """
    asked = None if tradeoff is None else read_tradeoff(tradeoff)
    check_problem(problem).check_adds_up("leave `loss` out to judge by recorded gains.")
    other = read_forest(pruned.model if isinstance(pruned, Pruned) else pruned)
    kept = kept_by(problem.forest, other)
    figures = problem.figures(kept)
    interval = None
    if asked is None:
        asked, interval = _where_judged(prune_path(problem), figures)
    certificate, gap = prove(problem, problem.closure[0], kept, asked)
    return Verification(
        **vars(figures),
        tradeoff=asked,
        tradeoffs=interval,
        certificate=certificate,
        gap=gap,
        same_values=_says_the_same(problem.forest, kept, other),
        original=problem.figures(problem.forest.is_split),
        unit=problem.prices.unit,
    )


def _where_judged(path: PruningPath, figures: Figures) -> tuple[float, tuple[float, float] | None]:
    """Return the tradeoff at which a pruning looks best, and where the path says it is optimal."""
    tradeoffs = path.tradeoffs
    is_here = np.isclose(path.costs, figures.cost, rtol=ROUNDING, atol=0) & np.isclose(
        path.losses, figures.loss, rtol=ROUNDING, atol=0
    )
    if is_here.any():
        point = int(is_here.argmax())
        return tradeoff_inside(tradeoffs, point), tradeoffs_of(tradeoffs, point)
    # Elsewhere a pruning is nearest to the line between the points that cost more and less.
    cheaper = np.flatnonzero(path.costs <= figures.cost)
    point = int(cheaper[0]) if len(cheaper) else len(path) - 1
    return float(tradeoffs[point]), None


def _says_the_same(forest: Forest, kept: BoolArray, pruned: Forest) -> bool:
    """Return True if the leaves of a pruned forest have the values that the forest has there."""
    collapsed, _ = collapse(forest, kept)
    ours, theirs = (_leaf_values(one) for one in (collapsed, pruned))
    if ours.shape != theirs.shape or not np.allclose(forest.bias, pruned.bias, rtol=SAME_VALUE):
        return False
    scale = np.abs(ours).max(initial=0.0)
    return forest.link == pruned.link and np.allclose(ours, theirs, SAME_VALUE, SAME_VALUE * scale)


def _leaf_values(forest: Forest) -> FloatArray:
    """Return the values of leaves, level by level."""
    nodes = np.concatenate(list(forest.levels()))
    return forest.values[nodes[~forest.is_split[nodes]]]
