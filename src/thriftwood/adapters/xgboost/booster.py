"""Boosters of XGBoost and its estimators for scikit-learn."""

import json
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thriftwood.adapters.joining import TreeNodes, join_trees
from thriftwood.adapters.kinds import is_a
from thriftwood.adapters.samples import BootstrapSamples
from thriftwood.adapters.xgboost.document import (
    Document,
    aim_of,
    bias_of,
    check_outputs,
    grown_part,
    labels_of,
    link_of,
    n_outputs_of,
    parallel_trees,
    predicts_shares,
    round_starts,
    tree_weights,
    with_trees,
)
from thriftwood.adapters.xgboost.trees import Recorded, recorded_tree, written_tree
from thriftwood.adapters.xgboost.values import Regularisation, node_values
from thriftwood.errors import ForestError, UnfittedModelError, UnsupportedModelError
from thriftwood.forest import Forest, collapse, scores
from thriftwood.support.arrays import BoolArray, FloatArray

SUPPORTED = "XGBoost (Booster, XGB*)"

# These objectives set their leaves to a quantile of the rows after the tree has grown.
LEAVES_SET_LATER = ("reg:absoluteerror", "reg:quantileerror")


def reads(model: object) -> bool:
    return is_a(model, "xgboost", "Booster") or is_a(model, "xgboost", "XGBModel")


def read(model: Any) -> Forest:
    return _read(model).forest


def write(model: Any, kept: BoolArray, values: FloatArray | None = None) -> Any:
    import xgboost

    booster = _booster_of(model)
    document = _collapsed(_read(model), kept, values)
    pruned = xgboost.Booster()
    pruned.load_model(bytearray(json.dumps(document).encode()))
    pruned.load_config(booster.save_config())  # how it was trained, and its number of threads
    if booster is model:
        return pruned
    # The copy takes the new booster wherever the old one stood.
    return deepcopy(model, {id(booster): pruned})


def samples(_model: Any) -> BootstrapSamples | None:
    return None  # boosters do not note which rows a tree was given


class _Read(NamedTuple):
    """A forest, the document that it was read from, and those of its trees that predict."""

    forest: Forest
    document: Document
    trees: list[Recorded]


def _booster_of(model: Any) -> Any:
    if is_a(model, "xgboost", "Booster"):
        return model
    name = type(model).__name__
    if not model.__sklearn_is_fitted__():
        raise UnfittedModelError(f"This {name} is not fitted yet: call its `fit` before pruning.")
    if model.missing is not None and not np.isnan(model.missing):
        raise UnsupportedModelError(
            f"This {name} takes {model.missing:g} for a missing value. Put NaN in its place in X "
            "and call `set_params(missing=numpy.nan)` on the model: it then predicts the same."
        )
    return model.get_booster()


def _read(model: Any) -> _Read:
    booster = _booster_of(model)
    document = _document_of(booster)
    learner = document["learner"]
    check_outputs(learner, type(model).__name__)
    _check_classifier(model, learner)
    grown = grown_part(learner)
    n_rounds = _rounds_used(model, grown)
    n_trees = round_starts(grown)[n_rounds]
    if n_trees == 0:
        raise ForestError("This XGBoost model has no tree: train it for at least one round.")
    trees = [recorded_tree(tree, number) for number, tree in enumerate(grown["trees"][:n_trees])]
    later = learner["objective"]["name"] in LEAVES_SET_LATER
    values = node_values(trees, _regularisation(booster, grown), later)
    weighted = [w * own for w, own in zip(tree_weights(learner), values, strict=False)]
    if not np.isfinite(bias_of(learner)).all():
        raise UnsupportedModelError(
            f"This {type(model).__name__} starts from an infinite score, as after a training on "
            "one class only: there is nothing to prune. Train it on rows of both."
        )
    forest = _forest_of(model, learner, trees, weighted).check()
    _check_score(booster, forest, n_rounds)
    return _Read(forest, document, trees)


def _document_of(booster: Any) -> Document:
    from xgboost.core import XGBoostError

    try:
        document: Document = json.loads(booster.save_raw("json"))
    except XGBoostError:
        raise UnfittedModelError(
            "This Booster is not trained yet: train it, or load a model into it."
        ) from None
    return document


def _check_classifier(model: Any, learner: Document) -> None:
    if is_a(model, "xgboost", "XGBClassifier") and link_of(learner) not in ("logistic", "softmax"):
        raise UnsupportedModelError(
            f"This {type(model).__name__} was trained with {learner['objective']['name']!r}, whose "
            "scores have no probabilities. Train it with 'binary:logistic' or 'multi:softprob', "
            "or pass its `get_booster()`, which predicts scores."
        )


def _rounds_used(model: Any, grown: Document) -> int:
    """Return how many rounds `predict` uses: a booster all, an estimator those up to its best."""
    n_rounds = len(round_starts(grown)) - 1
    if is_a(model, "xgboost", "Booster"):
        return n_rounds
    return min(getattr(model, "best_iteration", n_rounds - 1) + 1, n_rounds)


def _regularisation(booster: Any, grown: Document) -> Regularisation:
    part = json.loads(booster.save_config())["learner"]["gradient_booster"]
    known = part.get("gbtree", part).get("tree_train_param", {})
    return Regularisation(
        l2=float(known.get("lambda", 1)),
        l1=float(known.get("alpha", 0)),
        rate=float(known.get("learning_rate", 0.3)) / parallel_trees(grown),
        max_step=float(known.get("max_delta_step", 0)),
    )


def _forest_of(
    model: Any, learner: Document, trees: list[Recorded], values: list[FloatArray]
) -> Forest:
    n_outputs = n_outputs_of(learner)
    outputs = grown_part(learner)["tree_info"]
    names = learner.get("feature_names")
    return join_trees(
        [
            _nodes(tree, own, output, n_outputs)
            for tree, own, output in zip(trees, values, outputs, strict=False)
        ],
        n_features=int(learner["learner_model_param"]["num_feature"]),
        combine="sum",
        classes=_classes(model, learner),
        feature_names=tuple(names) if names else None,
        input_dtype=np.dtype(np.float32),
        bias=bias_of(learner),
        link=link_of(learner),
        aim=aim_of(learner),
        category_labels=labels_of(learner),
    )


def _nodes(tree: Recorded, values: FloatArray, output: int, n_outputs: int) -> TreeNodes:
    # XGBoost sends the listed categories to its right, we to our left.
    swapped = np.zeros(len(tree.left), dtype=np.bool_)
    swapped[list(tree.categories)] = True
    # A row goes to XGBoost's left where x < t in float32, to ours where x <= the number before t.
    before = np.nextafter(tree.condition.astype(np.float32), np.float32(-np.inf))
    all_values = np.zeros((len(values), n_outputs))
    all_values[:, output] = values
    return TreeNodes(
        left=np.where(swapped, tree.right, tree.left),
        right=np.where(swapped, tree.left, tree.right),
        feature=tree.feature,
        threshold=np.where(swapped, 0.0, before.astype(np.float64)),
        missing_left=tree.default_left != swapped,
        values=all_values,
        gains=tree.gain,
        categories=tree.categories,
    )


def _classes(model: Any, learner: Document) -> NDArray[Any] | None:
    if link_of(learner) not in ("logistic", "softmax"):
        return None
    if is_a(model, "xgboost", "XGBClassifier"):
        return np.asarray(model.classes_)
    if predicts_shares(learner):
        return None
    return np.arange(max(n_outputs_of(learner), 2))


def _check_score(booster: Any, forest: Forest, n_rounds: int) -> None:
    """Refuse a model whose score of a row without any value is not the forest's."""
    row = np.full((1, forest.n_features), np.nan, dtype=np.float32)
    expected = booster.inplace_predict(
        row, iteration_range=(0, n_rounds), predict_type="margin", validate_features=False
    )
    off = np.abs(scores(forest, row, 1)[0] - np.ravel(expected)).max()
    size = np.abs(forest.values).max() * forest.n_trees + np.abs(forest.bias).max() + 1.0
    if not off <= 1e-5 * size:
        raise UnsupportedModelError(
            "The scores of this XGBoost model cannot be reproduced from its trees. "
            "Use a version of XGBoost that Thriftwood supports, and one of its own objectives."
        )


def _collapsed(found: _Read, kept: BoolArray, values: FloatArray | None) -> Document:
    """Return the document of the pruned model; it has only the trees that predict."""
    collapsed, origin = collapse(found.forest, kept)
    grown = grown_part(found.document["learner"])
    says = found.forest.values if values is None else values
    new_trees = []
    for number, tree in enumerate(found.trees):
        own = slice(*collapsed.tree_start[number : number + 2])
        new_trees.append(
            written_tree(
                grown["trees"][number],
                tree,
                origin[own] - found.forest.tree_start[number],
                collapsed.is_split[own],
                says[origin[own], grown["tree_info"][number]],
            )
        )
    return with_trees(found.document, new_trees)
