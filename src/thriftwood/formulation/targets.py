"""What the rows should be predicted as, and how much each row counts."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thriftwood.arrays import FloatArray, IndexArray, handed_over
from thriftwood.errors import InputError
from thriftwood.forest import Forest


def read_target(y: ArrayLike, forest: Forest, n_rows: int) -> IndexArray | FloatArray:
    """Return class numbers for a classifier, numbers for a regressor, checked.

    Parameters
    ----------
    y : array-like, shape (n_rows,)
        Labels as the model was trained on them, or numbers.
    """
    target = np.asarray(y)
    if target.ndim == 2 and target.shape[1] == 1:
        target = target[:, 0]
    if target.shape != (n_rows,):
        raise InputError(f"y has shape {target.shape}, but X has {n_rows} rows: pass one per row.")
    return _as_numbers(target) if forest.classes is None else _as_classes(target, forest.classes)


def read_weights(sample_weight: ArrayLike | None, n_rows: int) -> FloatArray:
    """Return how much each row counts, checked."""
    if sample_weight is None:
        return handed_over(np.ones(n_rows))
    try:
        weights = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("`sample_weight` holds something that is not a number.") from None
    if weights.shape != (n_rows,):
        raise InputError(
            f"`sample_weight` has shape {weights.shape}, but X has {n_rows} rows: pass one per row."
        )
    if (weights < 0).any() or not np.isfinite(weights.sum()):
        raise InputError("`sample_weight` must be finite and at least 0 everywhere.")
    if not weights.any():
        raise InputError("`sample_weight` is 0 everywhere: at least one row must count.")
    return handed_over(weights)


def _as_numbers(target: NDArray[np.generic]) -> FloatArray:
    try:
        numbers = target.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError("y holds something that is not a number.") from None
    if not np.isfinite(numbers).all():
        raise InputError("y holds NaN or infinity: leave out rows whose target is not known.")
    return handed_over(numbers)


def _as_classes(target: NDArray[np.generic], classes: NDArray[np.generic]) -> IndexArray:
    number_of = {label: number for number, label in enumerate(classes.tolist())}
    found, inverse = _distinct(target)
    unknown = [label for label in found if label not in number_of]
    if unknown:
        known = ", ".join(repr(label) for label in list(number_of)[:10])
        raise InputError(
            f"y holds the label {unknown[0]!r}, which the model does not know; "
            f"its classes are {known}."
        )
    numbers = np.array([number_of[label] for label in found], dtype=np.int32)
    return handed_over(numbers[inverse])


def _distinct(target: NDArray[np.generic]) -> tuple[list[object], NDArray[np.intp]]:
    try:
        found, inverse = np.unique(target, return_inverse=True)
    except TypeError:
        raise InputError("y mixes labels of different types, such as text and None.") from None
    return found.tolist(), inverse.reshape(-1)
