"""LightGBM's boosters and their wrappers for scikit-learn.

We read the text that LightGBM saves, so a model, its pickle and its file are the same forest. The
values of leaves are exact there; those of inner nodes have six digits, which LightGBM itself leaves
of them when training ends. With an objective that renews its leaves (L1, quantile, MAPE) an inner
node does not know what its leaves were renewed to: it gets the mean of the leaves below, weighted
by their rows. After `refit` or `set_leaf_output`, which change leaves alone, inner nodes still say
what they said before.
"""

from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np

from thriftwood.adapters.kinds import is_a
from thriftwood.adapters.lightgbm import text as texts
from thriftwood.adapters.lightgbm.objective import (
    Meaning,
    labels_of,
    meaning_of,
    names_of,
)
from thriftwood.adapters.one_output_trees import own_column
from thriftwood.adapters.samples import BootstrapSamples
from thriftwood.errors import UnfittedModelError, UnsupportedModelError
from thriftwood.forest import (
    LEAF,
    NEXT_TO_ZERO,
    NO_SET,
    Forest,
    collapse,
)
from thriftwood.support.arrays import BoolArray, FloatArray, IntArray

SUPPORTED = "LightGBM (Booster, LGBM*)"


class Source(NamedTuple):
    """A model taken apart; `values` are LightGBM's own, for the forest's nodes."""

    text: texts.ModelText
    nodes: texts.Nodes
    meaning: Meaning
    values: FloatArray
    forest: Forest


def reads(model: object) -> bool:
    return is_a(model, "lightgbm", "Booster") or is_a(model, "lightgbm", "LGBMModel")


def read(model: Any) -> Forest:
    return _source(model).forest


def write(model: Any, kept: BoolArray, values: FloatArray | None = None) -> Any:
    source = _source(model)
    collapsed, origin = collapse(source.forest, kept)
    own = source.values
    if values is not None:
        own = own_column(values, source.forest) / _scale(source.meaning)
    trees = [
        _collapsed_tree(source, number, collapsed, origin, own)
        for number in range(collapsed.n_trees)
    ]
    booster = _booster(model)
    new = type(booster)(model_str=texts.join_text(source.text._replace(trees=trees)))
    new.params = deepcopy(booster.params)
    new.best_iteration = booster.best_iteration
    if booster is model:
        return new
    pruned = deepcopy(model, {id(booster): new})
    pruned._best_score = {}  # measured on the unpruned trees
    return pruned


def samples(_model: Any) -> BootstrapSamples | None:
    return None  # LightGBM does not keep which rows a tree was given


def _booster(model: Any) -> Any:
    booster = model if is_a(model, "lightgbm", "Booster") else model._Booster
    if booster is None or not booster.num_trees():
        raise UnfittedModelError(
            f"This {type(model).__name__} is not fitted yet: call its `fit`, or `lightgbm.train`, "
            "before pruning."
        )
    return booster


def _source(model: Any) -> Source:
    text = texts.parse_text(_booster(model).model_to_string())  # the trees that `predict` uses
    if any(tree.get("is_linear", "0") != "0" for tree in text.trees):
        raise UnsupportedModelError(
            f"This {type(model).__name__} has linear models in its leaves; only leaves with one "
            "value can be pruned. Train it with linear_tree=False."
        )
    meaning = meaning_of(model, text)
    nodes = texts.nodes_of(text.trees)
    values = _values(text, nodes, meaning)
    return Source(text, nodes, meaning, values, _forest(model, text, nodes, meaning, values))


def _forest(
    model: Any, text: texts.ModelText, nodes: texts.Nodes, meaning: Meaning, values: FloatArray
) -> Forest:
    place = np.empty(len(nodes.order), dtype=np.int64)
    place[nodes.order] = np.arange(len(nodes.order))
    split = nodes.is_split[nodes.order]
    n_nodes = len(split)

    def of_nodes(key: str, usual: float, dtype: Any = np.float64) -> Any:
        whole = np.full(n_nodes, usual, dtype=dtype)
        whole[nodes.is_split] = texts.numbers_of(text.trees, key, dtype)
        return whole[nodes.order]

    threshold = of_nodes("threshold", 0.0)
    decision = of_nodes("decision_type", 0, np.int64)
    missing = decision & texts.MISSING_KIND
    by_set = split & (decision & texts.CATEGORIES != 0)
    # Where nothing was missing in training, NaN is taken for 0.
    missing_left = np.where(missing == 0, threshold >= 0.0, decision & texts.MISSING_LEFT != 0)
    tree = np.repeat(np.arange(len(text.trees)), np.diff(nodes.tree_start))
    first_set, set_start, in_set = texts.category_sets(text.trees)
    spread = np.zeros((n_nodes, meaning.n_outputs))
    spread[np.arange(n_nodes), tree % meaning.n_outputs] = values * _scale(meaning)
    return Forest(
        tree_start=nodes.tree_start,
        feature=of_nodes("split_feature", LEAF, np.int64),
        threshold=np.where(split & ~by_set, _around_zero(threshold), 0.0),
        left=np.where(split, place[nodes.left[nodes.order]], LEAF),
        right=np.where(split, place[nodes.right[nodes.order]], LEAF),
        missing_left=missing_left & split & ~by_set,
        values=spread,
        n_features=int(text.header["max_feature_idx"] or 0) + 1,
        combine="mean" if meaning.is_averaged else "sum",
        classes=meaning.classes,
        feature_names=names_of(text),
        input_dtype=np.dtype(np.float64),
        link=meaning.link,
        aim=meaning.aim,
        zero_is_missing=(missing == texts.ZERO_IS_MISSING) & split & ~by_set,
        category_set=np.where(by_set, first_set[tree] + threshold, NO_SET).astype(np.int64),
        set_start=set_start,
        in_set=in_set,
        category_labels=labels_of(model, text),
        gains=np.nan_to_num(of_nodes("split_gain", 0.0), posinf=0.0, neginf=0.0),
    )


def _scale(meaning: Meaning) -> float:
    """Return what our values are of LightGBM's.

    A forest divides by all of its trees, LightGBM by those of one output.
    """
    return meaning.steepness * (meaning.n_outputs if meaning.is_averaged else 1)


def _around_zero(threshold: FloatArray) -> FloatArray:
    """Move thresholds next to 0 out of the range that LightGBM takes for 0 altogether."""
    next_to_zero = np.abs(threshold) <= NEXT_TO_ZERO
    beyond = np.where(threshold < 0.0, np.nextafter(-NEXT_TO_ZERO, -1.0), NEXT_TO_ZERO)
    return np.where(next_to_zero, beyond, threshold)


def _values(text: texts.ModelText, nodes: texts.Nodes, meaning: Meaning) -> FloatArray:
    """Return LightGBM's value of each node, in the forest's order."""
    values = _of_all("value", text, nodes)
    if meaning.renews_leaves:
        weights = _of_all("weight", text, nodes)
        for level in reversed(nodes.levels):
            split = level[nodes.is_split[level]]
            children = np.stack([nodes.left[split], nodes.right[split]])
            total = weights[children].sum(axis=0)
            share = np.divide(weights[children], total, where=total > 0, out=0.5 + 0 * children)
            values[split] = (share * values[children]).sum(axis=0)
    return values[nodes.order]


def _of_all(what: str, text: texts.ModelText, nodes: texts.Nodes) -> FloatArray:
    """Return a number of all nodes, which the text has for splits and for leaves."""
    whole = np.zeros(len(nodes.is_split))
    alone = np.repeat([tree["num_leaves"] == "1" for tree in text.trees], np.diff(nodes.tree_start))
    # A tree that is nothing but a leaf has no weight in the text.
    in_text = ~nodes.is_split & ~alone if what == "weight" else ~nodes.is_split
    whole[nodes.is_split] = texts.numbers_of(text.trees, f"internal_{what}", np.float64)
    whole[in_text] = texts.numbers_of(text.trees, f"leaf_{what}", np.float64)
    return whole


def _collapsed_tree(
    source: Source, number: int, collapsed: Forest, origin: IntArray, own: FloatArray
) -> dict[str, str]:
    """Return the lines of a tree whose splits are those of the collapsed forest."""
    tree = source.text.trees[number]
    first, last = collapsed.tree_start[number : number + 2]
    split = collapsed.is_split[first:last]
    before = origin[first:last]
    in_text = source.nodes.order[before] - source.nodes.tree_start[number]
    # Splits and leaves are numbered apart.
    place = np.where(
        split, np.cumsum(split, dtype=np.int64) - 1, -np.cumsum(~split, dtype=np.int64)
    )
    written = {**tree, "num_leaves": str(np.count_nonzero(~split))}
    for key in ("split_feature", "split_gain", "threshold", "decision_type"):
        written[key] = _chosen(tree[key].split(), in_text[split])
    for key, child in (("left_child", collapsed.left), ("right_child", collapsed.right)):
        written[key] = " ".join(map(str, place[child[first:last][split] - first]))
    for what in ("weight", "count"):
        tokens = [*tree[f"internal_{what}"].split(), *tree[f"leaf_{what}"].split()]
        if len(tokens) > 1:  # a leaf alone stays as it is
            written[f"internal_{what}"] = _chosen(tokens, in_text[split])
            written[f"leaf_{what}"] = _chosen(tokens, in_text[~split])
    written["internal_value"] = " ".join(map(texts.exact, own[before[split]]))
    written["leaf_value"] = " ".join(map(texts.exact, own[before[~split]]))
    if not split.any():  # LightGBM reads no sets for a leaf alone
        written["num_cat"] = "0"
        for key in ("cat_boundaries", "cat_threshold"):
            written.pop(key, None)
    return written


def _chosen(tokens: list[str], which: IntArray) -> str:
    return " ".join(tokens[place] for place in which)
