"""Forests as the model text of LightGBM."""

import json
import re
from typing import Any

import numpy as np

from thriftwood.adapters import read_forest
from thriftwood.errors import InputError
from thriftwood.forest import Forest
from thriftwood.formats.export.lightgbm_trees import (
    LONE_LEAF,
    Layout,
    lay_out,
    row,
    structure_of,
)
from thriftwood.formats.export.thresholds import for_double_rows
from thriftwood.support.files import File, write_whole


def to_lightgbm(model: object, file: File | None = None) -> str:
    """Return a model as the text of a LightGBM booster, and write it to a file if one is named.

    `lightgbm.Booster(model_str=text)` or `lightgbm.Booster(model_file=file)` loads it;
    `lightgbm_text` says what it predicts.

    Parameters
    ----------
    model : a fitted model, or a `Forest`
    file : optional
        Where to write it; a file that is there is replaced.
    """
    text = lightgbm_text(read_forest(model))
    if file is not None:
        write_whole(file, text)
    return text


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
    layouts = [lay_out(forest, root) for root in forest.tree_start[:-1]]
    thresholds = for_double_rows(forest.threshold, forest.input_dtype)
    structures = [structure_of(forest, layout, thresholds) for layout in [*layouts, LONE_LEAF]]
    lines = _header(forest)
    number = 0
    for turn in _turns(forest):
        for output, tree in enumerate(turn):
            said = _values(forest, layouts, tree, output, is_first=number < forest.n_outputs)
            tree_lines = {**structures[-1 if tree is None else tree], **said}
            lines += [f"Tree={number}", *(f"{key}={what}" for key, what in tree_lines.items())]
            lines += ["", ""]
            number += 1
    return "\n".join([*lines, "end of trees", *_tail(forest)])


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
        return {"leaf_value": row([bias]), "internal_value": ""}
    n_averaged = forest.n_trees if forest.combine == "mean" else 1
    return {
        key: row(forest.values[np.array(nodes, dtype=np.int64), output] / n_averaged + bias)
        for key, nodes in (
            ("leaf_value", layouts[tree].leaves),
            ("internal_value", layouts[tree].splits),
        )
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
        "feature_names=" + row(_name(name, column) for column, name in enumerate(names)),
        "feature_infos=" + row("none" for _ in names),
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
