"""CatBoost's models of numeric features."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thriftwood.adapters.catboost.trees import (
    Columns,
    Document,
    nodes_of,
    recorded_trees,
    written_tree,
)
from thriftwood.adapters.joining import TreeNodes, join_trees
from thriftwood.adapters.kinds import is_a
from thriftwood.adapters.samples import BootstrapSamples
from thriftwood.errors import ForestError, UnfittedModelError, UnsupportedModelError
from thriftwood.forest import (
    Aim,
    Forest,
    Link,
    collapse,
)
from thriftwood.support.arrays import BoolArray, FloatArray

SUPPORTED = "CatBoost (numeric features)"

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

# What regressors aim at; those that are not here, at something else.
AIMS: dict[str, Aim] = {
    "RMSE": "mean",
    "Poisson": "mean",
    "Tweedie": "mean",
    "CrossEntropy": "mean",
    "MAE": "median",
    "MAPE": "median",
    "Huber": "median",
    "LogCosh": "median",
}


def reads(model: object) -> bool:
    return is_a(model, "catboost", "CatBoost")


def read(model: Any) -> Forest:
    return _read(model).forest


def write(model: Any, kept: BoolArray, values: FloatArray | None = None) -> Any:
    """Return a model of the same class whose trees are no longer symmetric."""
    found = _read(model)
    document = _collapsed(found, kept, found.forest.values if values is None else values)
    pruned = type(model)()
    pruned.set_params(**model.get_params())
    pruned.load_model(blob=_as_bytes(document))
    # Computed by CatBoost and kept in the model, as after training: what each feature now does.
    pruned.get_feature_importance(type="PredictionValuesChange")
    return pruned


def samples(_model: Any) -> BootstrapSamples | None:
    return None  # boosters do not note which rows a tree was given


class _Read(NamedTuple):
    """A forest, the document it was read from, and its trees as arrays and as in the document."""

    forest: Forest
    document: Document
    trees: list[tuple[TreeNodes, list[Document]]]


def _read(model: Any) -> _Read:
    _check_fitted(model)
    _check_features(model)
    document = _document_of(model)
    loss = _loss_of(document)
    scale, bias = document["scale_and_bias"]
    classes = _classes(model, loss, len(bias))
    columns, names = _columns(document)
    trees = [nodes_of(tree, columns, len(bias)) for tree in recorded_trees(document)]
    if not trees:
        raise ForestError("This CatBoost model has no tree: train it for at least one iteration.")
    forest = join_trees(
        [
            nodes._replace(values=scale * nodes.values, gains=scale**2 * nodes.gains)
            for nodes, _ in trees
        ],
        n_features=len(names),
        combine="sum",
        classes=classes,
        feature_names=names if all(names) else None,
        input_dtype=np.dtype(np.float32),
        bias=np.array(bias, dtype=np.float64),
        link=LINKS.get(loss, "identity"),
        aim="mean" if classes is not None else AIMS.get(loss, "other"),
    )
    return _Read(forest, document, trees)


def _check_fitted(model: Any) -> None:
    if not model.is_fitted():
        raise UnfittedModelError(
            f"This {type(model).__name__} is not fitted yet: call its `fit` before pruning."
        )


def _check_features(model: Any) -> None:
    """Refuse features that are no numbers: their splits look at counts and hashes."""
    columns = {
        "categorical": model.get_cat_feature_indices(),
        "text": model.get_text_feature_indices(),
        "embedding": model.get_embedding_feature_indices(),
    }
    for kind, found in columns.items():
        if len(found):
            raise UnsupportedModelError(
                f"This {type(model).__name__} was trained with {kind} features, whose splits look "
                "at counts that are not in X. Encode them as numbers before training."
            )


def _document_of(model: Any) -> Document:
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


def _loss_of(document: Document) -> str:
    params = document.get("model_info", {}).get("params", {})
    return str(params.get("loss_function", {}).get("type", ""))


def _classes(model: Any, loss: str, n_outputs: int) -> NDArray[Any] | None:
    name, link = type(model).__name__, LINKS.get(loss, "identity")
    labels = np.asarray(model.classes_)
    if link in ("logistic", "softmax") and len(labels) == max(n_outputs, 2):
        return labels
    if len(labels):
        raise UnsupportedModelError(
            f"This {name} was trained with the loss {loss!r}, from whose scores no probability of "
            f"each class is known. Train it with one of {', '.join(list(LINKS)[:5])}."
        )
    if n_outputs > 1:
        raise UnsupportedModelError(
            f"This {name} predicts {n_outputs} outputs at once; only one can be pruned. "
            "Train one model per output."
        )
    return None


def _columns(document: Document) -> tuple[Columns, tuple[str, ...]]:
    """Return where the number features stand in X, and the names of all columns."""
    features = document["features_info"].get("float_features", [])
    place = np.array([feature["flat_feature_index"] for feature in features], dtype=np.int64)
    # "AsIs" means that training saw no NaN; the library compares it then: it is above no border.
    missing_left = np.array(
        [f["nan_value_treatment"] != "AsTrue" for f in features], dtype=np.bool_
    )
    names = [""] * len(features)
    for feature, column in zip(features, place, strict=True):
        names[column] = feature.get("feature_id", "")
    return Columns(place, missing_left), tuple(names)


def _collapsed(found: _Read, kept: BoolArray, values: FloatArray) -> Document:
    collapsed, origin = collapse(found.forest, kept)
    says = values / found.document["scale_and_bias"][0]
    new_trees = []
    for number, (nodes, recorded) in enumerate(found.trees):
        own = slice(*collapsed.tree_start[number : number + 2])
        new_trees.append(
            written_tree(
                recorded,
                origin[own] - found.forest.tree_start[number],
                nodes,
                collapsed.is_split[own],
                says[origin[own]],
            )
        )
    document = {name: part for name, part in found.document.items() if name != "oblivious_trees"}
    return {**document, "trees": new_trees}
