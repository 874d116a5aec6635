"""The trees of a forest as ONNX's operation `TreeEnsemble`.

A leaf of that operation adds one number to one of its results. Where every leaf of the forest
speaks for one output, as in boosted models, these numbers are the leaves' values. Otherwise each
tree gets a result of its own, the place of what it says in a table of all different things that
leaves say, and that is looked up: the other way, a copy of all trees for each output, is as many
times larger and was six to twelve times slower on seven classes.
"""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from thriftwood.errors import InputError
from thriftwood.forest import NEXT_TO_ZERO, NO_SET, Forest
from thriftwood.formats.layout import float32_thresholds, number_nodes
from thriftwood.support.arrays import IndexArray, IntArray
from thriftwood.support.libraries import library

Dtype = Literal["float32", "float64"]

# The tree operation is of this domain and version.
TREES = "ai.onnx.ml"
TREES_VERSION = 5

# How a split of ONNX compares.
AT_MOST = 0
MEMBER = 6
# A set may not be empty; no category is this number.
NOBODY = 0.5


class Graph:
    """Operations and constants, in the order in which they were added; `dtype` is that of `X`."""

    def __init__(self, dtype: str) -> None:
        self.onnx = library("onnx", "onnx")
        self.dtype = np.dtype(dtype)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(
        self, operation: str, *inputs: str, name: str = "", n_more: int = 0, **options: Any
    ) -> str:
        """Add an operation; return the name of its first result, which others follow."""
        name = name or f"{operation.lower()}_{len(self.nodes)}"
        results = [name, *(f"{name}_{number}" for number in range(1, n_more + 1))]
        domain = TREES if operation == "TreeEnsemble" else ""
        node = self.onnx.helper.make_node(
            operation, inputs, results, name, domain=domain, **options
        )
        self.nodes.append(node)
        return name

    def constant(self, values: NDArray[Any]) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.tensor(values, name))
        return name

    def number(self, value: Any) -> str:
        """Add a constant of the graph's own type."""
        return self.constant(np.asarray(value, self.dtype))

    def tensor(self, values: NDArray[Any], name: str = "") -> Any:
        """Return an array as ONNX holds it."""
        return self.onnx.numpy_helper.from_array(np.ascontiguousarray(values), name)

    def cast(self, name: str, dtype: type) -> str:
        return self.add("Cast", name, to=self.type_of(np.dtype(dtype)))

    def type_of(self, dtype: np.dtype[Any]) -> int:
        """Return ONNX's number for a type of NumPy."""
        number: int = self.onnx.helper.np_dtype_to_tensor_dtype(dtype)
        return number


def add_predictions(graph: Graph, forest: Forest) -> str:
    """Add what a forest predicts for the rows `X`; return the name of that result."""
    rows = "X"
    if forest.input_dtype == np.float32 and graph.dtype == np.float64:
        rows = graph.cast(graph.cast(rows, np.float32), np.float64)
    score = _add_trees(graph, forest, rows)
    if forest.combine == "mean":
        score = graph.add("Div", score, graph.number(forest.n_trees))
    if forest.bias.any():
        score = graph.add("Add", score, graph.number(forest.bias))
    return _add_link(graph, forest, score)


def _add_link(graph: Graph, forest: Forest, score: str) -> str:
    if forest.link == "softmax":
        return graph.add("Softmax", score, axis=1)
    if forest.link == "exp":
        return graph.add("Exp", score)
    if forest.link == "identity":
        return score
    probability = graph.add("Sigmoid", score)
    if forest.n_outputs > 1 or not forest.is_classifier:
        return probability
    other = graph.add("Sub", graph.number(1.0), probability)
    return graph.add("Concat", other, probability, axis=1)


def _add_trees(graph: Graph, forest: Forest, rows: str) -> str:
    """Add the sum over all trees of what they say; return the name of that result."""
    single = np.count_nonzero(forest.values[~forest.is_split], axis=1).max() <= 1
    nodes, leaves, number = number_nodes(forest)
    table, column = _add_columns(graph, forest, rows)
    splits = _splits(graph, forest, nodes, number, column[nodes])
    values = forest.values[leaves]
    if single:
        speaks_for = np.abs(values).argmax(axis=1)
        weights = values[np.arange(len(values)), speaks_for]
        return _ensemble(graph, table, splits, weights, speaks_for, forest.n_outputs)
    said, place = np.unique(values, axis=0, return_inverse=True)
    places = place.ravel().astype(graph.dtype)
    if not np.array_equal(places, place.ravel()):
        raise InputError(
            f"The leaves say {len(said)} different things, too many to count in float32: "
            "pass dtype='float64'."
        )
    trees = forest.tree_of(leaves)
    reached = graph.cast(_ensemble(graph, table, splits, places, trees, forest.n_trees), np.int32)
    found = graph.add("Gather", graph.number(said), reached, axis=0)
    return graph.add("ReduceSum", found, graph.constant(np.array([1])), keepdims=0)


def _add_columns(graph: Graph, forest: Forest, rows: str) -> tuple[str, IndexArray]:
    """Add a second column of each feature that some splits see in their own way.

    Splits that take 0 for missing see NaN there; those with a set of categories see the number of
    the category, counted from 1. Returns the table and the column that each node looks at.
    """
    of_category = forest.category_set != NO_SET
    of_zero = forest.zero_is_missing & forest.is_split & ~of_category
    column = forest.feature.copy()
    tables, width = [rows], forest.n_features
    for nodes, see in ((of_zero, _zero_as_missing), (of_category, _categories)):
        if nodes.any():
            features, place = np.unique(forest.feature[nodes], return_inverse=True)
            column[nodes] = width + place
            width += len(features)
            picked = graph.add("Gather", rows, graph.constant(features.astype(np.int64)), axis=1)
            tables.append(see(graph, picked))
    return (graph.add("Concat", *tables, axis=1) if len(tables) > 1 else rows), column


def _zero_as_missing(graph: Graph, picked: str) -> str:
    is_zero = graph.add("LessOrEqual", graph.add("Abs", picked), graph.number(NEXT_TO_ZERO))
    return graph.add("Where", is_zero, graph.number(np.nan), picked)


def _categories(graph: Graph, picked: str) -> str:
    """Cut off what comes after the point, and add 1: ONNX's own reference ends a set at 0."""
    below_zero = graph.add("Less", picked, graph.number(0.0))
    whole = graph.add("Where", below_zero, graph.add("Ceil", picked), graph.add("Floor", picked))
    return graph.add("Add", whole, graph.number(1.0))


def _splits(
    graph: Graph, forest: Forest, splits: IntArray, number: IntArray, column: IndexArray
) -> dict[str, Any]:
    """Return the attributes that say how samples go through the trees; `column` is of splits."""
    roots = forest.tree_start[:-1]
    lone = roots[~forest.is_split[roots]]  # leaves that are whole trees
    left, right = forest.left[splits], forest.right[splits]
    of_set = forest.category_set[splits] != NO_SET
    is_single = graph.dtype == np.float32
    threshold = float32_thresholds(forest.threshold) if is_single else forest.threshold
    show = np.zeros(len(lone), dtype=np.int64)
    start = number[roots]
    start[~forest.is_split[roots]] = len(splits) + np.arange(len(lone))
    attributes: dict[str, Any] = {
        "tree_roots": start,
        "nodes_featureids": np.append(column, show),
        "nodes_truenodeids": np.append(number[left], number[lone]),
        "nodes_falsenodeids": np.append(number[right], number[lone]),
        "nodes_trueleafs": np.append(~forest.is_split[left], show + 1),
        "nodes_falseleafs": np.append(~forest.is_split[right], show + 1),
        "nodes_missing_value_tracks_true": np.append(forest.missing_left[splits], show),
    }
    attributes = {key: values.astype(int).tolist() for key, values in attributes.items()}
    modes = np.append(np.where(of_set, MEMBER, AT_MOST), show).astype(np.uint8)
    attributes["nodes_modes"] = graph.tensor(modes)
    cuts = np.append(np.where(of_set, 0.0, threshold[splits]), show).astype(graph.dtype)
    attributes["nodes_splits"] = graph.tensor(cuts)
    if of_set.any():
        members = np.concatenate([_members(forest, h) for h in splits[of_set]])
        attributes["membership_values"] = graph.tensor(members.astype(graph.dtype))
    return attributes


def _members(forest: Forest, h: int) -> NDArray[Any]:
    """Return the categories, counted from 1, that a split sends left, and NaN, which ends them."""
    mine = forest.category_mask(forest.category_set[h])
    categories = np.flatnonzero(mine) + 1 if mine.any() else np.array([NOBODY])
    return np.append(categories, np.nan)


def _ensemble(
    graph: Graph,
    table: str,
    splits: dict[str, Any],
    weights: NDArray[Any],
    targets: IntArray,
    n_targets: int,
) -> str:
    return graph.add(
        "TreeEnsemble",
        table,
        **splits,
        leaf_weights=graph.tensor(weights.astype(graph.dtype)),
        leaf_targetids=targets.tolist(),
        n_targets=n_targets,
        aggregate_function=1,  # their sum
        post_transform=0,  # nothing
    )
