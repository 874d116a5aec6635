"""A single decision tree of scikit-learn, and what ensembles need to read and write theirs."""

from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.tree import BaseDecisionTree

from thriftwood.adapters.samples import BootstrapSamples
from thriftwood.errors import UnfittedModelError, UnsupportedModelError
from thriftwood.forest import LEAF, Forest, collapse
from thriftwood.support.arrays import BoolArray, FloatArray, IntArray

SUPPORTED = "scikit-learn (DecisionTree*, ExtraTree*)"

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


def reads(model: object) -> bool:
    return isinstance(model, BaseDecisionTree)


def read(model: Any) -> Forest:
    check_fitted(model, "tree_")
    check_single_output(model)
    classes = getattr(model, "classes_", None)
    return forest_of([model], [model.tree_.value[:, 0, :]], model, classes)


def write(model: Any, kept: BoolArray, values: FloatArray | None = None) -> Any:
    (tree,) = collapsed_trees([model], read(model), kept, values)
    return tree


def samples(_model: Any) -> BootstrapSamples | None:
    return None  # a tree alone does not say which rows it was given


def check_fitted(model: Any, attribute: str) -> None:
    if not hasattr(model, attribute):
        raise UnfittedModelError(
            f"This {type(model).__name__} is not fitted yet: call its `fit` before pruning."
        )


def check_single_output(model: Any) -> None:
    if getattr(model, "n_outputs_", 1) != 1:
        raise UnsupportedModelError(
            f"This {type(model).__name__} predicts {model.n_outputs_} outputs at once; "
            "only one can be pruned. Train one model per output."
        )


def forest_of(
    trees: list[Any],
    values: list[FloatArray],
    model: Any,
    classes: Any,
    features: list[IntArray] | None = None,
) -> Forest:
    """Lay the trees of a model one after the other.

    Parameters
    ----------
    trees : list of fitted tree estimators
    values : list of arrays, shape (n_nodes of the tree, n_outputs)
    model : the ensemble, or the tree itself
    classes : array or None
    features : list of arrays, optional
        The column of the model that each feature of a tree is, where trees saw only some columns.
    """
    parts = [tree.tree_ for tree in trees]
    start = np.concatenate([[0], np.cumsum([part.node_count for part in parts])])
    is_leaf = np.concatenate([part.children_left == SKLEARN_LEAF for part in parts])
    tested = [np.where(part.feature < 0, 0, part.feature) for part in parts]
    if features is not None:
        tested = [own[feature] for own, feature in zip(features, tested, strict=True)]
    left = [part.children_left + first for part, first in zip(parts, start, strict=False)]
    right = [part.children_right + first for part, first in zip(parts, start, strict=False)]
    names = getattr(model, "feature_names_in_", None)
    return Forest(
        tree_start=start,
        feature=np.where(is_leaf, LEAF, np.concatenate(tested)),
        threshold=np.where(is_leaf, 0.0, np.concatenate([part.threshold for part in parts])),
        left=np.where(is_leaf, LEAF, np.concatenate(left)),
        right=np.where(is_leaf, LEAF, np.concatenate(right)),
        missing_left=np.concatenate([part.missing_go_to_left for part in parts]) & ~is_leaf,
        values=np.concatenate(values),
        n_features=model.n_features_in_,
        classes=classes,
        aim="median" if _criterion(trees[0]) == "absolute_error" else "mean",
        feature_names=None if names is None else tuple(names),
    )


def _criterion(tree: Any) -> str:
    return str(getattr(tree, "criterion", ""))


def collapsed_trees(
    trees: list[Any], forest: Forest, kept: BoolArray, values: FloatArray | None = None
) -> list[Any]:
    """Return copies of tree estimators, collapsed as the forest that was read from them.

    Parameters
    ----------
    trees, forest, kept
    values : shape (n_nodes of the forest, n_outputs), optional
        New values of the nodes.
    """
    collapsed, origin = collapse(forest, kept)
    depth = collapsed.depth
    new_trees = []
    for number, tree in enumerate(trees):
        first, last = collapsed.tree_start[number : number + 2]
        of_tree = slice(first, last)
        own = origin[of_tree] - forest.tree_start[number]
        split = collapsed.is_split[of_tree]
        make, arguments, state = tree.tree_.__reduce__()
        check_node_fields(state["nodes"])
        nodes = state["nodes"][own]
        nodes["left_child"] = np.where(split, collapsed.left[of_tree] - first, SKLEARN_LEAF)
        nodes["right_child"] = np.where(split, collapsed.right[of_tree] - first, SKLEARN_LEAF)
        nodes["feature"][~split] = SKLEARN_UNDEFINED
        nodes["threshold"][~split] = SKLEARN_UNDEFINED
        nodes["missing_go_to_left"][~split] = 0
        own_values = state["values"][own]
        if values is not None:
            own_values = values[origin[of_tree], None, :]
        new_tree = make(*arguments)
        new_tree.__setstate__(
            {
                **state,
                "max_depth": int(depth[of_tree].max()),
                "node_count": len(own),
                "nodes": nodes,
                "values": np.ascontiguousarray(own_values),
            }
        )
        # The copy takes the new tree wherever the old one stood.
        new_trees.append(deepcopy(tree, {id(tree.tree_): new_tree}))
    return new_trees


def check_node_fields(nodes: Any) -> None:
    fields = set(nodes.dtype.names)
    if fields != NODE_FIELDS:
        unknown = ", ".join(sorted(fields ^ NODE_FIELDS))
        raise UnsupportedModelError(
            f"This version of scikit-learn keeps its trees in another form (see {unknown}), "
            "so the pruned model cannot be written. Use a version that Thriftwood supports."
        )
