"""Forests as ONNX models."""

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.errors import InputError, UnsupportedModelError
from thriftwood.forest import Forest
from thriftwood.formats.layout import trees_to_export
from thriftwood.formats.onnx_trees import TREES, TREES_VERSION, Dtype, Graph, add_trees
from thriftwood.support.files import File, write_whole
from thriftwood.support.text import check_names
from thriftwood.support.validation import chosen

OLDEST_OPSET = 13


def to_onnx(
    model: object, file: File | None = None, *, dtype: Dtype = "float32", opset: int = 18
) -> Any:
    """Return a model as an ONNX model, and write it to a file if one is named.

    It is right on missing values, categories and zeros that stand for missing values, too.

    Parameters
    ----------
    model : a fitted model, or a `Forest`
    file : optional
        Where to write it; a file that is there is replaced.
    dtype : {"float32", "float64"}
        What the rows and the predictions are. A row of float32 numbers ends in the same leaves as
        in the model either way; with "float64" so does every row of doubles.
    opset : int
        Version of ONNX's ordinary operations. The trees are a `TreeEnsemble` of ai.onnx.ml 5.

    Returns
    -------
    onnx.ModelProto
        Its input is `X`, shape (n_samples, n_features); a categorical column holds numbers of
        categories. A classifier's outputs are `label`, shape (n_samples,), and `probabilities`,
        shape (n_samples, n_classes); a
        regressor's is `prediction`, shape (n_samples, 1).
    """
    graph = Graph()
    _check_options(graph, dtype, opset)
    forest = trees_to_export(model)
    number = np.dtype(dtype)
    score = _add_scores(graph, forest, number)
    outputs = _add_outputs(graph, forest, _add_link(graph, forest, score, number), number)
    made = _model(graph, forest, number, outputs, opset)
    if file is not None:
        write_whole(file, made.SerializeToString())
    return made


def _check_options(graph: Graph, dtype: object, opset: Any) -> None:
    chosen(dtype, ("float32", "float64"), "dtype")
    newest = graph.onnx.defs.onnx_opset_version()
    if type(opset) is not int or not OLDEST_OPSET <= opset <= newest:
        raise InputError(
            f"`opset` is {opset!r}: the installed onnx knows those up to {newest}, and a forest "
            f"needs {OLDEST_OPSET} or more."
        )


def _add_scores(graph: Graph, forest: Forest, dtype: np.dtype[Any]) -> str:
    rows = "X"
    if forest.input_dtype == np.float32 and dtype == np.float64:
        rows = graph.cast(graph.cast(rows, np.float32), np.float64)
    score = add_trees(graph, forest, rows, dtype)
    if forest.combine == "mean":
        score = graph.add("Div", score, graph.constant(np.array(forest.n_trees, dtype)))
    if forest.bias.any():
        score = graph.add("Add", score, graph.constant(forest.bias.astype(dtype)))
    return score


def _add_link(graph: Graph, forest: Forest, score: str, dtype: np.dtype[Any]) -> str:
    if forest.link == "softmax":
        return graph.add("Softmax", score, axis=1)
    if forest.link == "exp":
        return graph.add("Exp", score)
    if forest.link == "identity":
        return score
    probability = graph.add("Sigmoid", score)
    if forest.n_outputs > 1 or not forest.is_classifier:
        return probability
    other = graph.add("Sub", graph.constant(np.array(1.0, dtype)), probability)
    return graph.add("Concat", other, probability, axis=1)


def _add_outputs(graph: Graph, forest: Forest, prediction: str, dtype: np.dtype[Any]) -> list[Any]:
    """Give the results their names, and return how ONNX describes them."""
    describe = graph.onnx.helper.make_tensor_value_info
    if forest.classes is None:
        graph.add("Identity", prediction, name="prediction")
        return [describe("prediction", graph.type_of(dtype), [None, 1])]
    labels = _labels(forest.classes)
    best = graph.add("ArgMax", prediction, axis=1, keepdims=0)
    graph.add("Gather", graph.constant(labels), best, axis=0, name="label")
    graph.add("Identity", prediction, name="probabilities")
    shape = [None, len(labels)]
    return [
        describe("label", graph.type_of(labels.dtype), [None]),
        describe("probabilities", graph.type_of(dtype), shape),
    ]


def _labels(classes: NDArray[Any]) -> NDArray[Any]:
    """Return labels in a type of ONNX."""
    plain = np.array(classes.tolist())
    if plain.dtype.kind == "U" and all(isinstance(label, str) for label in classes.tolist()):
        check_names(classes.tolist(), "ONNX")
        return plain.astype(object)
    if plain.dtype.kind in "bif" and plain.dtype.itemsize <= 8:
        return plain
    raise UnsupportedModelError(
        "The classes of the model are neither numbers nor text, so ONNX cannot hold them."
    )


def _model(
    graph: Graph, forest: Forest, dtype: np.dtype[Any], outputs: list[Any], opset: int
) -> Any:
    helper = graph.onnx.helper
    rows = helper.make_tensor_value_info("X", graph.type_of(dtype), [None, forest.n_features])
    made = helper.make_graph(graph.nodes, "forest", [rows], outputs, graph.constants)
    versions = [helper.make_opsetid("", opset), helper.make_opsetid(TREES, TREES_VERSION)]
    model = helper.make_model(
        made,
        opset_imports=versions,
        ir_version=helper.find_min_ir_version_for(versions),  # older programs can read it
        producer_name="thriftwood",
    )
    if forest.feature_names is not None:
        helper.set_model_props(model, {"feature_names": json.dumps(forest.feature_names)})
    return model
