"""The trees in the JSON document of an XGBoost model, in and out."""

from typing import Any, NamedTuple

import numpy as np

from thriftwood.adapters.joining import parents_first
from thriftwood.errors import ForestError, UnsupportedModelError
from thriftwood.forest import LEAF
from thriftwood.support.arrays import BoolArray, FloatArray, IntArray

# How XGBoost marks leaves and the root.
NO_CHILD = -1
NO_PARENT = 2147483647

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


class Recorded(NamedTuple):
    """What XGBoost recorded of one tree, parents first; children are XGBoost's own left and right.

    `number` is each node's number in the document; `condition` is the threshold of a split and the
    value of a leaf; `weight` what XGBoost computed for a node, before or after shrinking;
    `categories` has for each split by categories those that go to XGBoost's right.
    """

    number: IntArray
    left: IntArray
    right: IntArray
    feature: IntArray
    condition: FloatArray
    default_left: BoolArray
    weight: FloatArray
    hessian: FloatArray
    gain: FloatArray
    categories: dict[int, IntArray]

    @property
    def is_leaf(self) -> BoolArray:
        is_leaf: BoolArray = self.left == LEAF
        return is_leaf


def recorded_tree(tree: dict[str, Any], number: int) -> Recorded:
    """Read one tree of a document; raise where its lists contradict each other."""
    _check_lists(tree, number)
    left = np.array(tree["left_children"], dtype=np.int64)
    right = np.array(tree["right_children"], dtype=np.int64)
    order = parents_first(left, right, number)
    place = np.full(len(left), LEAF, dtype=np.int64)
    place[order] = np.arange(len(order))
    inner = left[order] != NO_CHILD

    def column(name: str) -> FloatArray:
        # XGBoost prints the shortest text that gives the same float32.
        return np.array(tree[name], dtype=np.float32)[order].astype(np.float64)

    return Recorded(
        number=order,
        left=np.where(inner, place[left[order]], LEAF),
        right=np.where(inner, place[right[order]], LEAF),
        feature=np.array(tree["split_indices"], dtype=np.int64)[order],
        condition=column("split_conditions"),
        default_left=np.array(tree["default_left"], dtype=np.bool_)[order],
        weight=column("base_weights"),
        hessian=column("sum_hessian"),
        gain=column("loss_changes"),
        categories=_categories(tree, place),
    )


def written_tree(
    tree: dict[str, Any],
    recorded: Recorded,
    origin: IntArray,
    split: BoolArray,
    values: FloatArray,
) -> dict[str, Any]:
    """Return a tree of a document in which some splits became leaves.

    Parameters
    ----------
    tree : dict
        As it is in the document; it is not changed.
    recorded : Recorded
        What was read from it.
    origin : int array, shape (n_left,)
        The nodes of `recorded` that are left, parents first.
    split : bool array, shape (n_left,)
        Which of them are still splits.
    values : shape (n_left,)
        What they say, as a leaf of the document would.
    """
    number = recorded.number[origin]
    place = np.full(len(recorded.left), LEAF, dtype=np.int64)
    place[origin] = np.arange(len(origin))
    left = np.where(split, place[recorded.left[origin]], NO_CHILD)
    right = np.where(split, place[recorded.right[origin]], NO_CHILD)
    parents = np.full(len(origin), NO_PARENT, dtype=np.int64)
    parents[left[split]] = np.flatnonzero(split)
    parents[right[split]] = np.flatnonzero(split)
    single = values.astype(np.float32).astype(np.float64)
    conditions = np.where(split, recorded.condition[origin], single)
    # The library takes a list of fractions only where every entry has a point.
    new = {name: [tree[name][node] for node in number] for name in PER_NODE}
    new["left_children"], new["right_children"] = left.tolist(), right.tolist()
    new["parents"] = parents.tolist()
    new["base_weights"] = (single / OUR_RATE).tolist()
    new["split_conditions"] = conditions.tolist()
    new["loss_changes"] = np.where(split, recorded.gain[origin], 0.0).tolist()
    for name in ("default_left", "split_indices", "split_type"):
        new[name] = [entry if keeps else 0 for entry, keeps in zip(new[name], split, strict=True)]
    sets = {
        int(place[node]): categories
        for node, categories in recorded.categories.items()
        if place[node] != LEAF and split[place[node]]
    }
    new.update(_category_lists(sets))
    param = {**tree["tree_param"], "num_nodes": str(len(origin)), "num_deleted": "0"}
    return {**tree, **new, "tree_param": param}


def _check_lists(tree: dict[str, Any], number: int) -> None:
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
        raise ForestError(
            f"The lists of tree {number} have different lengths: the model was damaged, "
            "train it anew."
        )


def _categories(tree: dict[str, Any], place: IntArray) -> dict[int, IntArray]:
    flat = np.array(tree["categories"], dtype=np.int64)
    parts = zip(
        tree["categories_nodes"],
        tree["categories_segments"],
        tree["categories_sizes"],
        strict=True,
    )
    found = {int(place[node]): flat[first : first + size] for node, first, size in parts}
    found.pop(LEAF, None)  # of nodes that were deleted
    return found


def _category_lists(sets: dict[int, IntArray]) -> dict[str, list[int]]:
    nodes = sorted(sets)
    sizes = [len(sets[node]) for node in nodes]
    return {
        "categories": [int(category) for node in nodes for category in sets[node]],
        "categories_nodes": nodes,
        "categories_segments": [sum(sizes[:place]) for place in range(len(sizes))],
        "categories_sizes": sizes,
    }
