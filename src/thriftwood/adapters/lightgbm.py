"""LightGBM's boosters and their wrappers for scikit-learn.

We read the text that LightGBM saves, so a model, its pickle and its file are the same forest. The
values of leaves are exact there; those of inner nodes have six digits, which LightGBM itself leaves
of them when training ends. With an objective that renews its leaves (L1, quantile, MAPE) an inner
node does not know what its leaves were renewed to: it gets the mean of the leaves below, weighted
by their samples. After `refit` or `set_leaf_output`, which change leaves alone, inner nodes still
say what they said before.
"""

import json
import re
from copy import deepcopy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thriftwood.adapters import lightgbm_text as texts
from thriftwood.adapters.common import (
    CollapsedTree,
    collapsed_trees,
    damaged,
    in_columns,
    is_a,
    own_column,
    unfitted,
)
from thriftwood.adapters.lightgbm_text import ModelText, Nodes
from thriftwood.errors import UnsupportedModelError
from thriftwood.forest import LEAF, NEXT_TO_ZERO, NO_SET, Forest, Link, Statistic, leaf_means
from thriftwood.support.arrays import BoolArray, FloatArray, IntArray
from thriftwood.support.columns import in_own_words

SHARES = "cross_entropy"  # of targets between 0 and 1, which need not be classes
NO_OBJECTIVE = "none"  # the user's own: LightGBM then predicts the scores themselves

# Each objective's link, and the statistic that its regressors predict.
OBJECTIVES: dict[str, tuple[Link, Statistic]] = {
    NO_OBJECTIVE: ("identity", "other"),
    "regression": ("identity", "mean"),
    "regression_l1": ("identity", "median"),
    "huber": ("identity", "median"),
    "fair": ("identity", "median"),
    "quantile": ("identity", "other"),
    "mape": ("identity", "median"),
    "lambdarank": ("identity", "other"),
    "rank_xendcg": ("identity", "other"),
    "poisson": ("exp", "mean"),
    "gamma": ("exp", "mean"),
    "tweedie": ("exp", "mean"),
    "binary": ("logistic", "mean"),
    SHARES: ("logistic", "mean"),
    "multiclassova": ("logistic", "mean"),
    "multiclass": ("softmax", "mean"),
}

# What LightGBM takes in no name of a column; blanks it writes as underscores.
REFUSED_IN_NAMES = r'[\t-\r",:\[\]{}]|^$'

# Put on a model that we write: the names of columns as the user has them, blanks included.
OWN_NAMES = "names_of_columns_"

# Here LightGBM gives the leaves of a grown tree new values, medians and the like.
RENEWS_LEAVES = ("regression_l1", "quantile", "mape")


class Source(NamedTuple):
    """A model taken apart; `values` are LightGBM's own, `scale` is what ours are of them."""

    text: ModelText
    nodes: Nodes
    values: FloatArray
    scale: float
    forest: Forest


def read(model: Any) -> Forest:
    return _source(model).forest


def write(model: Any, kept: BoolArray, values: FloatArray | None = None) -> Any:
    source = _source(model)
    own = source.values
    if values is not None:
        own = own_column(values, source.forest) / source.scale
    left = collapsed_trees(source.forest, kept, own)
    trees = [_written_tree(source, number, tree) for number, tree in enumerate(left)]
    pruned = _with_text(model, source.text._replace(trees=trees))
    if pruned is not _booster(pruned):
        pruned._best_score = {}  # measured on the unpruned trees
    return pruned


def with_columns(model: Any, columns: IntArray) -> Any:
    """Return a copy of a model that takes only these columns, none of them of categories."""
    source = _source(model)
    text, names = texts.with_columns(source.text, columns), source.forest.feature_names
    if names is None:
        text.header["feature_names"] = " ".join(_made_up(len(columns)))
    narrow = _with_text(model, text)
    if names is not None:
        setattr(narrow, OWN_NAMES, tuple(names[k] for k in columns))
    if narrow is not _booster(narrow):
        narrow._n_features = narrow._n_features_in = len(columns)
    return narrow


def _with_text(model: Any, text: ModelText) -> Any:
    """Return a copy of a model that predicts what another text says."""
    booster = _booster(model)
    new = type(booster)(model_str=texts.join_text(text))
    new.params = deepcopy(booster.params)
    new.best_iteration = booster.best_iteration
    return new if booster is model else deepcopy(model, {id(booster): new})


def _booster(model: Any) -> Any:
    booster = model if is_a(model, "lightgbm", "Booster") else model._Booster
    if booster is None or not booster.num_trees():
        raise unfitted(model)
    return booster


def _source(model: Any) -> Source:
    text = texts.parse_text(_booster(model).model_to_string())  # the trees that `predict` uses
    kind = type(model).__name__
    if any(tree.get("is_linear", "0") != "0" for tree in text.trees):
        raise UnsupportedModelError(
            f"This {kind} has linear models in its leaves; only leaves with one value can be "
            "pruned. Train it with linear_tree=False."
        )
    objective, details = _objective(kind, text)
    n_outputs = _n_outputs(text)
    is_averaged = "average_output" in text.header
    # A forest divides by all of its trees, LightGBM by those of one output.
    scale = float(details.get("sigmoid", 1)) * (n_outputs if is_averaged else 1)
    nodes = texts.nodes_of(text.trees)
    shape = Forest(
        **_trees(text, nodes),
        values=np.zeros((len(nodes.order), n_outputs)),
        n_features=int(text.header["max_feature_idx"] or 0) + 1,
        combine="mean" if is_averaged else "sum",
        classes=_classes(model, objective, n_outputs),
        feature_names=_names(model, text),
        input_dtype=np.dtype(np.float64),
        link=OBJECTIVES[objective][0],
        statistic=OBJECTIVES[objective][1],
        category_labels=_labels(kind, text),
    )
    values = _of_all("value", text, nodes)
    if objective in RENEWS_LEAVES:
        values = leaf_means(shape, values[:, None], _of_all("weight", text, nodes))[0][:, 0]
    forest = replace(shape, values=in_columns(values * scale, shape, n_outputs))
    return Source(text, nodes, values, scale, forest)


def _n_outputs(text: ModelText) -> int:
    n_outputs, n_classes = (
        int(text.header[key] or 1) for key in ("num_tree_per_iteration", "num_class")
    )
    if n_outputs < 1 or n_classes != n_outputs or len(text.trees) % n_outputs:
        raise damaged(f"{len(text.trees)} trees are not so many for each of {n_classes} classes")
    return n_outputs


def _objective(kind: str, text: ModelText) -> tuple[str, dict[str, str]]:
    """Return the name of the objective and its details, or refuse one of another link."""
    name, *details = (text.header.get("objective") or NO_OBJECTIVE).split()
    if name not in OBJECTIVES or "sqrt" in details:
        raise UnsupportedModelError(
            f"This {kind} has the objective {' '.join([name, *details])!r}, which predicts "
            f"something else than Thriftwood can. Train with one of: {', '.join(OBJECTIVES)}."
        )
    return name, dict(detail.split(":") for detail in details)


def _classes(model: Any, objective: str, n_outputs: int) -> NDArray[Any] | None:
    kind, link = type(model).__name__, OBJECTIVES[objective][0]
    n_classes = max(2, n_outputs)
    known = getattr(model, "classes_", None)
    if link == "identity" and n_outputs > 1:
        raise UnsupportedModelError(
            f"This {kind} has an objective of its own and predicts {n_outputs} scores, which are "
            "no probabilities. Train with the objective 'multiclass' or 'multiclassova'."
        )
    if known is None and objective == SHARES:
        return None
    if link in ("identity", "exp"):
        if known is not None and objective != NO_OBJECTIVE:
            raise UnsupportedModelError(
                f"This {kind} has the objective of a regressor, so that its scores are no "
                "probabilities. Train with 'binary' or 'multiclass'."
            )
        return None
    if known is None:
        return np.arange(n_classes)
    if len(known) != n_classes:
        raise UnsupportedModelError(
            f"This {kind} was trained on {len(known)} class(es) but predicts {n_classes}: there is "
            "nothing to prune with one class."
        )
    return np.asarray(known)


def _names(model: Any, text: ModelText) -> tuple[str, ...] | None:
    """Return the names of the columns, unless LightGBM made them up."""
    names = tuple((text.header["feature_names"] or "").split(" "))
    is_made_up = names == _made_up(len(names))
    return None if is_made_up else in_own_words(names, getattr(model, OWN_NAMES, ()))


def _made_up(n_columns: int) -> tuple[str, ...]:
    return tuple(f"Column_{number}" for number in range(n_columns))


def _labels(kind: str, text: ModelText) -> dict[int, tuple[Any, ...]]:
    """Return the labels of the columns that were categorical in a data frame.

    LightGBM keeps the labels without their columns. They are those of the columns that it takes
    for categories, in order, if there are as many; ordered categories, which it takes for numbers,
    leave that open.
    """
    labels = json.loads(text.tail.rpartition("pandas_categorical:")[2] or "null")
    if not labels:
        return {}
    columns = re.search(r"\[categorical_feature: ([\d,]*)\]", text.tail)
    numbers = [int(number) for number in columns[1].split(",") if number] if columns else []
    codes = [_highest_code(text, column) for column in numbers]
    fits = len(numbers) == len(labels)
    if not fits or any(code >= len(own) for code, own in zip(codes, labels, strict=True)):
        raise UnsupportedModelError(
            f"This {kind} was trained on a data frame with {len(labels)} categorical columns, but "
            f"takes {len(numbers)} columns for categories and does not say which labels belong to "
            "which. Train it with no ordered categories and no other `categorical_feature`, or on "
            "numbers in place of labels."
        )
    return {column: tuple(own) for column, own in zip(numbers, labels, strict=True)}


def _highest_code(text: ModelText, column: int) -> int:
    """Return the highest category that a column had in training, -1 where that is not known."""
    about = (text.header.get("feature_infos") or "").split(" ")[column]
    return max(map(int, about.split(":"))) if re.fullmatch(r"-?\d+(:-?\d+)*", about) else -1


def _trees(text: ModelText, nodes: Nodes) -> dict[str, Any]:
    """Return the arrays of a forest that say where samples go, and the gains."""
    place = np.empty(len(nodes.order), dtype=np.int64)
    place[nodes.order] = np.arange(len(nodes.order))
    split = nodes.is_split[nodes.order]

    def of_splits(key: str, at_leaves: float, dtype: Any = np.float64) -> Any:
        whole = np.full(len(split), at_leaves, dtype=dtype)
        whole[nodes.is_split] = texts.numbers_of(text.trees, key, dtype)
        return whole[nodes.order]

    threshold = of_splits("threshold", 0.0)
    decision = of_splits("decision_type", 0, np.int64)
    missing = decision & texts.MISSING_KIND
    by_set = split & (decision & texts.CATEGORIES != 0)
    by_threshold = split & ~by_set
    # Where nothing was missing in training, NaN is taken for 0.
    missing_left = np.where(missing == 0, threshold >= 0.0, decision & texts.MISSING_LEFT != 0)
    tree = np.repeat(np.arange(len(text.trees)), np.diff(nodes.tree_start))
    first_set, set_start, in_set = texts.category_sets(text.trees)
    return {
        "tree_start": nodes.tree_start,
        "feature": of_splits("split_feature", LEAF, np.int64),
        "threshold": np.where(by_threshold, _around_zero(threshold), 0.0),
        "left": np.where(split, place[nodes.left[nodes.order]], LEAF),
        "right": np.where(split, place[nodes.right[nodes.order]], LEAF),
        "missing_left": missing_left & by_threshold,
        "zero_is_missing": (missing == texts.ZERO_IS_MISSING) & by_threshold,
        "category_set": np.where(by_set, first_set[tree] + threshold, NO_SET).astype(np.int64),
        "set_start": set_start,
        "in_set": in_set,
        "gains": np.nan_to_num(of_splits("split_gain", 0.0), posinf=0.0, neginf=0.0),
    }


def _around_zero(threshold: FloatArray) -> FloatArray:
    """Move thresholds next to 0 out of the range that LightGBM takes for 0 altogether."""
    next_to_zero = np.abs(threshold) <= NEXT_TO_ZERO
    beyond = np.where(threshold < 0.0, np.nextafter(-NEXT_TO_ZERO, -1.0), NEXT_TO_ZERO)
    return np.where(next_to_zero, beyond, threshold)


def _of_all(what: str, text: ModelText, nodes: Nodes) -> FloatArray:
    """Return a number of all nodes, which the text has for splits and for leaves."""
    whole = np.zeros(len(nodes.is_split))
    alone = np.repeat([tree["num_leaves"] == "1" for tree in text.trees], np.diff(nodes.tree_start))
    # A tree that is nothing but a leaf has no weight in the text.
    in_text = ~nodes.is_split & ~alone if what == "weight" else ~nodes.is_split
    whole[nodes.is_split] = texts.numbers_of(text.trees, f"internal_{what}", np.float64)
    whole[in_text] = texts.numbers_of(text.trees, f"leaf_{what}", np.float64)
    return whole[nodes.order]


def _written_tree(source: Source, number: int, own: CollapsedTree) -> dict[str, str]:
    """Return the lines of a tree whose splits are those that are left."""
    tree, nodes, split = source.text.trees[number], source.nodes, own.is_split
    first = nodes.tree_start[number]
    in_text = nodes.order[first + own.origin] - first
    # Splits and leaves are numbered apart.
    place = np.where(
        split, np.cumsum(split, dtype=np.int64) - 1, -np.cumsum(~split, dtype=np.int64)
    )
    written = {**tree, "num_leaves": str(np.count_nonzero(~split))}
    for key in ("split_feature", "split_gain", "threshold", "decision_type"):
        written[key] = _chosen(tree[key].split(), in_text[split])
    written["left_child"] = texts.row(place[own.left[split]])
    written["right_child"] = texts.row(place[own.right[split]])
    for what in ("weight", "count"):
        tokens = [*tree[f"internal_{what}"].split(), *tree[f"leaf_{what}"].split()]
        if len(tokens) > 1:  # a leaf alone stays as it is
            written[f"internal_{what}"] = _chosen(tokens, in_text[split])
            written[f"leaf_{what}"] = _chosen(tokens, in_text[~split])
    written["internal_value"] = texts.row(own.values[split])
    written["leaf_value"] = texts.row(own.values[~split])
    if not split.any():  # LightGBM reads no sets for a leaf alone
        written["num_cat"] = "0"
        for key in ("cat_boundaries", "cat_threshold"):
            written.pop(key, None)
    return written


def _chosen(tokens: list[str], which: IntArray) -> str:
    return " ".join(tokens[place] for place in which)
