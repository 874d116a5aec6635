"""Given rows, nested points and the plain definition of how rows differ at them."""

import numpy as np
from hypothesis import strategies as st
from models import walk
from prunings import LOSSES, NUMBER_LOSSES
from thriftwood.problem.given import read_given

PLAIN = {
    "costs": None,
    "loss": None,
    "class_weight": None,
    "rows": "all",
    "sample_weight": None,
}


def given_rows(model, X, y, **options):
    """Return what `prune_path` reads from these arguments."""
    return read_given(model, X, y, **PLAIN | options)


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


def mean_losses_and_bills(given, kept, loss):
    """Return of every row its loss averaged over trees, and its bill, by walking it down."""
    forest, prices = given.forest, given.prices
    lost = (LOSSES | NUMBER_LOSSES).get(loss, loss)
    losses, bills = np.zeros(given.n_samples), np.zeros(given.n_samples)
    for i, (row, right) in enumerate(zip(given.table.values, given.target, strict=True)):
        bought = set()
        for tree in range(forest.n_trees):
            way = walk(forest, tree, row)
            tested = [node for node in way if kept[node]]
            bought |= {int(forest.feature[node]) for node in tested}
            bills[i] += prices.per_split * len(tested)
            losses[i] += lost(forest.values[way[len(tested)]], right) / forest.n_trees
        bills[i] += sum(prices.prices[feature] for feature in bought)
    return losses, bills


def plain_spread(given, step, n_points, loss):
    """Return variances of mean loss and bill and their covariance, each point from scratch."""
    n = given.n_samples
    found = []
    for point in range(n_points):
        losses, bills = mean_losses_and_bills(given, step >= point, loss)
        u = given.loss_weights / given.loss_weights.mean()
        w = given.weights / given.weights.mean()
        by_loss = u * (losses - (u @ losses) / n)
        by_bill = w * (bills - (w @ bills) / n)
        found.append((by_loss @ by_loss, by_loss @ by_bill, by_bill @ by_bill))
    return np.array(found).T / (n * (n - 1))
