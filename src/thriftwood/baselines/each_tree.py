"""Every tree pruned alone, as if it paid for its features itself."""

from fractions import Fraction

from thriftwood.billing import list_purchases
from thriftwood.problem import PruningProblem, build_closure, check_problem
from thriftwood.pruning.path import PruningPath
from thriftwood.pruning.proof import Baseline
from thriftwood.pruning.prune_path import nested_path
from thriftwood.solvers import parametric_cut
from thriftwood.support.progress import progress_bar


def each_tree_path(problem: PruningProblem) -> PruningPath:
    """Prune every tree of an ensemble alone, at all tradeoffs: shows what sharing is worth.

    Each tree has the least loss + tradeoff * cost of its own, with a mean bill of its own, all at
    the same tradeoff. The costs of the path are the real bills of the ensemble.

    Parameters
    ----------
    problem : PruningProblem

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
    with progress_bar("Pruning", problem.progress) as bar:
        cut = parametric_cut(closure, problem.n_jobs, bar)
    return nested_path(problem, index, cut, Baseline("each_tree"))
