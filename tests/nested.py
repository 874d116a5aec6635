"""Nested prunings of a forest, and the plain definition of what samples pay at them."""

import numpy as np
from hypothesis import strategies as st
from models import walk


@st.composite
def nested_steps(draw, forest, most_points=5):
    """Draw the steps with which splits drop, none later than the split above; and the points."""
    n_points = draw(st.integers(1, most_points))
    step = np.full(forest.n_nodes, -1, dtype=np.int32)
    for h in np.flatnonzero(forest.is_split):
        above = forest.parent[h]
        step[h] = draw(st.integers(-1, n_points - 1 if above < 0 else int(step[above])))
    return step, n_points


def random_steps(forest, n_points, seed=0):
    """Return such steps of a forest that is too large to draw them one by one."""
    rng = np.random.default_rng(seed)
    step = np.full(forest.n_nodes, -1, dtype=np.int32)
    for h in np.flatnonzero(forest.is_split):
        above = forest.parent[h]
        step[h] = rng.integers(-1, n_points if above < 0 else step[above] + 1)
    return step, n_points


def plain_bills(problem, kept):
    """Return what every sample pays for features and tests, by walking it down."""
    forest, prices = problem.forest, problem.prices
    rows = problem.in_memory.table.values
    bills = np.zeros(len(rows))
    for i, row in enumerate(rows):
        bought = set()
        for tree in range(forest.n_trees):
            tested = [node for node in walk(forest, tree, row) if kept[node]]
            bought |= {int(forest.feature[node]) for node in tested}
            bills[i] += prices.per_split * len(tested)
        bills[i] += sum(prices.prices[feature] for feature in bought)
    return bills
