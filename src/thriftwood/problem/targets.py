"""Targets of samples, and how much each of them counts, in which tree."""

import math
import reprlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thriftwood.adapters import BootstrapSamples
from thriftwood.errors import InputError
from thriftwood.forest import Forest
from thriftwood.forest.table import refuse_containers
from thriftwood.problem.scaling import whole_numbers
from thriftwood.support.arrays import FloatArray, IndexArray, read_only
from thriftwood.support.validation import (
    check_mask,
    chosen,
    is_missing,
    numbered,
    numbers,
    one_number_from_zero,
)

ClassWeight = str | Mapping[Any, float] | None
UNIFORM = "uniform"
CountArray = NDArray[np.uint16]
MOST_WEIGHT = 2**50  # all together
# Weights beyond two to this, either way, are divided by a power of two before all else.
MOST_EXPONENT = 500
SAMPLES = ("all", "in_bag", "out_of_bag")


def read_target(y: ArrayLike, forest: Forest, n_samples: int) -> IndexArray | FloatArray:
    """Return class numbers for a classifier, numbers for a regressor, checked."""
    target = one_target_each(y, n_samples)
    if forest.classes is None:
        targets = numbers(target, "y")
        if not np.isfinite(targets).all():
            raise InputError(
                "`y` holds NaN or infinity: leave out samples whose target is not known."
            )
        return read_only(targets)
    check_known(target)
    try:
        found, inverse = np.unique(target, return_inverse=True)
    except TypeError:
        raise InputError("`y` mixes labels of different types, such as text and 1.") from None
    class_of = np.array(class_numbers(found.tolist(), forest.classes, "y"), dtype=np.int32)
    return read_only(class_of[inverse.reshape(-1)])


def one_target_each(y: ArrayLike, n_samples: int) -> NDArray[Any]:
    """Return targets as an array, or refuse those that are not one for each sample."""
    if y is None:
        raise InputError("`y` is None: pass the target of every sample.")
    refuse_containers(y, "`y`")
    check_mask(y, "y")
    try:
        target = np.asarray(y)
    except ValueError:
        raise InputError(
            "`y` is a list of lists of different lengths: pass one target each."
        ) from None
    if target.ndim == 2 and target.shape[1] == 1:
        target = target[:, 0]
    if target.shape != (n_samples,):
        raise InputError(
            f"`y` has shape {target.shape}, but X has {n_samples} samples: pass one label or "
            "number each."
        )
    return target


def check_known(target: NDArray[Any]) -> None:
    """Refuse targets of which some are missing."""
    if target.dtype == object:
        unknown = np.flatnonzero([is_missing(one) for one in target])
    else:
        unknown = np.flatnonzero(target != target)  # only NaN differs from itself
    if len(unknown):
        raise InputError(
            f"`y` is missing in row {unknown[0]}: leave out samples whose target is not known."
        )


def read_queries(qid: ArrayLike | None, n_samples: int) -> IndexArray | None:
    """Return the number of each sample's query, if samples are documents of queries."""
    return None if qid is None else read_only(numbered(qid, n_samples, "qid"))


def read_weights(sample_weight: ArrayLike | None, n_samples: int) -> FloatArray:
    """Return sample weights, checked, as whole numbers in the same ratios."""
    if sample_weight is None:
        return read_only(np.ones(n_samples))
    weights = checked_weights(sample_weight, n_samples)
    if not weights.any():
        raise InputError("`sample_weight` is 0 everywhere: some sample must count.")
    return in_whole_numbers(weights)


def checked_weights(sample_weight: ArrayLike, n_samples: int) -> FloatArray:
    """Return the weights of samples, or refuse what is no weight."""
    weights = numbers(sample_weight, "sample_weight")
    if weights.shape != (n_samples,):
        raise InputError(
            f"`sample_weight` has shape {weights.shape}, but X has {n_samples} samples: one each."
        )
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong):
        raise InputError(
            f"`sample_weight` is {weights[wrong[0]]} in row {wrong[0]}: it must be finite and at "
            "least 0 everywhere."
        )
    return weights


def read_loss_weights(
    class_weight: ClassWeight,
    forest: Forest,
    target: IndexArray | FloatArray,
    weights: FloatArray,
) -> FloatArray:
    """Return how much the loss of each sample counts, checked, as whole numbers in the same ratios.

    `class_weight` is as in `pruning_problem`, but for None, which weighs all classes alike;
    `weights` are from `read_weights`.
    """
    if class_weight is None or is_uniform(class_weight):
        return weights
    if isinstance(class_weight, str) and class_weight == "balanced" and forest.classes is not None:
        per_class = _balanced(target, weights, len(forest.classes))
    else:
        per_class = read_class_weights(class_weight, forest)
    per_row = np.where(weights > 0, per_class[target], 0.0)
    if not per_row.any():
        raise InputError(
            "`class_weight` is 0 for every sample that counts: weigh one class at least.",
        )
    return in_whole_numbers(weights * in_whole_numbers(per_row))


def is_uniform(class_weight: ClassWeight) -> bool:
    """Return True where all classes are to weigh the same, whatever the model was trained with."""
    return isinstance(class_weight, str) and class_weight == UNIFORM


def read_class_weights(class_weight: ClassWeight, forest: Forest) -> FloatArray:
    """Return the weight of each class, from a mapping."""
    if forest.classes is None:
        raise InputError("`class_weight` is for classifiers: a regressor has `sample_weight` only.")
    if not isinstance(class_weight, Mapping):
        raise InputError(
            f"`class_weight` is {reprlib.repr(class_weight)}: pass 'balanced', a mapping from "
            "class to weight, 'uniform' or None."
        )
    per_class = np.ones(len(forest.classes))
    advice = "It is how much a sample of this class counts."
    per_class[class_numbers(class_weight, forest.classes, "class_weight")] = [
        one_number_from_zero(weight, f"class_weight[{label!r}]", advice)
        for label, weight in class_weight.items()
    ]
    return per_class


def in_whole_numbers(weights: FloatArray) -> FloatArray:
    """Return whole numbers in the same ratios, which add up exactly in doubles, if these fit.

    Weights of more digits stay as they are, but for a power of two.
    """
    exponent = math.frexp(float(weights.max()))[1]
    if abs(exponent) > MOST_EXPONENT:
        weights = np.ldexp(weights, -exponent)
    whole, unit, lost = whole_numbers(weights, MOST_WEIGHT)
    if lost or (whole * unit.numerator / unit.denominator != weights).any():
        return read_only(np.ldexp(weights, -math.frexp(float(weights.max()))[1]))
    return read_only(whole.astype(np.float64))


def _balanced(target: IndexArray | FloatArray, weights: FloatArray, n_classes: int) -> FloatArray:
    """Return weights that make all classes with samples count the same, whole if they fit."""
    total = np.bincount(target, weights=weights, minlength=n_classes)
    are_whole = (total == np.rint(total)).all()
    common = min(math.lcm(*total[total > 0].astype(np.int64)), MOST_WEIGHT) if are_whole else 1
    return np.divide(common, total, out=np.zeros(n_classes), where=total > 0)


def class_numbers(labels: Iterable[object], classes: NDArray[np.generic], name: str) -> list[int]:
    """Return class numbers of labels in the user's argument `name`, or refuse them."""
    number_of = {label: number for number, label in enumerate(classes.tolist())}
    unknown = [label for label in labels if label not in number_of]
    if unknown:
        known = ", ".join(repr(label) for label in list(number_of)[:10])
        raise InputError(
            f"`{name}` holds the label {unknown[0]!r}, which the model does not know; "
            f"its classes are {known}."
        )
    return [number_of[label] for label in labels]


def times_counted(
    n_trees: int, n_samples: int, samples: str = "all", bootstrap: BootstrapSamples | None = None
) -> CountArray:
    """Return how often each sample counts in each tree, shape (n_trees, n_samples).

    All once, in the memory of one; those in a tree's bootstrap sample, as often as drawn; or the
    others once.
    """
    if isinstance(samples, str) and samples == "all":
        return np.broadcast_to(np.ones(1, dtype=np.uint16), (n_trees, n_samples))
    chosen(samples, SAMPLES, "samples")
    if bootstrap is None:
        raise InputError(
            "The model does not know which samples its trees were grown on, so "
            f"samples={samples!r} has no meaning. Use samples='all'."
        )
    if bootstrap.n_samples != n_samples:
        raise InputError(
            f"The model was trained on {bootstrap.n_samples} samples, but X has {n_samples}: for "
            f"samples={samples!r} pass the samples that it was trained on, in their order."
        )
    times = np.zeros((n_trees, n_samples), dtype=np.uint16)
    for tree, drawn_by_tree in enumerate(bootstrap.of_trees):
        drawn = np.bincount(drawn_by_tree, minlength=n_samples)
        times[tree] = drawn if samples == "in_bag" else drawn == 0
    if not times.any():
        raise InputError("Every tree was grown on all samples, so none is out of bag.")
    return times
