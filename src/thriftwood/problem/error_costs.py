"""Costs of wrong answers, in the unit of the prices: what is least in sum is then money.

A node, or an ensemble, answers with the class of least expected cost under its probabilities (C.
Elkan, "The foundations of cost-sensitive learning", 2001).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thriftwood.errors import InputError
from thriftwood.problem.targets import class_numbers
from thriftwood.support.arrays import FloatArray, IntArray, read_only
from thriftwood.support.validation import numbers, one_number_from_zero

AnyErrorCosts = float | Mapping[Any, float] | ArrayLike | None
ERROR_COSTS = "error_costs"


class ErrorCosts(NamedTuple):
    """Costs of wrong answers as a user gives them, to prune by as by any loss, or to score by.

    Of a matrix that was read before, `classes` are those of its rows: models may know fewer. Where
    answers are scored, they may be those of recalibrated probabilities.
    """

    given: Any
    classes: NDArray[Any] | None = None
    recalibrates: bool = False


def read_error_costs(own: ErrorCosts, classes: NDArray[Any] | None) -> FloatArray:
    """Return the matrix of error costs, shape (n_classes, n_classes): true class, answer."""
    error_costs = own.given
    if classes is None:
        raise InputError(
            "`error_costs` are for classifiers: a regressor's errors are counted by its `loss`.",
            "error_costs",
        )
    if own.classes is not None:
        known = np.isin(own.classes, classes)
        return read_only(own.given[np.ix_(known, known)])
    n_classes = len(classes)
    wrong = 1.0 - np.eye(n_classes)
    if isinstance(error_costs, Mapping):
        place = class_numbers(error_costs, classes, "error_costs")
        missing = sorted(set(range(n_classes)) - set(place))
        if missing:
            label = classes.tolist()[missing[0]]
            raise InputError(
                f"`error_costs` do not say what a wrong answer costs where {label!r} is true: give "
                "it, 0 if it costs nothing.",
                "error_costs",
            )
        of_class = np.empty(n_classes)
        of_class[place] = [
            _one_cost(cost, f"error_costs[{label!r}]") for label, cost in error_costs.items()
        ]
        return read_only(of_class[:, None] * wrong)
    try:
        is_number = np.ndim(error_costs) == 0
    except ValueError:
        raise InputError(
            f"`error_costs` have rows of different lengths: pass {n_classes} rows, one for each "
            f"true class, each with {n_classes} columns, one for each answer.",
            "error_costs",
        ) from None
    if is_number:
        return read_only(_one_cost(error_costs, "error_costs") * wrong)
    matrix = numbers(error_costs, "error_costs")
    if matrix.shape != (n_classes, n_classes):
        raise InputError(
            f"`error_costs` have shape {matrix.shape}, but the model knows {n_classes} classes: "
            "pass a row for each true class, with a column for each answer.",
            "error_costs",
        )
    bad = np.argwhere(~(np.isfinite(matrix) & (matrix >= 0)))
    if len(bad):
        row, column = bad[0].tolist()
        raise InputError(
            f"`error_costs` are {matrix[row, column]} in row {row}, column {column}: costs must be "
            "finite and at least 0.",
            "error_costs",
        )
    return read_only(matrix)


def least_cost_answers(probabilities: FloatArray, matrix: FloatArray) -> IntArray:
    """Return the class of least expected cost; the last axis of probabilities has the classes."""
    return (probabilities @ matrix).argmin(axis=-1)


def answers_of(
    probabilities: FloatArray,
    error_costs: FloatArray | None = None,
    recalibration: Any = None,
) -> IntArray:
    """Return the likeliest class, or where errors have costs that of least expected cost.

    `recalibration` makes the probabilities that say what to do, a function.
    """
    if error_costs is None:
        return probabilities.argmax(axis=-1)
    likely = probabilities if recalibration is None else recalibration(probabilities)
    return least_cost_answers(likely, error_costs)


def cost_of_answers(matrix: FloatArray, values: FloatArray) -> FloatArray:
    """Return the cost of each node's answer for a sample of each class."""
    return matrix[:, least_cost_answers(values, matrix)].T


def _one_cost(cost: Any, name: str) -> float:
    return one_number_from_zero(cost, name, "It is what a wrong answer costs.")
