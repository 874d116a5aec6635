"""Check whether one model is an optimal pruning of another, whoever made it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thriftwood.adapters import read_forest
from thriftwood.arrays import BoolArray
from thriftwood.closure import Certificate
from thriftwood.costs import AnyCosts
from thriftwood.forest import kept_by
from thriftwood.formulation import ClassWeight, Loss
from thriftwood.pruning.certifying import prove
from thriftwood.pruning.descent import refuse_descent
from thriftwood.pruning.nested import nested_path
from thriftwood.pruning.path import PruningPath
from thriftwood.pruning.pruned import Figures
from thriftwood.pruning.task import read_task
from thriftwood.pruning.tradeoffs import read_tradeoff, tradeoff_inside


@dataclass(frozen=True, repr=False)
class Verification(Figures):
    """What a check of a pruned model came to; its figures are counted anew.

    Attributes
    ----------
    tradeoff : float
        The tradeoff at which it was judged: the one that was asked for, or one for which it is
        optimal, or else the one at which it is nearest to that.
    tradeoffs : pair of float, optional
        From where to where it is optimal, if it is a point of the path and no tradeoff was asked
        for.
    certificate : Certificate
        What it reached, and what no pruning can pass, in whole numbers.
    excess : float
        By how much loss + tradeoff * cost may be above that of the best pruning, at most.
    original : Figures
        Of the model before pruning.
    unit : str
        What costs are counted in.
    """

    tradeoff: float
    tradeoffs: tuple[float, float] | None
    certificate: Certificate
    excess: float
    original: Figures
    unit: str

    @property
    def is_optimal(self) -> bool:
        """Whether no pruning of the model has a smaller loss + tradeoff * cost."""
        return self.certificate.gap == 0

    def __repr__(self) -> str:
        proof = self.certificate
        unit = f" {self.unit}" if self.unit else ""
        return "\n".join(
            [
                f"Verification: {self._verdict}",
                f"  cost         {self.cost:<12.6g} was {self.original.cost:.6g}{unit}",
                f"  loss         {self.loss:<12.6g} was {self.original.loss:.6g}",
                f"  splits       {self.n_splits:<12d} was {self.original.n_splits}",
                f"  certificate  reached {proof.profit}, no pruning can pass {proof.bound}: "
                f"gap {proof.gap}",
            ]
        )

    @property
    def _verdict(self) -> str:
        if not self.is_optimal:
            return (
                f"not proven optimal; at tradeoff {self.tradeoff:g} loss + tradeoff * cost may be "
                f"{self.excess:.3g} above the least"
            )
        if self.tradeoffs is None:
            return f"an optimal pruning at tradeoff {self.tradeoff:g}"
        low, high = self.tradeoffs
        if math.isinf(high):
            return f"an optimal pruning for all tradeoffs from {low:g} on"
        return f"an optimal pruning for tradeoffs from {low:g} to {high:g}"


def verify_pruning(
    model: Any,
    pruned: Any,
    X: Any,
    y: ArrayLike,
    *,
    tradeoff: float | None = None,
    costs: AnyCosts = None,
    loss: Loss = None,
    class_weight: ClassWeight = None,
    rows: str = "all",
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> Verification:
    """Check that a model is an optimal pruning of another, without trusting who made it.

    The two models are laid side by side: the second may only have fewer splits. Its loss and cost
    are counted anew, and a flow proves what no pruning can pass. Values of leaves do not matter, so
    that a refitted model is judged as the pruning that it is.

    Parameters
    ----------
    model, pruned
        The model before and after, both of kinds that `prune` accepts.
    X, y, costs, loss, class_weight, rows, sample_weight, n_jobs
        As they were for `prune`.
    tradeoff : float, optional
        The tradeoff at which to judge. None looks for one at which the model is optimal, among all.

    Examples
    --------
    >>> import thriftwood as tw
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> heart = tw.datasets.load_heart()
    >>> forest = RandomForestClassifier(20, random_state=0).fit(heart.X, heart.y)
    >>> pruned = tw.prune(forest, heart.X, heart.y, costs=heart.costs, budget=50).model
    >>> found = tw.verify_pruning(forest, pruned, heart.X, heart.y, costs=heart.costs)
    >>> found.is_optimal
    True
    """
    asked = None if tradeoff is None else read_tradeoff(tradeoff)
    task = read_task(
        model,
        X,
        y,
        costs=costs,
        loss=loss,
        class_weight=class_weight,
        rows=rows,
        sample_weight=sample_weight,
        n_jobs=n_jobs,
    )
    refuse_descent(task, "leave `loss` out to judge by recorded gains.")
    kept = kept_by(task.forest, read_forest(pruned))
    figures = task.figures(kept)
    problem, index = task.closure()
    interval = None
    if asked is None:
        path = nested_path(model, task, (problem, index), "ensemble", n_jobs, None)
        asked, interval = _where_judged(path, kept, figures.cost)
    certificate, gap = prove(problem, index, kept, asked)
    return Verification(
        **vars(figures),
        tradeoff=asked,
        tradeoffs=interval,
        certificate=certificate,
        excess=float(gap / Fraction(task.weight_counted)),
        original=task.original(),
        unit=task.prices.unit,
    )


def _where_judged(
    path: PruningPath, kept: BoolArray, cost: float
) -> tuple[float, tuple[float, float] | None]:
    """Return the tradeoff at which a pruning looks best, and where it is optimal if it is."""
    n_splits = int(np.count_nonzero(kept))
    for point in np.flatnonzero(path.n_splits == n_splits).tolist():
        if np.array_equal(path.kept_nodes(point), kept):
            beyond = [*path.tradeoffs.tolist()[1:], math.inf]
            return tradeoff_inside(path.tradeoffs, point), (
                float(path.tradeoffs[point]),
                beyond[point],
            )
    # Elsewhere a pruning is nearest to the line between the points that cost more and less.
    cheaper = np.flatnonzero(path.costs <= cost)
    point = int(cheaper[0]) if len(cheaper) else len(path) - 1
    return float(path.tradeoffs[point]), None
