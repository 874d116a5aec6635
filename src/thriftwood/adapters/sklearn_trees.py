"""Decision trees of scikit-learn, and what averages them: forests, bagging and our own."""

from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np
from sklearn.tree import BaseDecisionTree, DecisionTreeClassifier, DecisionTreeRegressor

from thriftwood.adapters.common import (
    BootstrapSamples,
    TreeNodes,
    collapsed_trees,
    join_trees,
    several_outputs,
    unfitted,
)
from thriftwood.errors import ForestError, UnsupportedModelError
from thriftwood.forest import Forest
from thriftwood.support.arrays import BoolArray, FloatArray, IndexArray, IntArray

# scikit-learn marks leaves so: no child, and this in place of feature and threshold.
SKLEARN_LEAF = -1
SKLEARN_UNDEFINED = -2

NODE_FIELDS = {
    "left_child",
    "right_child",
    "feature",
    "threshold",
    "impurity",
    "n_node_samples",
    "weighted_n_node_samples",
    "missing_go_to_left",
}

# Measured on the unpruned trees, so no longer true of the pruned ones.
STALE = ("oob_score_", "oob_decision_function_", "oob_prediction_")


def read(model: Any) -> Forest:
    is_one_tree = isinstance(model, BaseDecisionTree)
    if not hasattr(model, "tree_" if is_one_tree else "estimators_"):
        raise unfitted(model)
    trees = [model] if is_one_tree else model.estimators_
    for one in (model, *trees):
        if getattr(one, "n_outputs_", 1) != 1:
            raise several_outputs(one, one.n_outputs_)
    if is_one_tree:
        return forest_of(trees, [model.tree_.value[:, 0, :]], model)
    if not len(trees):
        raise ForestError(f"This {type(model).__name__} has no tree: fit it with at least one.")
    classes = getattr(model, "classes_", None)
    wanted = DecisionTreeRegressor if classes is None else DecisionTreeClassifier
    for number, tree in enumerate(trees):
        if not isinstance(tree, wanted):
            raise UnsupportedModelError(
                f"Estimator {number} of this {type(model).__name__} is a {type(tree).__name__}; "
                f"it can be pruned only over decision trees of the kind {wanted.__name__}."
            )
    values = [_values(number, tree, classes) for number, tree in enumerate(trees)]
    return forest_of(trees, values, model)


def write(model: Any, kept: BoolArray, values: FloatArray | None = None) -> Any:
    forest = read(model)
    if isinstance(model, BaseDecisionTree):
        return written_trees([model], forest, kept, values)[0]
    trees = written_trees(model.estimators_, forest, kept, values)
    # The copy takes the new trees wherever the old ones stood, alone or in their list.
    new_for_old = {id(old): new for old, new in zip(model.estimators_, trees, strict=True)}
    pruned = deepcopy(model, {id(model.estimators_): trees, **new_for_old})
    for name in STALE:
        vars(pruned).pop(name, None)
    return pruned


def with_columns(model: Any, columns: IntArray) -> Any:
    """Return a copy of a model that takes only these columns; boosted ones, too."""
    trees = _trees_of(model)
    seen = getattr(model, "estimators_features_", [None] * len(trees))
    new_for_old = {
        id(tree.tree_): _renumbered(tree.tree_, columns, own)
        for tree, own in zip(trees, seen, strict=True)
    }
    narrow = deepcopy(model, new_for_old)
    for one in (narrow, *_trees_of(narrow)):
        one.n_features_in_ = len(columns)
        if hasattr(one, "feature_names_in_"):
            one.feature_names_in_ = one.feature_names_in_[columns]
    if hasattr(narrow, "estimators_features_"):
        narrow.estimators_features_ = [np.arange(len(columns)) for _ in trees]
    return narrow


def samples(model: Any) -> BootstrapSamples | None:
    if isinstance(model, BaseDecisionTree):
        return None  # a tree alone does not say which samples it was given
    # scikit-learn draws the samples anew from their seeds, for as many as there were.
    return BootstrapSamples(
        [np.asarray(drawn) for drawn in model.estimators_samples_], model._n_samples
    )


def forest_of(trees: list[Any], values: list[FloatArray], model: Any) -> Forest:
    """Return the forest of tree estimators with these values; `model` is the ensemble.

    Bagged trees may have seen some of the columns only.
    """
    nodes = []
    columns_of = getattr(model, "estimators_features_", [None] * len(trees))
    for tree, own_values, columns in zip(trees, values, columns_of, strict=True):
        own = tree.tree_
        nodes.append(
            TreeNodes(
                left=own.children_left,
                right=own.children_right,
                feature=own.feature if columns is None else columns[np.maximum(own.feature, 0)],
                # Before 1.9 some are NaN, where values are missing: no value is below it.
                threshold=np.where(np.isnan(own.threshold), -np.inf, own.threshold),
                missing_left=own.missing_go_to_left,
                values=own_values,
            )
        )
    names = getattr(model, "feature_names_in_", None)
    is_median = getattr(trees[0], "criterion", "") == "absolute_error"
    return join_trees(
        nodes,
        n_features=model.n_features_in_,
        classes=getattr(model, "classes_", None),
        statistic="median" if is_median else "mean",
        feature_names=None if names is None else tuple(names),
    )


def written_trees(
    trees: list[Any], forest: Forest, kept: BoolArray, values: FloatArray | None = None
) -> list[Any]:
    """Return copies of tree estimators, collapsed as the forest that was read from them."""
    new_trees = []
    for tree, own in zip(trees, collapsed_trees(forest, kept, values), strict=True):
        make, arguments, state = tree.tree_.__reduce__()
        check_node_fields(state["nodes"], NODE_FIELDS)
        nodes = np.zeros(len(own.origin), dtype=state["nodes"].dtype)
        for name in NODE_FIELDS:  # and not what the memory between them holds by chance
            nodes[name] = state["nodes"][name][own.origin]
        nodes["left_child"], nodes["right_child"] = own.left, own.right
        nodes["feature"][~own.is_split] = SKLEARN_UNDEFINED
        nodes["threshold"][~own.is_split] = SKLEARN_UNDEFINED
        nodes["missing_go_to_left"][~own.is_split] = 0
        said = state["values"][own.origin] if values is None else own.values[:, None, :]
        new_tree = _made(make(*arguments), state, nodes, said, own.depth)
        # The copy takes the new tree wherever the old one stood.
        new_trees.append(deepcopy(tree, {id(tree.tree_): new_tree}))
    return new_trees


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
        How many samples each node has.
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
    model = DecisionTreeClassifier(**parameters)
    model.tree_ = _made(written, template, nodes, tree.values[:, None, :], tree.depth)
    model.classes_ = np.arange(n_classes)
    model.n_classes_ = n_classes
    model.n_outputs_ = 1
    model.n_features_in_ = tree.n_features
    model.max_features_ = min(n_features_tried, tree.n_features)
    return model


def _trees_of(model: Any) -> list[Any]:
    return [model] if isinstance(model, BaseDecisionTree) else [*np.ravel(model.estimators_)]


def _renumbered(tree: Any, columns: IntArray, seen: IntArray | None) -> Any:
    """Return a tree of scikit-learn over these columns alone; it saw all, or only some."""
    make, (_, *arguments), state = tree.__reduce__()
    split = state["nodes"]["feature"] >= 0
    feature = state["nodes"]["feature"][split]
    nodes = state["nodes"].copy()
    nodes["feature"][split] = np.searchsorted(columns, feature if seen is None else seen[feature])
    new = make(len(columns), *arguments)
    new.__setstate__({**state, "nodes": nodes})
    return new


def _made(tree: Any, state: dict[str, Any], nodes: Any, values: Any, depth: IndexArray) -> Any:
    """Return a new tree of scikit-learn with other nodes than the state that it is made from."""
    about = {"max_depth": int(depth.max()), "node_count": len(nodes), "nodes": nodes}
    tree.__setstate__({**state, **about, "values": np.array(values, order="C")})
    return tree


@cache
def _template() -> tuple[Any, dict[str, Any]]:
    """Return how this version of scikit-learn makes a tree, and the state of the smallest one."""
    make, _, state = DecisionTreeClassifier().fit([[0.0]], [0]).tree_.__reduce__()
    check_node_fields(state["nodes"], NODE_FIELDS)
    return make, state


def _values(number: int, tree: Any, classes: Any) -> FloatArray:
    """Return what the nodes of a tree predict, one column for each class of the ensemble.

    A bagged tree may have missed a class in its sample: it gives that class no probability.
    """
    values: FloatArray = tree.tree_.value[:, 0, :]
    if classes is None:
        return values
    known = np.asarray(tree.classes_)
    if len(known) != values.shape[1] or not np.isin(known, np.arange(len(classes))).all():
        raise ForestError(
            f"Tree {number} of the ensemble has the classes {known.tolist()}, which do not fit the "
            f"ensemble's {len(classes)} classes: the trees must come from one training."
        )
    full = np.zeros((len(values), len(classes)))
    full[:, known.astype(np.intp)] = values
    return full


def check_node_fields(nodes: Any, known: set[str]) -> None:
    """Refuse nodes of a version of scikit-learn that keeps something else in them."""
    unknown = set(nodes.dtype.names) ^ known
    if unknown:
        raise UnsupportedModelError(
            "This version of scikit-learn keeps its trees in another form (see "
            f"{', '.join(sorted(unknown))}): use a version that Thriftwood supports."
        )
