"""Points of the path of a model, as they are and refitted, each one model for all rows."""

from itertools import pairwise

import numpy as np
from held_out import Candidate, Split, candidate

import thriftwood as tw


def pruned_candidates(
    path: tw.PruningPath, split: Split, origin: str, budgets: tuple[float, ...]
) -> tuple[list[Candidate], list[Candidate]]:
    """Return points of a path, as they are and refitted."""
    costs = path.evaluate(*split.validation, n_jobs=2).cost
    pruned, refitted = [], []
    for point in points_to_try(costs, budgets):
        choice = path.at(index=point)
        about = (split, origin, costs[0], costs[point])
        pruned.append(candidate(choice.model, *about))
        if choice.n_splits:
            again = choice.refit(*split.train, validation=split.validation, n_jobs=2)
            refitted.append(candidate(again.model, *about))
    return pruned, refitted


def points_to_try(costs: np.ndarray, budgets: tuple[float, ...]) -> list[int]:
    """Return the first point, and the richest within each budget and half-way between two."""
    between = [(high + low) / 2 for high, low in pairwise(budgets)]
    within = [int(np.argmax(costs <= cost)) for cost in (*budgets, *between)]
    return sorted({0, *within})
