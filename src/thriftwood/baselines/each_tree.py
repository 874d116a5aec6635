"""Every tree pruned alone: as if it paid for its features itself, or by cost-complexity.

Cost-complexity is Breiman's, the classic that counts leaves and no costs (CART, 1984).
"""

from fractions import Fraction

from thriftwood.billing import list_purchases
from thriftwood.closure import ClosureProblem
from thriftwood.problem import (
    ClosureIndex,
    PruningProblem,
    build_closure,
    build_complexity,
    check_problem,
)
from thriftwood.pruning.path import PruningPath
from thriftwood.pruning.proof import Baseline
from thriftwood.pruning.prune_path import nested_path
from thriftwood.solvers import parametric_cut
from thriftwood.support.progress import progress_bar


def each_tree_path(problem: PruningProblem) -> PruningPath:
    """Prune every tree of an ensemble alone, at all tradeoffs: shows what sharing is worth.

    Each tree has the least loss + tradeoff * cost of its own, with a mean bill of its own, all at
    the same tradeoff. The costs of the path are the real bills of the ensemble.

    Examples
    --------
    >>> import thriftwood as tw
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> heart = tw.datasets.load_heart()
    >>> forest = RandomForestClassifier(20, random_state=0).fit(heart.X, heart.y)
    >>> problem = tw.pruning_problem(forest, heart.X, heart.y, costs=heart.costs)
    >>> alone, together = tw.each_tree_path(problem), tw.prune_path(problem)
    >>> alone.at(budget=100).loss >= together.at(budget=100).loss - 0.1
    True
    """
    check_problem(problem).check_adds_up("leave `loss` out.")
    weights, forest = problem.in_memory.weights, problem.forest
    bought = list_purchases(forest, problem.routes, problem.prices, weights, each_tree=True)
    lost = problem.node_losses
    loss_per_cost = Fraction(lost.weight) / Fraction(bought.scale) / forest.n_trees
    closure, index = build_closure(forest, bought, lost.total, loss_per_cost)
    return _path_of(problem, closure, index, "each_tree")


def cost_complexity_path(problem: PruningProblem) -> PruningPath:
    """Prune every tree of an ensemble by cost-complexity (weakest link), at all tradeoffs.

    Each tree alone has the least loss + tradeoff * leaves, all trees at the same tradeoff; prices
    only make the bills of the points. On one tree this is scikit-learn's
    `cost_complexity_pruning_path` and `ccp_alpha`: their Gini impurity is our loss
    "expected_error", their entropy "log_loss" in other units, their squared error
    "squared_error", on the samples that the tree was grown on. On a forest, with
    `samples="in_bag"`, it is the `ccp_alpha` of the forest. Splits that gain nothing are gone at
    the first point already. Tradeoffs of the path are prices of a leaf, not of a unit of cost.

    Examples
    --------
    >>> import thriftwood as tw
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> heart = tw.datasets.load_heart()
    >>> tree = DecisionTreeClassifier(random_state=0).fit(heart.X, heart.y)
    >>> problem = tw.pruning_problem(tree, heart.X, heart.y, loss="expected_error")
    >>> path = tw.cost_complexity_path(problem)
    >>> alphas = tree.cost_complexity_pruning_path(heart.X, heart.y).ccp_alphas
    >>> bool(abs(path.tradeoffs[-1] - alphas[-1]) < 1e-12)
    True
    """
    check_problem(problem).check_adds_up("leave `loss` out.")
    lost = problem.node_losses
    closure, index = build_complexity(problem.forest, lost.total, lost.weight)
    return _path_of(problem, closure, index, "cost_complexity")


def _path_of(
    problem: PruningProblem, closure: ClosureProblem, index: ClosureIndex, criterion: str
) -> PruningPath:
    with progress_bar("Pruning", problem.progress) as bar:
        cut = parametric_cut(closure, problem.n_jobs, bar)
    return nested_path(problem, index.tradeoffs(cut), cut.breakpoint_of, Baseline(criterion))
