"""CatBoost's models of numbers and of categories one by one, by their JSON document.

CatBoost keeps values and weights of leaves only. The value of an inner node is the mean of the
leaves below it, each weighted by its samples: that is what the tree says at this node on average
over the training samples, and of all single values the one nearest to its leaves in squares.
(CatBoost itself would shrink it a little less than the leaves, by its L2 penalty, as the node has
more samples.) By how much a split brings its two sides nearer to their leaves is taken for its
gain.
"""

import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.adapters.catboost_categories import Categories
from thriftwood.adapters.common import (
    CollapsedTree,
    TreeNodes,
    collapsed_trees,
    join_trees,
    several_outputs,
    unfitted,
)
from thriftwood.errors import ForestError, UnsupportedModelError
from thriftwood.forest import LEAF, Forest, Inputs, Link, Statistic, leaf_means
from thriftwood.support.arrays import BoolArray, FloatArray
from thriftwood.support.columns import Columns

Document = dict[str, Any]

NUMERIC, ONE_HOT = "FloatFeature", "OneHotFeature"

# What makes a prediction of a score; of a loss that is not here, the score itself.
LINKS: dict[str, Link] = {
    "Logloss": "logistic",
    "CrossEntropy": "logistic",
    "Focal": "logistic",
    "MultiClass": "softmax",
    "MultiClassOneVsAll": "logistic",
    "Poisson": "exp",
    "Tweedie": "exp",
}

# The statistic that regressors predict; those that are not here, something else.
STATISTICS: dict[str, Statistic] = {
    "RMSE": "mean",
    "Poisson": "mean",
    "Tweedie": "mean",
    "CrossEntropy": "mean",
    "MAE": "median",
    "MAPE": "median",
    "Huber": "median",
    "LogCosh": "median",
}


def read(model: Any) -> Forest:
    return _forest(model, _document_of(model))[0]


def write(model: Any, kept: BoolArray, values: FloatArray | None = None) -> Any:
    """Return a model of the same class whose trees are no longer symmetric."""
    document = _document_of(model)
    forest, weights = _forest(model, document)
    says = (forest.values if values is None else values) / document["scale_and_bias"][0]
    left = collapsed_trees(forest, kept, says)
    new_trees = [
        _written_tree(_nodes_of(tree), own, weights[first:])
        for tree, own, first in zip(_trees(document), left, forest.tree_start, strict=False)
    ]
    document = {name: part for name, part in document.items() if name != "oblivious_trees"}
    pruned = type(model)()
    pruned.set_params(**model.get_params())
    pruned.load_model(blob=_as_bytes({**document, "trees": new_trees}))
    # Computed by CatBoost and kept in the model, as after training: what each feature now does.
    pruned.get_feature_importance(type="PredictionValuesChange")
    return pruned


def _forest(model: Any, document: Document) -> tuple[Forest, FloatArray]:
    """Return the forest of a document, and the weight of the training samples at each node."""
    loss = str(document["model_info"].get("params", {}).get("loss_function", {}).get("type", ""))
    scale, bias = document["scale_and_bias"]
    classes = _classes(model, loss, len(bias))
    features = document["features_info"].get("float_features", [])
    categories = document["features_info"].get("categorical_features", [])
    names = [""] * (len(features) + len(categories))
    for feature in (*features, *categories):
        names[feature["flat_feature_index"]] = feature.get("feature_id", "")
    trees = [_nodes_of(tree) for tree in _trees(document)]
    if not trees:
        raise ForestError("This CatBoost model has no tree: train it for at least one iteration.")
    forest = join_trees(
        [_tree_nodes(nodes, features, categories, len(bias)) for nodes in trees],
        n_features=len(names),
        combine="sum",
        classes=classes,
        feature_names=tuple(names) if all(names) else None,
        input_dtype=np.dtype(np.float32),
        bias=np.array(bias, dtype=np.float64),
        link=LINKS.get(loss, "identity"),
        statistic="mean" if classes is not None else STATISTICS.get(loss, "other"),
        inputs=_inputs(document, categories, names) if categories else None,
    )
    weights = np.array([node.get("weight", 0.0) for nodes in trees for node in nodes], np.float64)
    values, weights = leaf_means(forest, scale * forest.values, weights)
    gains = np.zeros(forest.n_nodes)
    splits = np.flatnonzero(forest.is_split)
    for child in (forest.left[splits], forest.right[splits]):
        apart = ((values[child] - values[splits]) ** 2).sum(axis=1)
        gains[splits] += weights[child] * apart
    return replace(forest, values=values, gains=gains), weights


def _inputs(document: Document, categories: list[Document], names: list[str]) -> Inputs:
    """Return how labels of categories become their numbers, of which the model keeps hashes."""
    columns = [feature["flat_feature_index"] for feature in categories]
    hashes = [feature.get("values", []) for feature in categories]
    known = tuple(names) if all(names) else None
    return Inputs(
        columns=Columns(len(names), known, tuple((k,) for k in range(len(names))), known),
        transform=Categories(document, _as_bytes, columns, hashes, len(names)).transform,
        blanks=["" if k in columns else 0.0 for k in range(len(names))],
    )


def _check_features(model: Any) -> None:
    """Refuse features of which splits look at what is not in X."""
    columns = {
        "text": model.get_text_feature_indices(),
        "embedding": model.get_embedding_feature_indices(),
    }
    for kind, found in columns.items():
        if len(found):
            raise UnsupportedModelError(
                f"This {type(model).__name__} was trained with {kind} features, whose splits look "
                "at what CatBoost computed of them while it trained and not at X. Encode them as "
                "numbers before training."
            )


def _classes(model: Any, loss: str, n_outputs: int) -> NDArray[Any] | None:
    labels = np.asarray(model.classes_)
    link = LINKS.get(loss, "identity")
    if link in ("logistic", "softmax") and len(labels) == max(n_outputs, 2):
        return labels
    if len(labels):
        raise UnsupportedModelError(
            f"This {type(model).__name__} was trained with the loss {loss!r}, from whose scores no "
            f"probability of each class is known. Train it with one of "
            f"{', '.join(list(LINKS)[:5])}."
        )
    if n_outputs > 1:
        raise several_outputs(model, n_outputs)
    return None


def _document_of(model: Any) -> Document:
    if not model.is_fitted():
        raise unfitted(model)
    _check_features(model)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        document: Document = json.loads(path.read_text(encoding="utf-8"))
    return document


def _as_bytes(document: Document) -> bytes:
    """Return a document in CatBoost's own binary format."""
    from catboost import CatBoost

    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        loaded = CatBoost().load_model(str(path), format="json")
        binary = Path(folder) / "model.cbm"
        loaded.save_model(str(binary))
        return binary.read_bytes()


def _trees(document: Document) -> list[Document]:
    """Return the trees as nested nodes; symmetric ones are written out in full."""
    if "oblivious_trees" not in document:
        trees: list[Document] = document.get("trees", [])
        return trees
    n_outputs = len(document["scale_and_bias"][1])
    return [_written_out(tree, n_outputs) for tree in document["oblivious_trees"]]


def _written_out(tree: Document, n_outputs: int) -> Document:
    """Return a symmetric tree, which asks one question per level, as nested nodes.

    The first question comes at the root. Bit b of a leaf's number is the answer to question b.
    """
    splits = tree.get("splits") or []
    values = np.reshape(tree["leaf_values"], (-1, n_outputs)).tolist()
    weights = tree.get("leaf_weights") or [0.0] * len(values)
    level = [
        {"value": value if n_outputs > 1 else value[0], "weight": weight}
        for value, weight in zip(values, weights, strict=True)
    ]
    for question in splits[::-1]:
        half = len(level) // 2  # the answers to the last question differ in the highest bit
        level = [
            {"split": question, "left": no, "right": yes}
            for no, yes in zip(level[:half], level[half:], strict=True)
        ]
    return level[0]


def _nodes_of(tree: Document) -> list[Document]:
    """Return the nested nodes of a tree in a row, parents first."""
    nodes = [tree]
    for node in nodes:  # it grows while we walk
        if "split" in node:
            nodes += [node["left"], node["right"]]
    return nodes


def _tree_nodes(
    nodes: list[Document], features: list[Document], categories: list[Document], n_outputs: int
) -> TreeNodes:
    """Return the nodes of a tree as arrays; values and weights at the leaves alone.

    Samples of one category go to CatBoost's right, which is our left.
    """
    splits = [node.get("split") for node in nodes]
    asked = [_feature(split, features, categories) for split in splits]
    sets = {
        node: np.array([feature["values"].index(split["value"])], dtype=np.int64)
        for node, (split, feature) in enumerate(zip(splits, asked, strict=True))
        if split is not None and split["split_type"] == ONE_HOT
    }
    is_split = np.array([split is not None for split in splits])
    first = np.where(is_split, 2 * np.cumsum(is_split) - 1, LEAF)
    second = np.where(is_split, first + 1, LEAF)
    by_set = np.isin(np.arange(len(nodes)), list(sets))
    nothing = [0.0] * n_outputs if n_outputs > 1 else 0.0
    return TreeNodes(
        left=np.where(by_set, second, first),
        right=np.where(by_set, first, second),
        feature=np.array([feature.get("flat_feature_index", 0) for feature in asked]),
        # A border is a float32; where x > border a sample goes right.
        threshold=np.array([split.get("border", 0.0) if split else 0.0 for split in splits]),
        # "AsIs" means that training saw no NaN; the library compares it then: it is above no
        # border. A missing label is that of no category.
        missing_left=np.array([f.get("nan_value_treatment", "AsTrue") != "AsTrue" for f in asked]),
        categories=sets,
        values=np.array([node.get("value", nothing) for node in nodes], dtype=np.float64).reshape(
            len(nodes), n_outputs
        ),
    )


def _feature(
    split: Document | None, features: list[Document], categories: list[Document]
) -> Document:
    """Return the feature that a split asks for, nothing of a leaf."""
    if split is None:
        return {}
    if split["split_type"] == NUMERIC:
        return features[split["float_feature_index"]]
    if split["split_type"] == ONE_HOT:
        return categories[split["cat_feature_index"]]
    raise UnsupportedModelError(
        "This CatBoost model splits by statistics of the target that it gathered for categories "
        f"while it was trained ({split['split_type']}): they depend on the order of the samples "
        "and on several columns at once, and are not in X. Train with `one_hot_max_size` as large "
        "as the largest number of categories, or a Pipeline that encodes them."
    )


def _written_tree(nodes: list[Document], own: CollapsedTree, weights: FloatArray) -> Document:
    """Return what is left of a tree, as nested nodes; `weights` are those of its old nodes."""
    new: dict[int, Document] = {}
    for place in range(len(own.origin))[::-1]:  # children come after their parent
        node = int(own.origin[place])
        if own.is_split[place]:
            split, sides = nodes[node]["split"], (own.left[place], own.right[place])
            no, yes = sides[::-1] if split["split_type"] == ONE_HOT else sides
            new[place] = {"split": split, "left": new[int(no)], "right": new[int(yes)]}
        else:
            says = own.values[place].tolist()
            new[place] = {
                "value": says if len(says) > 1 else says[0],
                "weight": float(weights[node]),
            }
    return new[0]
