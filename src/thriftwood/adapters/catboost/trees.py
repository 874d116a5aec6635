"""The trees in the JSON document of a CatBoost model, in and out.

CatBoost keeps values and weights of leaves only. The value of an inner node is the mean of the
leaves below it, each weighted by its rows: that is what the tree says at this node on average over
the training rows, and of all single values the one nearest to its leaves in squares. (CatBoost
itself would shrink it a little less than the leaves, by its L2 penalty, as the node has more rows.)
By how much a split brings its two sides nearer to their leaves is taken for its gain.
"""

from typing import Any, NamedTuple

import numpy as np

from thriftwood.adapters.joining import TreeNodes, splits_bottom_up
from thriftwood.errors import UnsupportedModelError
from thriftwood.forest import LEAF
from thriftwood.support.arrays import BoolArray, FloatArray, IntArray

Document = dict[str, Any]

NUMERIC = "FloatFeature"


class Columns(NamedTuple):
    """For each number feature of the document: its column in X, and whether NaN goes left."""

    column: IntArray
    missing_left: BoolArray


def recorded_trees(document: Document) -> list[Document]:
    """Return the trees as nested nodes; symmetric ones are written out in full."""
    if "oblivious_trees" not in document:
        trees: list[Document] = document.get("trees", [])
        return trees
    n_outputs = len(document["scale_and_bias"][1])
    return [_written_out(tree, n_outputs) for tree in document["oblivious_trees"]]


def nodes_of(tree: Document, columns: Columns, n_outputs: int) -> tuple[TreeNodes, list[Document]]:
    """Return the nodes of a tree, parents first, as arrays and as they are in the document."""
    nodes = [tree]
    left: list[int] = []
    right: list[int] = []
    for node in nodes:  # it grows while we walk
        if "split" not in node:
            left.append(LEAF)
            right.append(LEAF)
            continue
        left.append(len(nodes))
        right.append(len(nodes) + 1)
        nodes += [node["left"], node["right"]]
    splits = [node.get("split") for node in nodes]
    feature = np.array([_feature(split) for split in splits])
    children = np.array(left), np.array(right)
    values, gains = _values_and_gains(nodes, *children, n_outputs)
    found = TreeNodes(
        *children,
        feature=columns.column[feature],
        # A border is a float32; where x > border a row goes right.
        threshold=np.array([split["border"] if split else 0.0 for split in splits], np.float64),
        missing_left=columns.missing_left[feature],
        values=values,
        gains=gains,
        categories={},
    )
    return found, nodes


def written_tree(
    nodes: list[Document], origin: IntArray, found: TreeNodes, split: BoolArray, values: FloatArray
) -> Document:
    """Return a tree of nested nodes in which some splits became leaves.

    Parameters
    ----------
    nodes : list of dict
        The nodes as they are in the document, parents first; they are not changed.
    origin : int array, shape (n_left,)
        Which of them are left.
    found : TreeNodes
        What was read from them.
    split : bool array, shape (n_left,)
        Which of those left are still splits.
    values : shape (n_left, n_outputs)
        What they say, as a leaf of the document would.
    """
    weights = _weights(nodes, found.left, found.right)
    new: dict[int, Document] = {}
    for place in range(len(origin))[::-1]:  # children come after their parent
        node = int(origin[place])
        if split[place]:
            new[node] = {
                "split": nodes[node]["split"],
                "left": new[int(found.left[node])],
                "right": new[int(found.right[node])],
            }
        else:
            says = values[place].tolist()
            new[node] = {
                "value": says if len(says) > 1 else says[0],
                "weight": float(weights[node]),
            }
    return new[0]


def _written_out(tree: Document, n_outputs: int) -> Document:
    """Return a symmetric tree, which asks one question per level, as nested nodes.

    The first question comes at the root. Bit b of a leaf's number is the answer to question b.
    """
    splits = tree.get("splits") or []
    values = np.reshape(tree["leaf_values"], (-1, n_outputs)).tolist()
    weights = tree.get("leaf_weights") or [0.0] * len(values)
    level = [
        {"value": value if n_outputs > 1 else value[0], "weight": weight}
        for value, weight in zip(values, weights, strict=True)
    ]
    for question in splits[::-1]:
        half = len(level) // 2  # the answers to the last question differ in the highest bit
        level = [
            {"split": question, "left": no, "right": yes}
            for no, yes in zip(level[:half], level[half:], strict=True)
        ]
    return level[0]


def _feature(split: Document | None) -> int:
    if split is None:
        return 0  # of leaves it is not looked at
    if split["split_type"] != NUMERIC:
        raise UnsupportedModelError(
            "This CatBoost model splits by something else than a number in X "
            f"({split['split_type']}). Encode categories as numbers before training."
        )
    return int(split["float_feature_index"])


def _weights(nodes: list[Document], left: IntArray, right: IntArray) -> FloatArray:
    """Return the weight of the training rows at each node."""
    weights = np.array([node.get("weight", 0.0) for node in nodes], dtype=np.float64)
    for level in splits_bottom_up(left, right):
        weights[level] = weights[left[level]] + weights[right[level]]
    return weights


def _values_and_gains(
    nodes: list[Document], left: IntArray, right: IntArray, n_outputs: int
) -> tuple[FloatArray, FloatArray]:
    nothing = [0.0] * n_outputs if n_outputs > 1 else 0.0
    values = np.array([node.get("value", nothing) for node in nodes], dtype=np.float64)
    values = values.reshape(len(nodes), n_outputs)
    gains = np.zeros(len(nodes))
    weights = _weights(nodes, left, right)
    for level in splits_bottom_up(left, right):
        both = np.stack([left[level], right[level]], axis=1)
        # Where no training row came by, both sides count alike.
        empty = weights[level] == 0
        mass = np.where(empty[:, None], 1.0, weights[both])[:, :, None]
        values[level] = (mass * values[both]).sum(axis=1) / mass.sum(axis=1)
        apart = ((values[both] - values[level][:, None]) ** 2).sum(axis=2)
        gains[level] = (weights[both] * apart).sum(axis=1)
    return values, gains
