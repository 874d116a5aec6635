"""Errors of each class at the points of a path: how many, and what they are taken for."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.errors import InputError
from thriftwood.evaluation import Evaluation
from thriftwood.problem import SampleData
from thriftwood.report.page.subject import Subject
from thriftwood.support.arrays import FloatArray
from thriftwood.support.axes import shortened

MOST_LETTERS = 24  # of the name of a class


@dataclass(frozen=True)
class ClassErrors:
    """Errors of each class along a path; nothing where an evaluation has no confusion matrices."""

    names: list[str]
    counts: list[float]  # samples of each class, by their weights
    positive: int | None  # of two classes the one to be found
    before: dict[str, Any]  # of the model before pruning, as `at` returns it for points
    measured: Evaluation | None = None
    # `Evaluation.calibration` on samples that training did not see, from before pruning.
    tenths: FloatArray | None = None

    @classmethod
    def of(cls, subject: Subject, positive: Any) -> ClassErrors:
        """Read the errors of points; `positive` is a label, or None for the rarer class."""
        classes = subject.forest.classes
        number = read_positive(classes, subject.data, positive)
        measured = subject.validation or subject.own
        confusion = None if measured is None else measured.original.confusion
        if measured is None or confusion is None or classes is None:
            return cls([], [], None, {})
        names = [shortened(str(label), MOST_LETTERS, inside=True) for label in classes.tolist()]
        of_class = confusion.sum(axis=1)
        counts = of_class / of_class.sum() * measured.n_samples
        original, is_money = measured.original, measured.total_cost is not None
        before = _errors(confusion) | _sums(original.cost, original.score, is_money)
        found = cls(names, list(map(float, counts)), number, before, measured)
        if number is None or measured is not subject.judge or measured.calibration is None:
            return found
        tenths = np.concatenate([[original.calibration], measured.calibration])
        found = replace(found, tenths=tenths)
        before |= found.calibration(0)
        return found

    def at(self, index: int) -> dict[str, Any]:
        """Return the share of each class that is wrong, and what most of these are taken for.

        With `error_costs` also what tests and errors cost.
        """
        one = self.measured
        if one is None or one.confusion is None:
            return {}
        is_money = one.total_cost is not None
        sums = _sums(one.cost[index], one.score[index], is_money)
        return _errors(one.confusion[index]) | sums | self.calibration(1 + index)

    def calibration(self, place: int) -> dict[str, Any]:
        """Return tenths of the probability of the class to be found: mean, share that is, weight.

        Place 0 is the model before pruning.
        """
        if self.tenths is None:
            return {}
        weight, probability, true = self.tenths[place][self.tenths[place][:, 0] > 0].T
        tenths = np.column_stack([probability / weight, true / weight])
        if self.positive == 0:
            tenths = 1.0 - tenths
        return {"calibration": np.column_stack([tenths, weight]).tolist()}


def read_positive(classes: NDArray[Any] | None, data: SampleData, positive: Any) -> int | None:
    """Return the number of the class to be found: of two the rarer one, unless another is named."""
    if classes is None or len(classes) != 2:
        if positive is not None:
            raise InputError(
                "`positive` names one of two classes, and this model does not have two.", "positive"
            )
        return None
    if positive is None:
        weight = np.bincount(data.target.astype(np.int64), data.sample_weights, 2)
        return int(weight[1] <= weight[0])
    labels = [str(label) for label in classes.tolist()]
    if str(positive) not in labels:
        words = f"name one of the classes {' and '.join(labels)}."
        raise InputError(f"`positive` is {reprlib.repr(positive)}: {words}", "positive")
    return labels.index(str(positive))


def _sums(cost: float, score: float, is_money: bool) -> dict[str, float]:
    """Return the two sums that `error_costs` add up: mean bill, and mean cost of errors."""
    return {"tests": float(cost), "errors_cost": 0.0 - float(score)} if is_money else {}


def _errors(confusion: FloatArray) -> dict[str, Any]:
    """Return the errors in one matrix; None where a class has no samples, or no errors."""
    of_class, wrong = confusion.sum(axis=1), confusion.copy()
    np.fill_diagonal(wrong, 0.0)
    shares = [
        float(row.sum() / total) if total > 0 else None
        for row, total in zip(wrong, of_class, strict=True)
    ]
    taken_for = [int(row.argmax()) if row.any() else None for row in wrong]
    return {"class_error": shares} | ({"taken_for": taken_for} if len(shares) > 2 else {})
