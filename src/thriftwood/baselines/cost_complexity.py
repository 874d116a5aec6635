"""Breiman's cost-complexity pruning, the classic that counts leaves and no costs."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from thriftwood.costs import AnyCosts
from thriftwood.problem.build import build_complexity
from thriftwood.problem.losses import Loss
from thriftwood.problem.targets import ClassWeight
from thriftwood.problem.task import read_task
from thriftwood.pruning.descent import refuse_descent
from thriftwood.pruning.nested import nested_path
from thriftwood.pruning.path import PruningPath


def cost_complexity_path(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    costs: AnyCosts = None,
    loss: Loss = None,
    class_weight: ClassWeight = None,
    rows: str = "all",
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> PruningPath:
    """Prune every tree of an ensemble by cost-complexity (weakest link), at all tradeoffs.

    A baseline to compare `prune_path` with. Each tree alone has the least loss + tradeoff *
    leaves, all trees at the same tradeoff; what features cost does not matter. On one tree this is
    scikit-learn's `cost_complexity_pruning_path` and `ccp_alpha`: their Gini impurity is our loss
    "expected_error", their entropy "log_loss" in other units, their squared error
    "squared_error", on the rows that the tree was grown on. On a forest, with `rows="in_bag"`, it
    is the `ccp_alpha` of the forest. Splits that gain nothing are gone at the first point already.

    Parameters
    ----------
    model, X, y, loss, class_weight, rows, sample_weight, n_jobs, progress
        As in `prune_path`.
    costs : array-like, mapping from feature name to price, Costs, or None
        As in `prune_path`, but only to report the bills of the points.

    Returns
    -------
    PruningPath
        Its tradeoffs are prices of a leaf, not of a unit of cost.

    Examples
    --------
    >>> import thriftwood as tw
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> heart = tw.datasets.load_heart()
    >>> tree = DecisionTreeClassifier(random_state=0).fit(heart.X, heart.y)
    >>> path = tw.cost_complexity_path(tree, heart.X, heart.y, loss="expected_error")
    >>> alphas = tree.cost_complexity_pruning_path(heart.X, heart.y).ccp_alphas
    >>> bool(abs(path.tradeoffs[-1] - alphas[-1]) < 1e-12)
    True
    """
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
    refuse_descent(task, "leave `loss` out.")
    closure = build_complexity(task.forest, task.losses, task.weight_counted)
    return nested_path(model, task, closure, "cost_complexity", n_jobs, progress)
