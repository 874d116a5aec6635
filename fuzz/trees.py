"""Trees of scikit-learn and LightGBM as plain lists, by what these libraries publish."""

import re
from dataclasses import dataclass

import numpy as np


@dataclass
class Tree:
    """A tree; node 0 is its root, and a leaf has the left child -1."""

    left: list
    right: list
    feature: list
    threshold: list
    values: np.ndarray  # what a node says, one row each
    passed: np.ndarray | None = None  # whether a sample (column) comes by a node (row)
    gains: list | None = None  # that were recorded in training

    @property
    def splits(self):
        return [node for node, child in enumerate(self.left) if child >= 0]


def trees_of(model, X=None):
    """Return the trees of a model, with the ways of samples through them where X is given."""
    if hasattr(model, "booster_"):
        model = model.booster_
    if hasattr(model, "dump_model"):
        return _of_lightgbm(model, X)
    samples = None if X is None else np.asarray(X, dtype=np.float32)
    columns = getattr(model, "estimators_features_", None)
    n_classes = len(model.classes_) if hasattr(model, "classes_") else None
    found = []
    is_boosted = hasattr(model, "init_")
    for number, one in enumerate(np.ravel(getattr(model, "estimators_", [model]))):
        own = columns[number] if columns is not None else np.arange(one.n_features_in_)
        tree = _of_sklearn(one, own, samples, None if is_boosted else n_classes)
        tree.gains = _gains(one.tree_) if is_boosted else None
        found.append(tree)
    return found


def _gains(tree):
    """Return by how much each split made the squared error smaller when it was made."""
    error = tree.impurity * tree.weighted_n_node_samples
    gains = error - error[tree.children_left] - error[tree.children_right]
    return np.where(tree.children_left < 0, 0.0, gains).tolist()


def _of_sklearn(model, columns, samples, n_classes):
    tree = model.tree_
    values = tree.value[:, 0, :]
    if n_classes is not None and values.shape[1] < n_classes:  # a bag may lack a class
        known, values = values, np.zeros((len(values), n_classes))
        values[:, model.classes_.astype(int)] = known
    passed = None
    if samples is not None:
        passed = tree.decision_path(np.ascontiguousarray(samples[:, columns])).toarray().T > 0
    feature = [int(columns[one]) if one >= 0 else -1 for one in tree.feature]
    left, right = tree.children_left.tolist(), tree.children_right.tolist()
    return Tree(left, right, feature, tree.threshold.tolist(), values, passed)


def _of_lightgbm(booster, X):
    leaves = None if X is None else np.atleast_2d(booster.predict(np.asarray(X), pred_leaf=True).T)
    # Gains have the digits of a model file.
    recorded = [
        [float(one) for one in line.split()]
        for line in re.findall("^split_gain=(.*)$", booster.model_to_string(), re.M)
    ]
    return [
        _of_dump(one["tree_structure"], recorded[number], None if X is None else leaves[number])
        for number, one in enumerate(booster.dump_model()["tree_info"])
    ]


def _of_dump(root, recorded, leaf_of):
    tree = Tree([], [], [], [], [], gains=[])
    ways = []

    def add(node):
        place = len(tree.left)
        is_split = "split_feature" in node
        for column, value in (
            (tree.left, -1),
            (tree.right, -1),
            (tree.feature, node.get("split_feature", -1)),
            (tree.threshold, node.get("threshold", -2.0)),
            (tree.values, [node["internal_value" if is_split else "leaf_value"]]),
            (tree.gains, recorded[node["split_index"]] if is_split else 0.0),
        ):
            column.append(value)
        ways.append(None)
        if is_split:
            tree.left[place] = add(node["left_child"])
            tree.right[place] = add(node["right_child"])
            if leaf_of is not None:
                ways[place] = ways[tree.left[place]] | ways[tree.right[place]]
        elif leaf_of is not None:
            ways[place] = leaf_of == node.get("leaf_index", 0)
        return place

    add(root)
    tree.values = np.array(tree.values)
    tree.passed = None if leaf_of is None else np.array(ways)
    return tree


def kept_by(trees, pruned):
    """Return which splits a pruned model keeps, one set of nodes a tree; checks all it says."""
    kept = []
    for tree, other in zip(trees, pruned, strict=True):
        own = set()
        pairs = [(0, 0)]
        while pairs:
            node, twin = pairs.pop()
            if other.left[twin] < 0:
                close = np.allclose(other.values[twin], tree.values[node], rtol=1e-9, atol=1e-12)
                assert close or tree.gains is not None, "a leaf says what its node did not"
                continue
            assert tree.left[node] >= 0, "a pruned tree splits where the tree did not"
            same = (tree.feature[node], tree.threshold[node])
            assert same == (other.feature[twin], other.threshold[twin]), "a split has changed"
            own.add(node)
            pairs += [
                (tree.left[node], other.left[twin]),
                (tree.right[node], other.right[twin]),
            ]
        kept.append(own)
    return kept
