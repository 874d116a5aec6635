"""A small vocabulary for tests: closure problems, forests and random ones of both."""

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from numba import njit

from thriftwood import paper
from thriftwood.billing import list_purchases
from thriftwood.closure import ClosureProblem
from thriftwood.costs import plain_prices
from thriftwood.forest import Forest, Routes, route_samples
from thriftwood.forest.table import read_rows
from thriftwood.problem import node_losses, read_loss, times_counted
from thriftwood.problem.closure import build_closure
from thriftwood.support.columns import Columns


def from_python(small_kernel):
    """Return what calls a kernel that only kernels call, with the arguments of Python."""
    return njit(lambda *arguments: small_kernel(*arguments))


def closure(gains, requires, needs, costs) -> ClosureProblem:
    """Return a checked problem; `needs` lists the items of each project."""
    return ClosureProblem(
        gains=gains,
        requires=requires,
        arc_start=np.concatenate([[0], np.cumsum([len(items) for items in needs])]),
        arc_item=np.array([item for items in needs for item in items], dtype=np.int32),
        costs=costs,
    ).check()


@st.composite
def closures(draw, most_projects=7, most_items=6):
    """Draw small problems: chains and stars, equal, zero, negative, huge and tiny numbers."""
    n_projects = draw(st.integers(0, most_projects))
    n_items = draw(st.integers(0, most_items))
    gain = draw(
        st.sampled_from(
            [
                st.integers(-3, 6),
                st.just(2),
                st.integers(0, 1),
                st.integers(-(10**9), 10**9),
                st.sampled_from([0, 1, 10**12, -(10**12)]),
            ]
        )
    )
    cost = draw(
        st.sampled_from(
            [st.integers(0, 4), st.just(1), st.just(0), st.sampled_from([0, 1, 10**6, 10**14])]
        )
    )
    requires = [draw(st.integers(-1, project - 1)) for project in range(n_projects)]
    items = st.lists(st.integers(0, n_items - 1), unique=True, max_size=4)
    needs = [draw(items) if n_items else [] for _ in range(n_projects)]
    return closure(
        [draw(gain) for _ in range(n_projects)],
        requires,
        needs,
        [draw(cost) for _ in range(n_items)],
    )


def leaf(value):
    """Return a leaf that predicts `value`."""
    return (value,)


def split(feature, threshold, below, above, value):
    """Return a split: rows with at most `threshold` in `feature` go to `below`."""
    return (value, feature, threshold, below, above)


def forest_of(*trees, n_features, classes=(0, 1), combine="mean") -> Forest:
    """Return a checked forest from trees made of `leaf` and `split`, in pre-order."""
    nodes: list[dict] = []
    starts = [0]
    for tree in trees:
        _append(tree, nodes)
        starts.append(len(nodes))
    column = {key: [node[key] for node in nodes] for key in nodes[0]}
    return Forest(
        tree_start=starts,
        n_features=n_features,
        classes=None if classes is None else np.array(classes),
        missing_left=np.zeros(len(nodes), dtype=bool),
        combine=combine,
        **column,
    ).check()


def _append(tree, nodes) -> int:
    index = len(nodes)
    value, *rest = tree
    node = {"feature": -1, "threshold": 0.0, "left": -1, "right": -1, "values": value}
    nodes.append(node)
    if rest:
        node["feature"], node["threshold"], below, above = rest
        node["left"] = _append(below, nodes)
        node["right"] = _append(above, nodes)
    return index


def routes_of(forest: Forest, X) -> Routes:
    return route_samples(forest, read_rows(X, forest))


def losses_of(forest: Forest, routes: Routes, target, weights, loss=None) -> np.ndarray:
    """Return what each node would lose as a leaf, where every sample counts in every tree."""
    times = times_counted(forest.n_trees, routes.n_samples)
    return node_losses(forest, routes, target, weights, read_loss(loss, forest), times)


TWO_CLASSES = [(1.0, 0.0), (0.25, 0.75), (0.0, 1.0), (0.5, 0.5)]
THREE_CLASSES = [(1.0, 0.0, 0.0), (0.25, 0.5, 0.25), (0.0, 0.4, 0.6), (0.0, 0.0, 1.0)]
NUMBERS = [(0.0,), (1.5,), (-2.25,), (0.1,)]


@st.composite
def trees(draw, n_features, most_splits, values=TWO_CLASSES):
    """Draw a tree with at most `most_splits` splits; features may repeat on a path."""
    value = draw(st.sampled_from(values))
    if most_splits == 0 or draw(st.integers(0, 4)) == 0:
        return leaf(value)
    n_below = draw(st.integers(0, most_splits - 1))
    return split(
        draw(st.integers(0, n_features - 1)),
        float(draw(st.integers(0, 2))),
        draw(trees(n_features, n_below, values)),
        draw(trees(n_features, most_splits - 1 - n_below, values)),
        value,
    )


@st.composite
def pruning_cases(
    draw, most_trees=3, most_splits=3, most_rows=5, values=TWO_CLASSES, classes=(0, 1)
):
    """Draw a forest, rows, labels, prices and weights: single leaves, one row, one tree, ties."""
    n_features = draw(st.integers(1, 3))
    n_trees = draw(st.integers(1, most_trees))
    forest = forest_of(
        *[draw(trees(n_features, most_splits, values)) for _ in range(n_trees)],
        n_features=n_features,
        classes=classes,
    )
    n_samples = draw(st.integers(1, most_rows))
    rows = st.lists(st.integers(0, 3), min_size=n_features, max_size=n_features)
    X = np.array([draw(rows) for _ in range(n_samples)], dtype=float)
    label = st.sampled_from([0.0, 1.0, -3.5, 0.2] if classes is None else classes)
    y = np.array([draw(label) for _ in range(n_samples)])
    price = draw(
        st.sampled_from(
            [
                st.just(1.0),
                st.sampled_from([0.0, 1.0, 2.0]),
                st.sampled_from([0.01, 5.17, 102.9]),
                st.sampled_from([1e-3, 1.0, 1e4]),
                st.floats(0.1, 10.0),
            ]
        )
    )
    prices = np.array([draw(price) for _ in range(n_features)])
    weight = draw(st.sampled_from([st.just(1.0), st.integers(1, 3), st.floats(0.1, 2.0)]))
    weights = np.array([draw(weight) for _ in range(n_samples)], dtype=float)
    return forest, X, y, prices, weights


def plain_closure(forest, routes, losses, prices, weights):
    """Return the closure problem of one price per feature, its index and the purchases."""
    price_list = plain_prices(np.asarray(prices, dtype=float), Columns(len(prices), None))
    purchases = list_purchases(forest, routes, price_list, np.asarray(weights, dtype=float))
    problem, index = build_closure(forest, purchases, losses, Fraction(forest.n_trees))
    return problem, index, purchases


def instance_of(case) -> paper.PaperInstance:
    """Return a case of `pruning_cases` as the paper's programs want it."""
    forest, X, y, prices, weights = case
    return paper.read_instance(forest, X, y, costs=prices, sample_weight=weights)


TRADEOFFS = st.one_of(
    st.sampled_from([0.0, 0.5, 0.25, 1.0, 0.1, 1 / 3, 1e-9, 1e9]),
    st.floats(0.0, 2.0, allow_subnormal=False),
)
