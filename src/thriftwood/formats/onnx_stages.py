"""Nested stages as operations of ONNX: all stages in use are computed, and one is picked."""

from __future__ import annotations

from functools import partial, reduce
from typing import Any

import numpy as np

from thriftwood.errors import UnsupportedModelError
from thriftwood.forest import LEAST_SHARE, Forest, NestedStages
from thriftwood.formats.onnx_trees import Graph, add_predictions

# The result that says where samples stop.
STAGE = "stage"


def add_stages(graph: Graph, stages: NestedStages, dtype: np.dtype[Any]) -> str:
    """Add what stages predict where samples stop, and as a result `STAGE` where that is."""
    *others, last = stages.in_use
    predicted = _add_mean(graph, stages, last, dtype)
    n_samples = graph.add("Gather", graph.add("Shape", "X"), graph.constant(np.array([0])))
    column = graph.add("Concat", n_samples, graph.constant(np.array([1])), axis=0)
    stage = graph.add("Expand", graph.constant(np.array([[last]])), column)
    for number in reversed(others):
        found = _add_mean(graph, stages, number, dtype)
        margin = _add_margin(graph, stages, number, found, dtype)
        threshold = graph.constant(np.array(stages.thresholds[number], dtype))
        goes_on = graph.add("Less", margin, threshold)
        predicted = graph.add("Where", goes_on, predicted, found)
        stage = graph.add("Where", goes_on, stage, graph.constant(np.array([[number]])))
    graph.add("Squeeze", stage, graph.constant(np.array([1])), name=STAGE)
    return predicted


def add_answers(graph: Graph, stages: NestedStages, predicted: str, dtype: np.dtype[Any]) -> str:
    """Add the number of the class of least expected cost."""
    costs = _expected_costs(graph, stages, predicted, dtype)
    return graph.add("ArgMin", costs, axis=1, keepdims=0)


def _add_mean(graph: Graph, stages: NestedStages, number: int, dtype: np.dtype[Any]) -> str:
    """Add the mean of what the members of a stage predict."""
    members = stages.members[number]
    for member in members:
        if not isinstance(member, Forest):
            raise UnsupportedModelError(
                f"The stages are of {type(member.model).__name__} models, which are no trees that "
                "can be written as ONNX."
            )
    found = [add_predictions(graph, member, dtype) for member in members]
    total = reduce(partial(graph.add, "Add"), found)  # runtimes have no `Mean` of doubles
    return graph.add("Div", total, graph.constant(np.array(len(found), dtype)))


def _add_margin(
    graph: Graph, stages: NestedStages, number: int, predicted: str, dtype: np.dtype[Any]
) -> str:
    """Add how sure a stage is, as `NestedStages.margins` has it, in a column."""
    n_classes = len(stages.error_costs)
    if not n_classes:
        unit = graph.constant(np.array(stages.gate_unit, dtype))
        gate = add_predictions(graph, stages.gates[number], dtype)
        more = _above_zero(graph, gate, LEAST_SHARE * stages.gate_unit, dtype)
        one = graph.constant(np.array(1.0, dtype))
        return graph.add("Log", graph.add("Add", graph.add("Div", unit, more), one))
    costs = _expected_costs(graph, stages, predicted, dtype)
    two = graph.add("TopK", costs, graph.constant(np.array([2])), n_more=1, axis=1, largest=0)
    nothing = max(LEAST_SHARE * float(stages.error_costs.max()), float(np.finfo(dtype).tiny))
    above = _above_zero(graph, two, nothing, dtype)
    least, second = (
        graph.add("Gather", above, graph.constant(np.array([place])), axis=1) for place in (0, 1)
    )
    return graph.add("Log", graph.add("Div", second, least))


def _expected_costs(
    graph: Graph, stages: NestedStages, predicted: str, dtype: np.dtype[Any]
) -> str:
    return graph.add("MatMul", predicted, graph.constant(stages.error_costs.astype(dtype)))


def _above_zero(graph: Graph, number: str, more: float, dtype: np.dtype[Any]) -> str:
    """Add a small number to what should be at least 0."""
    return graph.add("Add", graph.add("Relu", number), graph.constant(np.array(more, dtype)))
