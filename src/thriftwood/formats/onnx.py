"""Forests and nested stages as ONNX models."""

import json
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.adapters import buying_stages, nested_stages
from thriftwood.errors import InputError, UnsupportedModelError
from thriftwood.forest import LEAST_SHARE, Forest, NestedStages
from thriftwood.formats.layout import tree_member, trees_to_export
from thriftwood.formats.onnx_trees import TREES, TREES_VERSION, Dtype, Graph, add_predictions
from thriftwood.support.files import File, write_whole
from thriftwood.support.text import check_names
from thriftwood.support.validation import chosen

OLDEST_OPSET = 13
# The result that says where samples stop.
STAGE = "stage"


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
    graph = Graph(chosen(dtype, ("float32", "float64"), "dtype"))
    newest = graph.onnx.defs.onnx_opset_version()
    if type(opset) is not int or not OLDEST_OPSET <= opset <= newest:
        raise InputError(
            f"`opset` is {opset!r}: the installed onnx knows those up to {newest}, and a forest "
            f"needs {OLDEST_OPSET} or more."
        )
    stages = nested_stages(model)
    if stages is not None:
        forest = buying_stages(model).richest
        prediction, answer = _add_stages(graph, stages), ""
        if stages.error_costs.size:
            costs = _expected_costs(graph, stages, prediction)
            answer = graph.add("ArgMin", costs, axis=1, keepdims=0)
        outputs = _add_outputs(graph, forest, prediction, answer)
        stage_type = graph.type_of(np.dtype(np.int64))
        outputs.append(graph.onnx.helper.make_tensor_value_info(STAGE, stage_type, [None]))
    else:
        forest = trees_to_export(model)
        outputs = _add_outputs(graph, forest, add_predictions(graph, forest))
    made = _model(graph, forest, outputs, opset)
    if file is not None:
        write_whole(file, made.SerializeToString())
    return made


def _add_outputs(graph: Graph, forest: Forest, prediction: str, answer: str = "") -> list[Any]:
    """Give the results their names, and return how ONNX describes them.

    The answer is the number of the likeliest class where nothing else is said.
    """
    describe = graph.onnx.helper.make_tensor_value_info
    if forest.classes is None:
        graph.add("Identity", prediction, name="prediction")
        return [describe("prediction", graph.type_of(graph.dtype), [None, 1])]
    labels = _labels(forest.classes)
    answer = answer or graph.add("ArgMax", prediction, axis=1, keepdims=0)
    graph.add("Gather", graph.constant(labels), answer, axis=0, name="label")
    graph.add("Identity", prediction, name="probabilities")
    shape = [None, len(labels)]
    return [
        describe("label", graph.type_of(labels.dtype), [None]),
        describe("probabilities", graph.type_of(graph.dtype), shape),
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


def _model(graph: Graph, forest: Forest, outputs: list[Any], opset: int) -> Any:
    helper = graph.onnx.helper
    rows = helper.make_tensor_value_info("X", graph.type_of(graph.dtype), [None, forest.n_features])
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


# --- nested stages: all in use are computed, and one is picked


def _add_stages(graph: Graph, stages: NestedStages) -> str:
    """Add what stages predict where samples stop, and as a result `STAGE` where that is."""
    *others, last = stages.in_use
    predicted = _add_mean(graph, stages, last)
    n_samples = graph.add("Gather", graph.add("Shape", "X"), graph.constant(np.array([0])))
    column = graph.add("Concat", n_samples, graph.constant(np.array([1])), axis=0)
    stage = graph.add("Expand", graph.constant(np.array([[last]])), column)
    for number in reversed(others):
        found = _add_mean(graph, stages, number)
        margin = _add_margin(graph, stages, number, found)
        goes_on = graph.add("Less", margin, graph.number(stages.thresholds[number]))
        predicted = graph.add("Where", goes_on, predicted, found)
        stage = graph.add("Where", goes_on, stage, graph.constant(np.array([[number]])))
    graph.add("Squeeze", stage, graph.constant(np.array([1])), name=STAGE)
    return predicted


def _add_mean(graph: Graph, stages: NestedStages, number: int) -> str:
    """Add the mean of what the members of a stage predict."""
    members = [tree_member(member, "ONNX") for member in stages.members[number]]
    found = [add_predictions(graph, member) for member in members]
    total = reduce(partial(graph.add, "Add"), found)  # runtimes have no `Mean` of doubles
    return graph.add("Div", total, graph.number(len(found)))


def _add_margin(graph: Graph, stages: NestedStages, number: int, predicted: str) -> str:
    """Add how sure a stage is, as `NestedStages.margins` has it, in a column."""
    n_classes = len(stages.error_costs)
    if not n_classes:
        gate = add_predictions(graph, stages.gates[number])
        more = _above_zero(graph, gate, LEAST_SHARE * stages.gate_unit)
        ratio = graph.add("Div", graph.number(stages.gate_unit), more)
        return graph.add("Log", graph.add("Add", ratio, graph.number(1.0)))
    costs = _expected_costs(graph, stages, predicted)
    two = graph.add("TopK", costs, graph.constant(np.array([2])), n_more=1, axis=1, largest=0)
    nothing = max(LEAST_SHARE * float(stages.error_costs.max()), float(np.finfo(graph.dtype).tiny))
    above = _above_zero(graph, two, nothing)
    least, second = (
        graph.add("Gather", above, graph.constant(np.array([place])), axis=1) for place in (0, 1)
    )
    return graph.add("Log", graph.add("Div", second, least))


def _expected_costs(graph: Graph, stages: NestedStages, predicted: str) -> str:
    return graph.add("MatMul", predicted, graph.number(stages.error_costs))


def _above_zero(graph: Graph, number: str, more: float) -> str:
    """Add a small number to what should be at least 0."""
    return graph.add("Add", graph.add("Relu", number), graph.number(more))
