"""Numbers of nodes, and thresholds in numbers of another width, for several formats."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.adapters import trees_of_columns
from thriftwood.errors import UnsupportedModelError
from thriftwood.forest import Forest, preorder
from thriftwood.support.arrays import FloatArray, IntArray


def trees_to_export(model: object) -> Forest:
    """Return the trees of a model; refuse a pipeline, of which nothing else would be written."""
    forest = trees_of_columns(model)
    if forest.inputs is not None:
        raise UnsupportedModelError(
            "A pipeline's transformers cannot be exported, nor what fills in columns for a compact "
            "model with categories, and its trees take what these make: "
            "write the whole pipeline by `to_skops`, or export its last step, `pipeline[-1]`, and "
            "predict what `pipeline[:-1].transform` makes of samples. A CatBoost model with "
            "categories keeps their labels in its own files alone, by its `save_model`."
        )
    return forest


def tree_member(member: Any, holder: str) -> Forest:
    """Return a model of a stage that is a forest; refuse others, which `holder` cannot hold."""
    if not isinstance(member, Forest):
        raise UnsupportedModelError(
            f"The stages are of {type(member.model).__name__} models, which are no trees that can "
            f"be written as {holder}."
        )
    return member


def number_nodes(forest: Forest) -> tuple[IntArray, IntArray, IntArray]:
    """Count splits and leaves apart, for formats that keep them in arrays of their own.

    Returns the splits and the leaves as a traversal meets them that goes left first, and which of
    either each node is. Sets of categories belong to splits by their order: ONNX means the order of
    the list, but its own reference takes that of the traversal; here they are the same.
    """
    nodes = preorder(forest)
    splits, leaves = nodes[forest.is_split[nodes]], nodes[~forest.is_split[nodes]]
    number = np.empty(forest.n_nodes, dtype=np.int64)
    number[splits] = np.arange(len(splits))
    number[leaves] = np.arange(len(leaves))
    return splits, leaves, number


def float32_thresholds(threshold: FloatArray) -> NDArray[np.float32]:
    """Return thresholds in float32 that part all float32 numbers as these do.

    `value <= threshold` holds for the same float32 values as with the largest float32 number that
    is not above the threshold.
    """
    with np.errstate(over="ignore"):  # beyond float32 is infinity, and that is meant
        nearest = threshold.astype(np.float32)
        below = np.nextafter(nearest, np.float32(-np.inf))
    return np.where(nearest.astype(np.float64) > threshold, below, nearest)


def float64_thresholds(threshold: FloatArray, input_dtype: np.dtype[Any]) -> FloatArray:
    """Return thresholds that part all doubles as these do after a cast to `input_dtype`.

    A double is cast to a float32 number that is at most the threshold exactly if it is at most the
    middle between two neighbours of float32; the cast itself says where the middle goes.
    """
    if input_dtype == np.float64:
        return threshold
    below = float32_thresholds(threshold)
    with np.errstate(over="ignore"):
        above = np.nextafter(below, np.float32(np.inf))
        middle = (_in_reach(below) + _in_reach(above)) / 2
        goes_down = middle.astype(np.float32) <= below
    highest = np.where(goes_down, middle, np.nextafter(middle, -np.inf))
    return np.where(below == np.inf, np.inf, highest)


def _in_reach(single: NDArray[np.float32]) -> FloatArray:
    """Return float32 numbers as doubles, and for infinity 2**128, the number that would be next."""
    return np.clip(single.astype(np.float64), -(2.0**128), 2.0**128)
