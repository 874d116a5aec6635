"""LightGBM's model text: its own boosters in and out, and any forest as such a text."""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from thriftwood.adapters import is_a, library_of, read_forest
from thriftwood.adapters.lightgbm_text import (
    CATEGORIES,
    MISSING_LEFT,
    NAN_IS_MISSING,
    ZERO_IS_MISSING,
    ModelText,
    join_text,
    parse_text,
    row,
    set_words,
)
from thriftwood.errors import InputError, UnsupportedModelError
from thriftwood.forest import LEAF, NO_SET, Forest
from thriftwood.formats.content import Content
from thriftwood.formats.layout import float64_thresholds, trees_to_export
from thriftwood.formats.trial import tried_first
from thriftwood.support.arrays import FloatArray, IntArray
from thriftwood.support.files import File, write_whole
from thriftwood.support.libraries import library
from thriftwood.support.text import check_names

ENDS = {"version=": "end of trees", "\nparameters:": "end of parameters"}


def recognise(content: Content) -> bool:
    return re.match(rb"\s*tree\r?\nversion=", content.data) is not None


@tried_first("LightGBM")
def read(content: Content) -> Any:
    lightgbm = library("lightgbm", "lightgbm")
    text = content.data.decode().replace("\r\n", "\n").lstrip()
    for begin, end in ENDS.items():
        if begin in text and end not in text:
            raise ValueError(f"it has no line {end!r}, so something is missing")
    if "\0" in text:
        raise ValueError("it holds a zero byte, where the text would end for LightGBM")
    return lightgbm.Booster(model_str=join_text(parse_text(text)))  # sizes may be edited by hand


def holds(model: object) -> bool:
    return library_of(model) == "lightgbm"


def write(model: Any, place: Path) -> None:
    check(model)
    booster = model if is_a(model, "lightgbm", "Booster") else model.booster_
    write_whole(place, booster.model_to_string())


def check(model: Any) -> None:
    """Refuse labels of classes, which the text does not keep."""
    classes = read_forest(model).classes
    if classes is not None and not np.array_equal(classes, np.arange(len(classes))):
        known = ", ".join(repr(label) for label in classes.tolist()[:5])
        raise UnsupportedModelError(
            f"This {type(model).__name__} has the classes {known}, but LightGBM's text numbers "
            "classes from 0 and keeps no labels: write .skops, or the `booster_` of the model."
        )


# --- any forest as LightGBM's text


class Layout(NamedTuple):
    """The nodes of a tree as LightGBM numbers them: splits and leaves apart, both from 0.

    LightGBM sends a missing category right. Where ours goes left, another split comes before: it
    asks only whether the value is missing, and has the left part of the tree once more.
    """

    splits: list[int]  # nodes of the forest
    asks_if_missing: list[bool]  # of each split: it is one of those that come before
    children: list[list[int]]  # of each split, left and right: a split, or -1 minus a leaf
    leaves: list[int]  # nodes of the forest


LONE_LEAF = Layout([], [], [], [0])


def to_lightgbm(model: object, file: File | None = None) -> str:
    """Return a model as the text of a LightGBM booster, and write it to a file if one is named.

    `lightgbm.Booster(model_str=text)` or `lightgbm.Booster(model_file=file)` loads it.

    Parameters
    ----------
    model : a fitted model, or a `Forest`
        Boosted or averaged; a tree with several outputs becomes one tree for each of them that it
        says something about.
    file : optional
        Where to write it; a file that is there is replaced.

    Returns
    -------
    text : str
        The booster's `predict(X, raw_score=True)` are the model's scores, one column per output,
        but for samples with a number next to 0, as LightGBM takes what is no further from 0 than
        1e-35 for 0, and samples with categories that are not whole. `predict(X)` are

        - the probability of the second class where there is one score with a logistic link,
        - the probabilities of all classes with several outputs; those of an averaged classifier
          are its scores, and no link is applied,
        - the predicted numbers otherwise.

        LightGBM counts samples at every node, which a forest does not know. Every leaf counts as
        one, so that SHAP's contributions add up to the score, relative to the mean of all leaves.
    """
    forest = trees_to_export(model)
    text = join_text(ModelText(_header(forest), _trees(forest), _tail(forest)))
    if file is not None:
        write_whole(file, text)
    return text


def _trees(forest: Forest) -> list[dict[str, str]]:
    layouts = [_lay_out(forest, root) for root in forest.tree_start[:-1]]
    thresholds = float64_thresholds(forest.threshold, forest.input_dtype)
    structures = [_structure(forest, layout, thresholds) for layout in [*layouts, LONE_LEAF]]
    trees: list[dict[str, str]] = []
    for turn in _turns(forest):
        for output, tree in enumerate(turn):
            bias = forest.bias[output] if len(trees) < forest.n_outputs else 0.0
            if tree is None:
                trees.append({**structures[-1], "leaf_value": row([bias]), "internal_value": ""})
            else:
                said = _values(forest, layouts[tree], output, bias)
                trees.append({**structures[tree], **said})
    return trees


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


def _values(forest: Forest, layout: Layout, output: int, bias: float) -> dict[str, str]:
    """Return what the nodes of a tree say about an output."""
    n_averaged = forest.n_trees if forest.combine == "mean" else 1
    return {
        key: row(forest.values[np.array(nodes, dtype=np.int64), output] / n_averaged + bias)
        for key, nodes in (("leaf_value", layout.leaves), ("internal_value", layout.splits))
    }


def _lay_out(forest: Forest, root: int) -> Layout:
    """Number the nodes of a tree as LightGBM does."""
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
        "split_feature": row(forest.feature[nodes]),
        "split_gain": row(gains),
        "threshold": row(threshold),
        "decision_type": row(missing + goes_left + np.where(by_set, CATEGORIES, 0)),
        "left_child": row(left for left, _ in layout.children),
        "right_child": row(right for _, right in layout.children),
        **_sets(forest, nodes[by_set]),
        "leaf_weight": row(np.ones(len(layout.leaves))) if len(nodes) else "",
        "leaf_count": row(np.ones(len(layout.leaves))),
        "internal_weight": row(count),
        "internal_count": row(count),
    }


def _count_leaves(children: list[list[int]]) -> list[int]:
    """Return how many leaves lie below each split; parents come before their children."""
    count = [0] * len(children)
    for number in reversed(range(len(children))):
        count[number] = sum(1 if child < 0 else count[child] for child in children[number])
    return count


def _sets(forest: Forest, nodes: IntArray) -> dict[str, str]:
    """Return the sets of categories of some splits."""
    words: list[int] = []
    bounds = [0]
    for number in forest.category_set[nodes]:
        words += set_words(forest.category_mask(number))
        bounds.append(len(words))
    return {"cat_boundaries": row(bounds), "cat_threshold": row(words)} if words else {}


def _header(forest: Forest) -> dict[str, str | None]:
    names = forest.feature_names or [""] * forest.n_features
    check_names(names, "LightGBM's text")
    return {
        "tree": None,
        "version": "v4",
        "num_class": str(forest.n_outputs),
        "num_tree_per_iteration": str(forest.n_outputs),
        "label_index": "0",
        "max_feature_idx": str(forest.n_features - 1),
        **_objective(forest),
        "feature_names": row(_name(name, column) for column, name in enumerate(names)),
        "feature_infos": row("none" for _ in names),
    }


def _objective(forest: Forest) -> dict[str, str | None]:
    """Return the objective whose link is the forest's, none where scores are the predictions."""
    several = f"num_class:{forest.n_outputs}"
    one = forest.n_outputs == 1
    if forest.link == "identity" and not one:
        return {}
    objectives = {
        "logistic": "binary sigmoid:1" if one else f"multiclassova {several} sigmoid:1",
        "softmax": f"multiclass {several}",
        "exp": "poisson",
        "identity": "regression",
    }
    return {"objective": objectives[forest.link]}


def _name(name: str, column: int) -> str:
    """Return a name without what has a meaning in LightGBM's text or its JSON."""
    return re.sub(r'[\s\x00-\x1f\x7f-\x9f",:\[\]{}]', "_", name) or f"Column_{column}"


def _tail(forest: Forest) -> str:
    columns = sorted(forest.category_labels)
    labels = [list(forest.category_labels[column]) for column in columns]
    try:
        known = json.dumps(labels if columns else None, default=lambda one: one.item())
    except (AttributeError, TypeError, ValueError):
        raise InputError(
            "Some categories of the forest have labels that are neither text nor numbers: "
            "LightGBM's text cannot hold them."
        ) from None
    return (
        "\n\nfeature_importances:\n\nparameters:\n[boosting: gbdt]\n"
        f"[categorical_feature: {','.join(map(str, columns))}]\n"
        f"end of parameters\n\npandas_categorical:{known}\n"
    )
