"""Boosters of XGBoost and its estimators for scikit-learn, by their JSON document."""

import json
from copy import deepcopy
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.adapters.common import (
    collapsed_trees,
    is_a,
    join_trees,
    several_outputs,
    unfitted,
)
from thriftwood.adapters.xgboost_trees import (
    Document,
    Recorded,
    node_values,
    read_tree,
    written_tree,
)
from thriftwood.errors import ForestError, UnfittedModelError, UnsupportedModelError
from thriftwood.forest import Forest, Link, Statistic, scores
from thriftwood.support.arrays import BoolArray, FloatArray, IntArray

# What makes a prediction of a score; of an objective that is not here, the score itself.
LINKS: dict[str, Link] = {
    "binary:logistic": "logistic",
    "reg:logistic": "logistic",
    "multi:softprob": "softmax",
    "multi:softmax": "softmax",
    "count:poisson": "exp",
    "reg:gamma": "exp",
    "reg:tweedie": "exp",
    "survival:aft": "exp",
    "survival:cox": "exp",
}

# The statistic that regressors predict: the mean, where they have one of these links, or else
STATISTICS: dict[str, Statistic] = {
    "reg:squarederror": "mean",
    "reg:linear": "mean",
    "reg:squaredlogerror": "mean",
    "reg:absoluteerror": "median",
    "reg:pseudohubererror": "median",
    "survival:aft": "other",
    "survival:cox": "other",
}
REFUSED_IN_NAMES = r"[\[\]<]"
SHARES = "reg:logistic"  # of targets between 0 and 1, which need not be classes

# These objectives set their leaves to a quantile of the samples after the tree has grown.
LEAVES_SET_LATER = ("reg:absoluteerror", "reg:quantileerror")


def read(model: Any) -> Forest:
    return _read(model)[0]


def write(model: Any, kept: BoolArray, values: FloatArray | None = None) -> Any:
    forest, document, orders = _read(model)
    grown = _grown_part(document["learner"])
    new_trees = [
        written_tree(grown["trees"][t], orders[t], own, own.values[:, grown["tree_info"][t]])
        for t, own in enumerate(collapsed_trees(forest, kept, values))
    ]
    return _with_document(model, _with_trees(document, new_trees))


def with_columns(model: Any, columns: IntArray) -> Any:
    """Return a copy of a model that takes only these columns, none of them of categories."""
    document = _document_of(_booster_of(model))
    learner, grown = document["learner"], _grown_part(document["learner"])
    for name in ("feature_names", "feature_types"):
        if learner.get(name):
            learner[name] = [learner[name][k] for k in columns]
    learner["learner_model_param"]["num_feature"] = str(len(columns))
    for tree in grown["trees"]:
        # Leaves have a number, too, which nobody looks at.
        places = np.searchsorted(columns, tree["split_indices"])
        tree["split_indices"] = np.where(places < len(columns), places, 0).tolist()
    for key in grown.get("cats", {}):
        grown["cats"][key] = []
    return _with_document(model, document)


def _with_document(model: Any, document: Document) -> Any:
    """Return a copy of a model that predicts what another document says."""
    import xgboost

    booster, new = _booster_of(model), xgboost.Booster()
    # XGBoost takes an escaped letter in a name for six letters.
    new.load_model(bytearray(json.dumps(document, ensure_ascii=False).encode()))
    config = json.loads(booster.save_config())  # how it was trained, and its number of threads
    n_features = document["learner"]["learner_model_param"]["num_feature"]
    config["learner"]["learner_model_param"]["num_feature"] = n_features
    new.load_config(json.dumps(config))
    # The copy takes the new booster wherever the old one stood.
    return new if booster is model else deepcopy(model, {id(booster): new})


def _booster_of(model: Any) -> Any:
    if is_a(model, "xgboost", "Booster"):
        return model
    if not model.__sklearn_is_fitted__():
        raise unfitted(model)
    if model.missing is not None and not np.isnan(model.missing):
        raise UnsupportedModelError(
            f"This {type(model).__name__} takes {model.missing:g} for a missing value. Put NaN in "
            "its place in X and call `set_params(missing=numpy.nan)` on the model: it then "
            "predicts the same."
        )
    return model.get_booster()


def _read(model: Any) -> tuple[Forest, Document, list[IntArray]]:
    """Return the forest of a model, the document, and the numbers of each tree's nodes in it."""
    booster = _booster_of(model)
    document = _document_of(booster)
    learner = document["learner"]
    _check_learner(model, learner)
    grown = _grown_part(learner)
    starts = grown["iteration_indptr"] or [0]  # the first tree of each round, and their number
    n_rounds = len(starts) - 1
    if not is_a(model, "xgboost", "Booster"):  # an estimator predicts with its best rounds
        n_rounds = min(getattr(model, "best_iteration", n_rounds - 1) + 1, n_rounds)
    n_trees, n_outputs = starts[n_rounds], _n_outputs(learner)
    if n_trees == 0:
        raise ForestError("This XGBoost model has no tree: train it for at least one round.")
    found = [read_tree(tree, n_outputs) for tree in grown["trees"][:n_trees]]
    names = learner.get("feature_names")
    shape = join_trees(
        [nodes for nodes, _, _ in found],
        n_features=int(learner["learner_model_param"]["num_feature"]),
        combine="sum",
        feature_names=tuple(names) if names else None,
        input_dtype=np.dtype(np.float32),
        absent=np.nan,
        **_meaning(model, learner),
        category_labels=_labels(grown),
    )
    recorded = Recorded(*map(np.concatenate, zip(*(part for _, part, _ in found), strict=True)))
    later = learner["objective"]["name"] in LEAVES_SET_LATER
    own = node_values(shape, recorded, *_penalties(booster), later)
    # Trees that were dropped in some rounds are multiplied; since 3.4 their weights are with them.
    weights = np.array(
        grown.get("weight_drop", learner["gradient_booster"].get("weight_drop", np.ones(n_trees)))
    )
    sizes = np.diff(shape.tree_start)
    values = np.zeros((shape.n_nodes, n_outputs))
    output = np.repeat(grown["tree_info"][:n_trees], sizes)
    values[np.arange(shape.n_nodes), output] = own * np.repeat(weights[:n_trees], sizes)
    forest = replace(shape, values=values).check()
    _check_score(booster, forest, n_rounds)
    return forest, document, [order for _, _, order in found]


def _document_of(booster: Any) -> Document:
    from xgboost.core import XGBoostError

    try:
        document: Document = json.loads(booster.save_raw("json"))
    except XGBoostError:
        raise UnfittedModelError(
            "This Booster is not trained: train it, or load a model into it."
        ) from None
    return document


def _check_learner(model: Any, learner: Document) -> None:
    """Refuse what is no ensemble of trees with one score, or one score for each class."""
    name = type(model).__name__
    kind, objective = learner["gradient_booster"]["name"], learner["objective"]["name"]
    if kind not in ("gbtree", "dart"):
        raise UnsupportedModelError(
            f"This {name} is a linear model (booster={kind!r}), which has no trees to prune. "
            "Train it with booster='gbtree' or 'dart'."
        )
    n_targets = int(learner["learner_model_param"].get("num_target", 1))
    if n_targets > 1:
        raise several_outputs(model, n_targets)
    if objective == "binary:hinge":
        raise UnsupportedModelError(
            f"This {name} was trained with 'binary:hinge', which predicts no probabilities. "
            "Train it with 'binary:logistic'."
        )
    has_classes = LINKS.get(objective) in ("logistic", "softmax")
    if is_a(model, "xgboost", "XGBClassifier") and not has_classes:
        raise UnsupportedModelError(
            f"This {name} was trained with {objective!r}, whose scores have no probabilities. "
            "Train it with 'binary:logistic' or 'multi:softprob', or pass its `get_booster()`, "
            "which predicts scores."
        )


def _meaning(model: Any, learner: Document) -> dict[str, Any]:
    """Return the link, the statistic, the bias and the classes of a forest."""
    name = learner["objective"]["name"]
    link = LINKS.get(name, "identity")
    classes: NDArray[Any] | None = None
    if link in ("logistic", "softmax"):
        if is_a(model, "xgboost", "XGBClassifier"):
            classes = np.asarray(model.classes_)
        elif name != SHARES:
            classes = np.arange(max(_n_outputs(learner), 2))
    return {
        "link": link,
        "statistic": STATISTICS.get(name, "mean" if name in LINKS else "other"),
        "bias": _bias(model, learner, link),
        "classes": classes,
    }


def _n_outputs(learner: Document) -> int:
    return max(int(learner["learner_model_param"]["num_class"]), 1)


def _bias(model: Any, learner: Document, link: Link) -> FloatArray:
    """Return the base score, which XGBoost keeps as a prediction, as a score for each output."""
    base = np.atleast_1d(json.loads(learner["learner_model_param"]["base_score"])).astype(float)
    with np.errstate(divide="ignore"):
        if link == "logistic":
            base = np.log(base) - np.log1p(-base)
        elif link == "exp":
            base = np.log(base)
    if not np.isfinite(base).all():
        raise UnsupportedModelError(
            f"This {type(model).__name__} starts from an infinite score, as after a training on "
            "one class only: there is nothing to prune. Train it on samples of both."
        )
    return np.broadcast_to(base, _n_outputs(learner))


def _labels(grown: Document) -> dict[int, tuple[Any, ...]]:
    """Return the labels of categories, which XGBoost keeps since 3.1.

    It counts characters where it cuts text that it stores as bytes, so labels beyond ASCII cannot
    be told apart: of such columns only the numbers of categories are known. A label that training
    has not seen is a missing value for us; XGBoost 3.2 takes it for the first category, silently.
    """
    labels: dict[int, tuple[Any, ...]] = {}
    for column, kept in enumerate(grown.get("cats", {}).get("enc", [])):
        stored, cuts = kept["values"], kept.get("offsets")
        if not stored or (cuts is not None and min(stored) < 0):
            continue
        if cuts is None:
            labels[column] = tuple(stored)
        else:
            text = bytes(stored).decode("ascii")
            labels[column] = tuple(text[first:last] for first, last in pairwise(cuts))
    return labels


def _grown_part(learner: Document) -> Document:
    """Return the part of a document that holds the trees; dart wraps it once more."""
    part = learner["gradient_booster"]
    grown: Document = part.get("gbtree", part)["model"]
    return grown


def _penalties(booster: Any) -> tuple[float, float]:
    """Return the L2 and the L1 penalty of the training; of a loaded model, the defaults."""
    part = json.loads(booster.save_config())["learner"]["gradient_booster"]
    known = part.get("gbtree", part).get("tree_train_param", {})
    return float(known.get("lambda", 1)), float(known.get("alpha", 0))


def _check_score(booster: Any, forest: Forest, n_rounds: int) -> None:
    """Refuse a model whose score of a sample without any value is not the forest's."""
    sample = np.full((1, forest.n_features), np.nan, dtype=np.float32)
    expected = booster.inplace_predict(
        sample, iteration_range=(0, n_rounds), predict_type="margin", validate_features=False
    )
    off = np.abs(scores(forest, sample, 1)[0] - np.ravel(expected)).max()
    size = np.abs(forest.values).max() * forest.n_trees + np.abs(forest.bias).max() + 1.0
    if not off <= 1e-5 * size:
        raise UnsupportedModelError(
            "The scores of this XGBoost model cannot be reproduced from its trees. "
            "Use a version of XGBoost that Thriftwood supports, and one of its own objectives."
        )


def _with_trees(document: Document, trees: list[Document]) -> Document:
    """Return a document with other trees, perhaps fewer, each with its full weight."""
    learner = document["learner"]
    grown, n_trees = _grown_part(learner), len(trees)
    new = {
        **grown,
        "trees": trees,
        "tree_info": grown["tree_info"][:n_trees],
        "gbtree_model_param": {**grown["gbtree_model_param"], "num_trees": str(n_trees)},
        "iteration_indptr": [first for first in grown["iteration_indptr"] if first <= n_trees],
        **({"weight_drop": [1.0] * n_trees} if "weight_drop" in grown else {}),
    }
    part = learner["gradient_booster"]
    if "gbtree" in part:
        inner = {**part["gbtree"], "model": new}
        part = {**part, "gbtree": inner, "weight_drop": [1.0] * n_trees}
    else:
        part = {**part, "model": new}
    return {**document, "learner": {**learner, "gradient_booster": part}}
