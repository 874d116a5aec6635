"""The trees in the JSON document of an XGBoost model, in and out, and what inner nodes say.

XGBoost records at each inner node the weight ``w = -G / (H + lambda)`` that it computed there (G
and H: sums of gradients and hessians over the samples of the node), but not the learning rate that
makes a leaf's value of it, which callbacks may change from tree to tree. The gradients of a node
are the sum of those of the leaves below it, whose values are v = rate * w; so each inner node
tells the rate of its tree::

    rate * w (H + lambda)  =  sum over the leaves below of v (H + lambda)

(An L1 penalty alpha adds its part to each side.) The rate of a tree is the median of what its nodes
tell, by their gradients: exact where the booster knows its penalties, near it for a model from a
file, which does not keep them, and where steps were bounded. For losses whose leaves are set to a
quantile of the samples afterwards, as XGBoost does before 3.4, nodes tell no common rate: there an
inner node gets the mean of the leaves below it, each weighted by its hessian.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from thriftwood.adapters.common import CollapsedTree, TreeNodes, damaged, level_by_level
from thriftwood.errors import UnsupportedModelError
from thriftwood.forest import LEAF, Forest, leaf_means, sums_below
from thriftwood.support.arrays import FloatArray, IntArray

Document = dict[str, Any]

NO_PARENT = 2147483647  # how XGBoost marks the root

# A tree of the document has these lists with one entry per node, and four about categories.
PER_NODE = (
    "base_weights",
    "default_left",
    "left_children",
    "loss_changes",
    "parents",
    "right_children",
    "split_conditions",
    "split_indices",
    "split_type",
    "sum_hessian",
)
CATEGORY_LISTS = ("categories", "categories_nodes", "categories_segments", "categories_sizes")

# The leaves and the inner nodes of a tree that we wrote hold `value / OUR_RATE` as their weight.
# A reader finds this rate at the leaves, exactly, whatever the values are.
OUR_RATE = 0.5
# Which share of a tree's gradients must tell the same rate, up to this part of it.
AGREEMENT = 0.9
TOLERANCE = 0.01


class Recorded(NamedTuple):
    """Records of XGBoost about nodes, beside their splits.

    `condition` is the threshold of a split and the value of a leaf; `weight` what XGBoost computed
    for a node, before or after shrinking.
    """

    condition: FloatArray
    weight: FloatArray
    hessian: FloatArray


def read_tree(tree: Document, n_outputs: int) -> tuple[TreeNodes, Recorded, IntArray]:
    """Read one tree of a document; raise where its lists contradict each other.

    Returns the nodes, without values as yet, what was recorded of them, and their numbers in the
    document.
    """
    _check_lists(tree)
    left, right = (np.array(tree[f"{side}_children"], np.int64) for side in ("left", "right"))
    order = level_by_level(left, right, np.zeros(1, dtype=np.int64))
    _check_parents(tree, left, right)
    place = np.full(len(tree["left_children"]), LEAF, dtype=np.int64)
    place[order] = np.arange(len(order))
    recorded = Recorded(
        *(
            _column(tree, name, order)
            for name in ("split_conditions", "base_weights", "sum_hessian")
        )
    )
    # XGBoost sends the listed categories to its right, we to our left.
    categories = _categories(tree, place)
    swapped = np.zeros(len(order), dtype=np.bool_)
    swapped[list(categories)] = True
    left, right = (np.where(own == LEAF, LEAF, place[own]) for own in (left[order], right[order]))
    # A sample goes to XGBoost's left where x < t in float32, to ours where x <= the number before.
    before = np.nextafter(recorded.condition.astype(np.float32), np.float32(-np.inf))
    nodes = TreeNodes(
        left=np.where(swapped, right, left),
        right=np.where(swapped, left, right),
        feature=np.array(tree["split_indices"], dtype=np.int64)[order],
        threshold=np.where(swapped, 0.0, before.astype(np.float64)),
        missing_left=np.array(tree["default_left"], dtype=np.bool_)[order] != swapped,
        values=np.zeros((len(order), n_outputs)),
        gains=_column(tree, "loss_changes", order),
        categories=categories,
    )
    return nodes, recorded, order


def node_values(
    shape: Forest, recorded: Recorded, l2: float, l1: float, leaves_set_later: bool
) -> FloatArray:
    """Return what every node says, as a leaf of its tree would.

    `leaves_set_later` says that the loss may set leaves to something else than recorded weights.
    """
    is_leaf = ~shape.is_split
    by_us = np.where(is_leaf, recorded.condition == OUR_RATE * recorded.weight, True)
    rates = np.where(np.logical_and.reduceat(by_us, shape.tree_start[:-1]), OUR_RATE, np.nan)
    told = _rates(shape, recorded, l2, l1, AGREEMENT if leaves_set_later else 0.0)
    rates = np.where(np.isnan(rates), told, rates)
    rate = np.repeat(rates, np.diff(shape.tree_start))
    means = leaf_means(shape, recorded.condition[:, None], recorded.hessian)[0][:, 0]
    as_leaves = np.where(np.isnan(rate), means, rate * recorded.weight)
    return np.where(shape.is_split, as_leaves, recorded.condition)


def written_tree(
    tree: Document, order: IntArray, own: CollapsedTree, values: FloatArray
) -> Document:
    """Return a tree of a document, which is not changed, with only what is left of it.

    `order` are the numbers of its nodes in the document; `values` are what those that are left say,
    as a leaf of the document would.
    """
    split = own.is_split
    nodes = order[own.origin]
    place = np.full(len(tree["parents"]), LEAF, dtype=np.int64)
    place[nodes] = np.arange(len(nodes))
    sets = {at: found for at, found in sorted(_categories(tree, place).items()) if split[at]}
    swapped = np.zeros(len(nodes), dtype=np.bool_)
    swapped[list(sets)] = True
    left = np.where(swapped, own.right, own.left)
    right = np.where(swapped, own.left, own.right)
    parents = np.full(len(nodes), NO_PARENT, dtype=np.int64)
    for child in (left, right):
        parents[child[split]] = np.flatnonzero(split)
    single = values.astype(np.float32).astype(np.float64)
    gains = _column(tree, "loss_changes", nodes)
    # The library takes a list of fractions only where every entry has a point.
    new: Document = {name: [tree[name][node] for node in nodes] for name in PER_NODE}
    for name in ("default_left", "split_indices", "split_type"):
        new[name] = [entry if keeps else 0 for entry, keeps in zip(new[name], split, strict=True)]
    sizes = [len(found) for found in sets.values()]
    return {
        **tree,
        **new,
        "left_children": left.tolist(),
        "right_children": right.tolist(),
        "parents": parents.tolist(),
        "base_weights": (single / OUR_RATE).tolist(),
        "split_conditions": np.where(
            split, _column(tree, "split_conditions", nodes), single
        ).tolist(),
        "loss_changes": np.where(split, gains, 0.0).tolist(),
        "categories": [int(one) for found in sets.values() for one in found],
        "categories_nodes": list(sets),
        "categories_segments": np.cumsum([0, *sizes])[:-1].tolist(),
        "categories_sizes": sizes,
        "tree_param": {**tree["tree_param"], "num_nodes": str(len(nodes)), "num_deleted": "0"},
    }


def _column(tree: Document, name: str, nodes: IntArray) -> FloatArray:
    # XGBoost prints the shortest text that gives the same float32.
    return np.array(tree[name], dtype=np.float32)[nodes].astype(np.float64)


def _check_lists(tree: Document) -> None:
    missing = [name for name in (*PER_NODE, *CATEGORY_LISTS, "tree_param") if name not in tree]
    if missing:
        raise UnsupportedModelError(
            f"This version of XGBoost keeps its trees in another form (without {missing[0]}). "
            "Use a version that Thriftwood supports."
        )
    if int(tree["tree_param"].get("size_leaf_vector", 1)) > 1:
        raise UnsupportedModelError(
            "The leaves of this model hold several values each (multi_strategy="
            "'multi_output_tree'). Train it with multi_strategy='one_output_per_tree'."
        )
    sizes = {len(tree[name]) for name in PER_NODE}
    if len(sizes) != 1 or sizes == {0}:
        raise damaged("the lists of a tree have different lengths")


def _check_parents(tree: Document, left: IntArray, right: IntArray) -> None:
    """Refuse nodes that name others than their parents: XGBoost follows these without a look."""
    found = np.array(tree["parents"], dtype=np.int64)
    parents = np.full(len(found), NO_PARENT, dtype=np.int64)
    for child in (left, right):
        parents[child[child != LEAF]] = np.flatnonzero(child != LEAF)
    if (found != parents)[parents != NO_PARENT].any() or found[0] != NO_PARENT:
        raise damaged("a node names a parent that is not its own")


def _categories(tree: Document, place: IntArray) -> dict[int, IntArray]:
    """Return by their place the splits by categories, with those that go to XGBoost's right."""
    flat = np.array(tree["categories"], dtype=np.int64)
    lists = (tree[f"categories_{name}"] for name in ("nodes", "segments", "sizes"))
    found = {
        int(place[node]): flat[first : first + size]
        for node, first, size in zip(*lists, strict=True)
    }
    found.pop(LEAF, None)  # of nodes that are not there any more
    return found


def _rates(shape: Forest, recorded: Recorded, l2: float, l1: float, agreement: float) -> FloatArray:
    """Return the rate of each tree, NaN where too small a share of its gradients tells the same."""
    value, weight, mass = recorded.condition, recorded.weight, recorded.hessian + l2
    leaves = np.stack([value * mass, np.sign(value), value == 0], axis=1)
    below = sums_below(shape, np.where(shape.is_split[:, None], 0.0, leaves))
    shrunk, signs, n_zeros = below.T  # a value of 0 may hide any gradient up to the L1 penalty
    pull = weight * mass + l1 * (np.sign(weight) - signs)
    with np.errstate(divide="ignore", invalid="ignore"):
        told = shrunk / pull
    heard = shape.is_split & (told > 0) & np.isfinite(told) & ((l1 == 0) | (n_zeros == 0))
    rates = np.full(shape.n_trees, np.nan)
    for tree, (first, last) in enumerate(pairwise(shape.tree_start)):
        own = np.flatnonzero(heard[first:last]) + first
        if len(own):
            own = own[np.argsort(told[own])]
            reached = np.cumsum(np.abs(pull[own]))
            rate = told[own[np.searchsorted(reached, reached[-1] / 2)]]
            agrees = np.abs(told[own] - rate) <= TOLERANCE * rate
            if np.abs(pull[own[agrees]]).sum() >= agreement * reached[-1]:
                rates[tree] = rate
    return rates
