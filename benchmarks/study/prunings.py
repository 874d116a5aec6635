"""Peers that prune a forest or make it cheap while it grows: BudgetRF, each tree alone, by size."""

from collections.abc import Callable
from functools import partial
from itertools import product

from held_out import Rows, Split

import thriftwood as tw

from .choosing import Choice, Method, best_candidate
from .data import Task
from .meter import Predict, of_trees
from .ours import choice_of_points, forest

ALPHAS = (0, 2, 8, 30, 100)


def alone(path_of: Callable[[tw.PruningProblem], tw.PruningPath]) -> Method:
    """A forest pruned by another criterion than that of all trees together."""

    def fit(task: Task, split: Split, seed: int, quick: bool) -> Choice:
        def of_rows(rows: Rows) -> tw.PruningPath:
            model = forest(rows, seed, quick)
            return path_of(tw.pruning_problem(model, *rows, costs=task.prices))

        return choice_of_points(of_rows, task, split, quick=quick)

    return fit


def budget_forest(task: Task, split: Split, seed: int, quick: bool) -> Choice:
    """BudgetRF as it grows: several impurities, thresholds and numbers of trees, not pruned."""
    settings = [("pairs", alpha) for alpha in ALPHAS] + [("entropy", 0), ("entropy", 0.3)]
    all_settings = list(product((5,) if quick else (1, 5, 40), settings))

    def grown(rows: Rows, n_trees: int, setting: tuple[str, float]) -> Predict:
        impurity, alpha = setting
        model = tw.BudgetForestClassifier(
            n_trees, costs=task.prices, impurity=impurity, alpha=alpha, random_state=seed
        )
        return of_trees(model.fit(*rows))

    def family(rows: Rows) -> list[Callable[[], Predict]]:
        return [partial(grown, rows, *one) for one in all_settings]

    return best_candidate(family, task, split)
