"""Trees that we grew ourselves, as decision trees of scikit-learn."""

from functools import cache
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from thriftwood.adapters.sklearn.tree import SKLEARN_LEAF, SKLEARN_UNDEFINED, check_node_fields
from thriftwood.forest import Forest
from thriftwood.support.arrays import FloatArray, IndexArray


def decision_tree(
    tree: Forest,
    counts: FloatArray,
    n_samples: IndexArray,
    n_features_tried: int,
    **parameters: Any,
) -> DecisionTreeClassifier:
    """Return a decision tree of scikit-learn that predicts as the only tree of a forest.

    Parameters
    ----------
    tree : Forest
        Of one tree, with classes 0, 1, 2, ...
    counts : shape (n_nodes, n_classes)
        The weight of each class at each node.
    n_samples : shape (n_nodes,)
        How many rows each node has.
    n_features_tried : int
        At each node.
    **parameters
        Of the decision tree; they say how it was grown and change nothing.
    """
    split, n_classes = tree.is_split, counts.shape[1]
    make, template = _template()
    nodes = np.zeros(tree.n_nodes, dtype=template["nodes"].dtype)
    nodes["left_child"] = np.where(split, tree.left, SKLEARN_LEAF)
    nodes["right_child"] = np.where(split, tree.right, SKLEARN_LEAF)
    nodes["feature"] = np.where(split, tree.feature, SKLEARN_UNDEFINED)
    nodes["threshold"] = np.where(split, tree.threshold, SKLEARN_UNDEFINED)
    nodes["missing_go_to_left"] = tree.missing_left
    nodes["impurity"] = 1.0 - (tree.values**2).sum(axis=1)  # gini, for feature importances
    nodes["n_node_samples"] = n_samples
    nodes["weighted_n_node_samples"] = counts.sum(axis=1)
    written = make(tree.n_features, np.array([n_classes], dtype=np.intp), 1)
    written.__setstate__(
        {
            **template,
            "max_depth": int(tree.depth.max()),
            "node_count": tree.n_nodes,
            "nodes": nodes,
            "values": tree.values[:, None, :].copy(),
        }
    )
    model = DecisionTreeClassifier(**parameters)
    model.tree_ = written
    model.classes_ = np.arange(n_classes)
    model.n_classes_ = n_classes
    model.n_outputs_ = 1
    model.n_features_in_ = tree.n_features
    model.max_features_ = min(n_features_tried, tree.n_features)
    return model


@cache
def _template() -> tuple[Any, dict[str, Any]]:
    """Return how this version of scikit-learn makes a tree, and the state of the smallest one."""
    make, _, state = DecisionTreeClassifier().fit([[0.0]], [0]).tree_.__reduce__()
    check_node_fields(state["nodes"])
    return make, state
