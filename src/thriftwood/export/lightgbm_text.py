"""Forests as the model text of LightGBM."""

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from thriftwood.arrays import FloatArray, IntArray
from thriftwood.errors import InputError
from thriftwood.forest import LEAF, NO_SET, Forest

# Bits of `decision_type`: categories; a missing value goes left; what is missing.
CATEGORIES = 1
MISSING_LEFT = 2
ZERO_IS_MISSING = 4
NAN_IS_MISSING = 8

WORD = 32  # categories in one number of `cat_threshold`


def lightgbm_text(forest: Forest) -> str:
    """Return a model that `lightgbm.Booster(model_str=...)` loads and that predicts as the forest.

    Parameters
    ----------
    forest : Forest
        Boosted or averaged; a tree with several outputs becomes one tree for each of them that it
        says something about.

    Returns
    -------
    text : str
        The booster's `predict(X, raw_score=True)` are the forest's scores, one column per output,
        but for rows with a number next to 0, as LightGBM takes what is no further from 0 than
        1e-35 for 0, and rows with categories that are not whole. `predict(X)` are

        - the probability of the second class where there is one score with a logistic link,
        - the probabilities of all classes with several outputs; those of an averaged classifier
          are its scores, and no link is applied,
        - the predicted numbers otherwise.

        LightGBM counts rows at every node, which a forest does not know. Every leaf counts as one
        row, so that SHAP's contributions add up to the score, relative to the mean of all leaves.
    """
    layouts = [_layout(forest, root) for root in forest.tree_start[:-1]]
    thresholds = _thresholds_of_doubles(forest)
    structures = [_structure(forest, layout, thresholds) for layout in layouts]
    lines = _header(forest)
    number = 0
    for turn in _turns(forest):
        for output, tree in enumerate(turn):
            said = _values(forest, layouts, tree, output, is_first=number < forest.n_outputs)
            about = _LONE_LEAF if tree is None else structures[tree]
            lines += [f"Tree={number}", *_lines({**about, **said}), "", ""]
            number += 1
    return "\n".join([*lines, "end of trees", *_tail(forest)])


class Layout(NamedTuple):
    """The nodes of a tree as LightGBM numbers them: splits and leaves apart, both from 0.

    LightGBM sends a missing category right. Where ours goes left, another split comes before: it
    asks only whether the value is missing, and has the left part of the tree once more.

    Attributes
    ----------
    splits, leaves
        Their nodes in the forest.
    asks_if_missing
        Whether a split is one of those that come before.
    children
        For each split, left and right: a split, or -1 minus a leaf.
    """

    splits: list[int]
    asks_if_missing: list[bool]
    children: list[list[int]]
    leaves: list[int]


def _layout(forest: Forest, root: int) -> Layout:
    doubled = forest.missing_left & (forest.category_set != NO_SET)
    layout = Layout([], [], [], [])
    # Nodes ahead: whether they were asked already, and where their number belongs.
    ahead: list[tuple[int, bool, int, int]] = [(root, False, -1, 0)]
    while ahead:
        h, asked, parent, side = ahead.pop()
        if forest.left[h] == LEAF:
            number = -1 - len(layout.leaves)
            layout.leaves.append(h)
        else:
            number = len(layout.splits)
            asks = bool(doubled[h]) and not asked
            layout.splits.append(h)
            layout.asks_if_missing.append(asks)
            layout.children.append([0, 0])
            left, right = int(forest.left[h]), int(forest.right[h])
            ahead.append((left if asks else right, False, number, 1))
            ahead.append((h, True, number, 0) if asks else (left, False, number, 0))
        if parent >= 0:
            layout.children[parent][side] = number
    return layout


def _thresholds_of_doubles(forest: Forest) -> FloatArray:
    """Return thresholds that part doubles as the forest parts what it makes of them.

    LightGBM compares doubles. A float32 forest rounds them first: the highest double that goes left
    is the last one that is rounded to a float32 number at or below the threshold.
    """
    if forest.input_dtype == np.float64:
        return forest.threshold
    with np.errstate(over="ignore"):
        nearest = forest.threshold.astype(np.float32)
        step_down = np.nextafter(nearest, np.float32(-np.inf))
        last = np.where(nearest.astype(np.float64) > forest.threshold, step_down, nearest)
        following = np.nextafter(last, np.float32(np.inf))
        # Beyond the largest number float32 rounds as if 2**128 were the next one.
        ends = [np.clip(one.astype(np.float64), -(2.0**128), 2.0**128) for one in (last, following)]
        middle = (ends[0] + ends[1]) / 2
        highest = np.where(middle.astype(np.float32) <= last, middle, np.nextafter(middle, -np.inf))
    return np.where(last == np.inf, np.inf, highest)


def _structure(forest: Forest, layout: Layout, thresholds: FloatArray) -> dict[str, str]:
    """Return the lines of a tree, but for its values."""
    nodes = np.array(layout.splits, dtype=np.int64)
    asks = np.array(layout.asks_if_missing, dtype=np.bool_)
    by_set = (forest.category_set[nodes] != NO_SET) & ~asks
    threshold = np.where(asks, np.inf, thresholds[nodes])
    threshold[by_set] = np.arange(np.count_nonzero(by_set))
    missing = np.where(forest.zero_is_missing[nodes], ZERO_IS_MISSING, NAN_IS_MISSING)
    goes_left = np.where(forest.missing_left[nodes] & ~asks & ~by_set, MISSING_LEFT, 0)
    gains = np.zeros(len(nodes)) if forest.gains is None else forest.gains[nodes]
    count = _count_leaves(layout.children)
    return {
        "num_leaves": str(len(layout.leaves)),
        "num_cat": str(np.count_nonzero(by_set)),
        "split_feature": _row(forest.feature[nodes]),
        "split_gain": _row(gains),
        "threshold": _row(threshold),
        "decision_type": _row(missing + goes_left + np.where(by_set, CATEGORIES, 0)),
        "left_child": _row(left for left, _ in layout.children),
        "right_child": _row(right for _, right in layout.children),
        **_sets(forest, nodes[by_set]),
        "leaf_weight": _row(np.ones(len(layout.leaves))) if len(nodes) else "",
        "leaf_count": _row(np.ones(len(layout.leaves))),
        "internal_weight": _row(count),
        "internal_count": _row(count),
    }


def _count_leaves(children: list[list[int]]) -> list[int]:
    """Return how many leaves lie below each split; parents come before their children."""
    count = [0] * len(children)
    for number in reversed(range(len(children))):
        count[number] = sum(1 if child < 0 else count[child] for child in children[number])
    return count


def _sets(forest: Forest, nodes: IntArray) -> dict[str, str]:
    """Return the sets of categories of some splits, one bit for each category."""
    if not len(nodes):
        return {}
    words, bounds = [], [0]
    for h in nodes:
        first, last = forest.set_start[forest.category_set[h] :][:2]
        n_words = max(1, -(-(last - first) // WORD))
        members = np.zeros(n_words * WORD, dtype=np.bool_)
        members[: last - first] = forest.in_set[first:last]
        words += np.packbits(members, bitorder="little").view("<u4").tolist()
        bounds.append(len(words))
    return {"cat_boundaries": _row(bounds), "cat_threshold": _row(words)}


def _turns(forest: Forest) -> list[list[int | None]]:
    """Return which tree speaks for each output in each turn, None where all have spoken.

    LightGBM has one tree per output in every turn. A tree of a boosted classifier says something
    about one class only, so the trees of several classes fit into one turn.
    """
    speaks = np.logical_or.reduceat(forest.values != 0.0, forest.tree_start[:-1], axis=0)
    queues = [np.flatnonzero(speaks[:, output]).tolist() for output in range(forest.n_outputs)]
    n_turns = max(1, *map(len, queues))
    return [
        [queue[turn] if turn < len(queue) else None for queue in queues] for turn in range(n_turns)
    ]


def _values(
    forest: Forest, layouts: list[Layout], tree: int | None, output: int, is_first: bool
) -> dict[str, str]:
    """Return what the nodes of a tree say about an output."""
    bias = forest.bias[output] if is_first else 0.0
    if tree is None:
        return {"leaf_value": _row([bias]), "internal_value": ""}
    n_averaged = forest.n_trees if forest.combine == "mean" else 1
    return {
        key: _row(forest.values[np.array(nodes, dtype=np.int64), output] / n_averaged + bias)
        for key, nodes in (
            ("leaf_value", layouts[tree].leaves),
            ("internal_value", layouts[tree].splits),
        )
    }


_LONE_LEAF = {
    "num_leaves": "1",
    "num_cat": "0",
    "split_feature": "",
    "split_gain": "",
    "threshold": "",
    "decision_type": "",
    "left_child": "",
    "right_child": "",
    "leaf_weight": "",
    "leaf_count": "1",
    "internal_weight": "",
    "internal_count": "",
}


def _header(forest: Forest) -> list[str]:
    objective = _objective(forest)
    names = forest.feature_names or [""] * forest.n_features
    return [
        "tree",
        "version=v4",
        f"num_class={forest.n_outputs}",
        f"num_tree_per_iteration={forest.n_outputs}",
        "label_index=0",
        f"max_feature_idx={forest.n_features - 1}",
        *([f"objective={objective}"] if objective else []),
        "feature_names=" + _row(_name(name, column) for column, name in enumerate(names)),
        "feature_infos=" + _row("none" for _ in names),
        "",
    ]


def _objective(forest: Forest) -> str | None:
    """Return the objective whose link is the forest's, None where scores are the predictions."""
    n_outputs = forest.n_outputs
    if forest.link == "logistic":
        several = f"multiclassova num_class:{n_outputs} sigmoid:1"
        return "binary sigmoid:1" if n_outputs == 1 else several
    if forest.link == "softmax":
        return f"multiclass num_class:{n_outputs}"
    if forest.link == "exp":
        return "poisson"
    return "regression" if n_outputs == 1 else None


def _name(name: str, column: int) -> str:
    """Return a name without what has a meaning in LightGBM's text or its JSON."""
    return re.sub(r'[\s",:\[\]{}]', "_", name) or f"Column_{column}"


def _tail(forest: Forest) -> list[str]:
    columns = sorted(forest.category_labels)
    labels = [list(forest.category_labels[column]) for column in columns]
    try:
        known = json.dumps(labels if columns else None, default=_plain)
    except TypeError:
        raise InputError(
            "Some categories of the forest have labels that are neither text nor numbers: "
            "LightGBM's text cannot hold them."
        ) from None
    return [
        "",
        "feature_importances:",
        "",
        "parameters:",
        "[boosting: gbdt]",
        f"[categorical_feature: {','.join(map(str, columns))}]",
        "end of parameters",
        "",
        f"pandas_categorical:{known}",
        "",
    ]


def _plain(label: Any) -> Any:
    """Return a label of NumPy as one of Python."""
    if isinstance(label, np.generic):
        return label.item()
    raise TypeError


def _lines(fields: dict[str, str]) -> list[str]:
    return [f"{key}={what}" for key, what in fields.items()]


def _row(entries: Iterable[Any]) -> str:
    """Write numbers so that reading them gives the same numbers."""
    return " ".join(
        f"{entry:.17g}" if isinstance(entry, float) else str(entry) for entry in entries
    )
