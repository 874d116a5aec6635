"""The JSON document of an XGBoost model, around its trees."""

import json
from itertools import pairwise
from typing import Any

import numpy as np

from thriftwood.errors import UnsupportedModelError
from thriftwood.forest import Aim, Link
from thriftwood.support.arrays import FloatArray

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

# What regressors aim at: the mean, where they have one of these links, or else
AIMS: dict[str, Aim] = {
    "reg:squarederror": "mean",
    "reg:linear": "mean",
    "reg:squaredlogerror": "mean",
    "reg:absoluteerror": "median",
    "reg:pseudohubererror": "median",
}
SHARES = "reg:logistic"  # of targets between 0 and 1, which need not be classes

Document = dict[str, Any]


def check_outputs(learner: Document, name: str) -> None:
    """Refuse what is no ensemble of trees with one score, or one score for each class."""
    kind, objective = learner["gradient_booster"]["name"], learner["objective"]["name"]
    if kind not in ("gbtree", "dart"):
        raise UnsupportedModelError(
            f"This {name} is a linear model (booster={kind!r}), which has no trees to prune. "
            "Train it with booster='gbtree' or 'dart'."
        )
    n_targets = int(learner["learner_model_param"].get("num_target", 1))
    if n_targets > 1:
        raise UnsupportedModelError(
            f"This {name} predicts {n_targets} outputs at once; only one can be pruned. "
            "Train one model per output."
        )
    if objective == "binary:hinge":
        raise UnsupportedModelError(
            f"This {name} was trained with 'binary:hinge', which predicts no probabilities. "
            "Train it with 'binary:logistic'."
        )


def link_of(learner: Document) -> Link:
    return LINKS.get(learner["objective"]["name"], "identity")


def aim_of(learner: Document) -> Aim:
    name = learner["objective"]["name"]
    return AIMS.get(name, "mean" if name in LINKS else "other")


def predicts_shares(learner: Document) -> bool:
    return bool(learner["objective"]["name"] == SHARES)


def n_outputs_of(learner: Document) -> int:
    return max(int(learner["learner_model_param"]["num_class"]), 1)


def bias_of(learner: Document) -> FloatArray:
    """Return the base score, which XGBoost keeps as a prediction, as a score for each output."""
    base = np.atleast_1d(json.loads(learner["learner_model_param"]["base_score"])).astype(float)
    link = link_of(learner)
    with np.errstate(divide="ignore"):
        if link == "logistic":
            base = np.log(base) - np.log1p(-base)
        elif link == "exp":
            base = np.log(base)
    return np.broadcast_to(base, n_outputs_of(learner))


def labels_of(learner: Document) -> dict[int, tuple[Any, ...]]:
    """Return the labels of categories, which XGBoost keeps since 3.1.

    It counts characters where it cuts text that it stores as bytes, so labels beyond ASCII cannot
    be told apart: of such columns only the numbers of categories are known. A label that training
    has not seen is a missing value for us; XGBoost 3.2 takes it for the first category, silently.
    """
    labels: dict[int, tuple[Any, ...]] = {}
    for column, kept in enumerate(grown_part(learner).get("cats", {}).get("enc", [])):
        stored, cuts = kept["values"], kept.get("offsets")
        if not stored or (cuts is not None and min(stored) < 0):
            continue
        if cuts is None:
            labels[column] = tuple(stored)
        else:
            text = bytes(stored).decode("ascii")
            labels[column] = tuple(text[first:last] for first, last in pairwise(cuts))
    return labels


def grown_part(learner: Document) -> Document:
    """Return the part of a document that holds the trees; dart wraps it once more."""
    part = learner["gradient_booster"]
    grown: Document = part.get("gbtree", part)["model"]
    return grown


def round_starts(grown: Document) -> list[int]:
    """Return the first tree of each round, and behind the last round the number of trees."""
    starts: list[int] | None = grown.get("iteration_indptr")
    if starts:
        return starts
    each = (max(grown["tree_info"], default=0) + 1) * parallel_trees(grown)
    return list(range(0, len(grown["trees"]) + 1, each))


def parallel_trees(grown: Document) -> int:
    return max(int(grown["gbtree_model_param"].get("num_parallel_tree", 1)), 1)


def tree_weights(learner: Document) -> FloatArray:
    """Return what each tree is multiplied with, as dart does to trees that it had dropped."""
    n_trees = len(grown_part(learner)["trees"])
    return np.array(learner["gradient_booster"].get("weight_drop", np.ones(n_trees)), dtype=float)


def with_trees(document: Document, trees: list[Document]) -> Document:
    """Return a document with other trees, perhaps fewer, each with its full weight."""
    learner = document["learner"]
    grown, n_trees = grown_part(learner), len(trees)
    new = {
        **grown,
        "trees": trees,
        "tree_info": grown["tree_info"][:n_trees],
        "gbtree_model_param": {**grown["gbtree_model_param"], "num_trees": str(n_trees)},
    }
    if "iteration_indptr" in grown:
        new["iteration_indptr"] = [first for first in grown["iteration_indptr"] if first <= n_trees]
    part = learner["gradient_booster"]
    if "gbtree" in part:
        inner = {**part["gbtree"], "model": new}
        part = {**part, "gbtree": inner, "weight_drop": [1.0] * n_trees}
    else:
        part = {**part, "model": new}
    return {**document, "learner": {**learner, "gradient_booster": part}}
