"""Forests as models of treelite."""

from typing import Any

import numpy as np

from thriftwood.errors import UnsupportedModelError
from thriftwood.forest import (
    LEAF,
    NEXT_TO_ZERO,
    NO_SET,
    Forest,
)
from thriftwood.formats.layout import float64_thresholds, trees_to_export
from thriftwood.support.arrays import FloatArray
from thriftwood.support.libraries import library


def to_treelite(model: object) -> Any:
    """Return a model as a `treelite.Model` of doubles.

    Give it samples of doubles: they end in the same leaves as in the model, where a categorical
    column holds whole numbers, infinity or NaN. (Treelite takes -0.5 for no category, libraries
    that cast for category 0.) Splits that take 0 for missing are written where one comparison can
    say the same, and refused otherwise.

    Parameters
    ----------
    model : a fitted model, or a `Forest`

    Returns
    -------
    treelite.Model
        Its predictions are class probabilities, of two classes with one score only that of the
        second, or numbers. (Its softmax works in float32.) `model.serialize(file)` keeps it.
    """
    treelite = library("treelite", "treelite")
    forest = trees_to_export(model)
    threshold = _one_threshold(forest)
    builder = _builder(treelite.model_builder, forest)
    for tree in range(forest.n_trees):
        builder.start_tree()
        first = int(forest.tree_start[tree])
        for h in range(first, int(forest.tree_start[tree + 1])):
            builder.start_node(h - first)
            if forest.left[h] == LEAF:
                said = forest.values[h].tolist()
                builder.leaf(said if len(said) > 1 else said[0])
            else:
                _add_split(builder, forest, h, first, float(threshold[h]))
            builder.end_node()
        builder.end_tree()
    return builder.commit()


def _builder(build: Any, forest: Forest) -> Any:
    """Return treelite's builder, told how leaves become predictions."""
    n_outputs = forest.n_outputs
    links = MANY_OUTPUTS if n_outputs > 1 else ONE_OUTPUT
    if forest.link not in links:
        outputs = "several outputs" if n_outputs > 1 else "one output"
        raise UnsupportedModelError(f"Treelite has no {forest.link!r} link for {outputs}.")
    two_classes = n_outputs == 1 and forest.link == "logistic" and forest.is_classifier
    task = "kMultiClf" if n_outputs > 1 else "kBinaryClf" if two_classes else "kRegressor"
    class_id = -1 if n_outputs > 1 else 0  # all classes at once, or the only one
    return build.ModelBuilder(
        threshold_type="float64",
        leaf_output_type="float64",
        metadata=build.Metadata(
            num_feature=forest.n_features,
            task_type=task,
            average_tree_output=forest.combine == "mean",
            num_target=1,
            num_class=[n_outputs],
            leaf_vector_shape=(1, n_outputs),
        ),
        tree_annotation=build.TreeAnnotation(
            num_tree=forest.n_trees,
            target_id=[0] * forest.n_trees,
            class_id=[class_id] * forest.n_trees,
        ),
        postprocessor=build.PostProcessorFunc(name=links[forest.link]),
        base_scores=forest.bias.tolist(),
    )


MANY_OUTPUTS = {
    "identity": "identity_multiclass",
    "logistic": "multiclass_ova",
    "softmax": "softmax",
}
ONE_OUTPUT = {"identity": "identity", "logistic": "sigmoid", "exp": "exponential"}


def _add_split(builder: Any, forest: Forest, h: int, first: int, threshold: float) -> None:
    where: dict[str, Any] = {
        "feature_id": int(forest.feature[h]),
        "default_left": bool(forest.missing_left[h]),
        "left_child_key": int(forest.left[h]) - first,
        "right_child_key": int(forest.right[h]) - first,
    }
    if forest.category_set[h] == NO_SET:
        builder.numerical_test(threshold=threshold, opname="<=", **where)
    else:
        chosen = np.flatnonzero(forest.category_mask(forest.category_set[h])).tolist()
        builder.categorical_test(category_list=chosen, category_list_right_child=False, **where)
    if forest.gains is not None:
        builder.gain(float(forest.gains[h]))


def _one_threshold(forest: Forest) -> FloatArray:
    """Return thresholds that send every double where the forest sends it, or refuse.

    A split that takes zeros for missing sends them left, or right, with the missing values. With a
    threshold among these zeros, or on the side of them where it changes nothing, one comparison
    says the same; otherwise what goes left are two pieces of the line.
    """
    zero = forest.zero_is_missing & (forest.category_set == NO_SET)
    left, right = zero & forest.missing_left, zero & ~forest.missing_left
    at = forest.threshold
    two_pieces = (left & (at < -NEXT_TO_ZERO)) | (right & (at > NEXT_TO_ZERO))
    if two_pieces.any():
        raise UnsupportedModelError(
            f"{np.count_nonzero(two_pieces)} of the {forest.n_splits} splits take 0 for a missing "
            "value in a way that treelite has no comparison for: use `to_c`, `to_onnx` or "
            "`to_json`."
        )
    threshold = float64_thresholds(at, forest.input_dtype)
    last_zero = float64_thresholds(np.array([NEXT_TO_ZERO]), forest.input_dtype)[0]
    last_below = np.nextafter(-last_zero, -np.inf)
    threshold = np.where(left, np.maximum(threshold, last_zero), threshold)
    return np.where(right, np.minimum(threshold, last_below), threshold)
