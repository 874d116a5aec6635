"""What the rows should be predicted as, and how much each row counts."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thriftwood.arguments import numbers
from thriftwood.arrays import FloatArray, IndexArray, handed_over
from thriftwood.errors import InputError
from thriftwood.forest import Forest
from thriftwood.formulation.scaling import whole_numbers


def read_target(y: ArrayLike, forest: Forest, n_rows: int) -> IndexArray | FloatArray:
    """Return class numbers for a classifier, numbers for a regressor, checked.

    Parameters
    ----------
    y : array-like, shape (n_rows,)
        Labels as the model was trained on them, or numbers.
    """
    if y is None:
        raise InputError("`y` is None: pass the label of every row.")
    try:
        target = np.asarray(y)
    except ValueError:
        raise InputError("`y` is a list of lists of different lengths: pass one per row.") from None
    if target.ndim == 2 and target.shape[1] == 1:
        target = target[:, 0]
    if target.shape != (n_rows,):
        raise InputError(
            f"`y` has shape {target.shape}, but X has {n_rows} rows: pass one label or number per "
            "row."
        )
    return _as_targets(target) if forest.classes is None else _as_classes(target, forest.classes)


def read_weights(sample_weight: ArrayLike | None, n_rows: int) -> FloatArray:
    """Return how much each row counts, checked, as whole numbers in the same ratios."""
    if sample_weight is None:
        return handed_over(np.ones(n_rows))
    weights = numbers(sample_weight, "sample_weight")
    if weights.shape != (n_rows,):
        raise InputError(
            f"`sample_weight` has shape {weights.shape}, but X has {n_rows} rows: pass one per row."
        )
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong):
        raise InputError(
            f"`sample_weight` is {weights[wrong[0]]} in row {wrong[0]}: it must be finite and at "
            "least 0 everywhere."
        )
    if not weights.any():
        raise InputError("`sample_weight` is 0 everywhere: at least one row must count.")
    # Only ratios matter, and whole numbers below 2**53 add up exactly even in doubles.
    whole, _ = whole_numbers(weights, 2**50)
    return handed_over((whole // np.gcd.reduce(whole)).astype(np.float64))


def _as_targets(target: NDArray[np.generic]) -> FloatArray:
    targets = numbers(target, "y")
    if not np.isfinite(targets).all():
        raise InputError("`y` holds NaN or infinity: leave out rows whose target is not known.")
    return handed_over(targets)


def _as_classes(target: NDArray[np.generic], classes: NDArray[np.generic]) -> IndexArray:
    number_of = {label: number for number, label in enumerate(classes.tolist())}
    unlabelled = np.flatnonzero(target != target)  # only NaN differs from itself
    if len(unlabelled):
        raise InputError(
            f"`y` is missing in row {unlabelled[0]}: leave out rows whose label is not known."
        )
    found, inverse = _distinct(target)
    unknown = [label for label in found if label not in number_of]
    if unknown:
        known = ", ".join(repr(label) for label in list(number_of)[:10])
        raise InputError(
            f"`y` holds the label {unknown[0]!r}, which the model does not know; "
            f"its classes are {known}."
        )
    class_of = np.array([number_of[label] for label in found], dtype=np.int32)
    return handed_over(class_of[inverse])


def _distinct(target: NDArray[np.generic]) -> tuple[list[object], NDArray[np.intp]]:
    try:
        found, inverse = np.unique(target, return_inverse=True)
    except TypeError:
        raise InputError("`y` mixes labels of different types, such as text and None.") from None
    return found.tolist(), inverse.reshape(-1)
