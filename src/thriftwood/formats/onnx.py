"""Forests as ONNX models."""

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.errors import InputError, UnsupportedModelError
from thriftwood.forest import Forest, NestedStages
from thriftwood.formats.layout import trees_to_export
from thriftwood.formats.onnx_stages import STAGE, add_answers, add_stages
from thriftwood.formats.onnx_trees import TREES, TREES_VERSION, Dtype, Graph, add_predictions
from thriftwood.support.files import File, write_whole
from thriftwood.support.text import check_names
from thriftwood.support.validation import chosen

OLDEST_OPSET = 13


def to_onnx(
    model: object, file: File | None = None, *, dtype: Dtype = "float32", opset: int = 18
) -> Any:
    """Return a model as an ONNX model, and write it to a file if one is named.

    It is right on missing values, categories and zeros that stand for missing values, too. ONNX
    has no word for buying: of a `ThriftyClassifier` or a `ThriftyRegressor` it takes rows that have
    what their stage asks for, with NaN for the rest, and says at which stage each stops.

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
        shape (n_samples, n_classes); a regressor's is `prediction`, shape (n_samples, 1). Thrifty
        models have a further one, `stage`, shape (n_samples,).
    """
    graph = Graph()
    _check_options(graph, dtype, opset)
    number, stages = np.dtype(dtype), getattr(model, "stages_", None)
    if isinstance(stages, NestedStages):
        forest: Forest = model.purchase_plan.richest  # type: ignore[attr-defined]
        prediction = add_stages(graph, stages, number)
        answer = add_answers(graph, stages, prediction, number) if stages.error_costs.size else ""
        outputs = _add_outputs(graph, forest, prediction, number, answer)
        stage_type = graph.type_of(np.dtype(np.int64))
        outputs.append(graph.onnx.helper.make_tensor_value_info(STAGE, stage_type, [None]))
    else:
        forest = trees_to_export(model)
        prediction = add_predictions(graph, forest, number)
        outputs = _add_outputs(graph, forest, prediction, number)
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


def _add_outputs(
    graph: Graph, forest: Forest, prediction: str, dtype: np.dtype[Any], answer: str = ""
) -> list[Any]:
    """Give the results their names, and return how ONNX describes them.

    The answer is the number of the likeliest class where nothing else is said.
    """
    describe = graph.onnx.helper.make_tensor_value_info
    if forest.classes is None:
        graph.add("Identity", prediction, name="prediction")
        return [describe("prediction", graph.type_of(dtype), [None, 1])]
    labels = _labels(forest.classes)
    answer = answer or graph.add("ArgMax", prediction, axis=1, keepdims=0)
    graph.add("Gather", graph.constant(labels), answer, axis=0, name="label")
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
