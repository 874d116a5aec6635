"""What a model gets wrong and what it costs, on rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import thriftwood as tw
from thriftwood.cli.inputs import Inputs, JudgedRows
from thriftwood.cli.words import amount, number, share


class Outcome(NamedTuple):
    """Means over rows.

    Attributes
    ----------
    error : float
        Share of rows that are misclassified; for regressors the mean squared error.
    cost : float
        Mean bill of a row, its part of what is paid for the model included.
    """

    error: float
    cost: float

    def in_words(self, unit: str, is_classifier: bool) -> str:
        """Return both for people."""
        error = f"{share(self.error)} wrong"
        if not is_classifier:
            error = f"mean squared error {number(self.error)}"
        return f"{error} at {amount(self.cost, unit)}"


def measured_on(rows: JudgedRows, inputs: Inputs, model: Any = None) -> Outcome:
    """Predict rows and add up their bills.

    Parameters
    ----------
    rows : JudgedRows
    inputs : Inputs
        What has the prices, and the model unless that is another.
    model : optional
    """
    model = inputs.model if model is None else model
    predicted, right = _predictor(model, inputs.jobs).predict(rows.X), np.asarray(rows.y)
    wrong = predicted != right if inputs.forest.is_classifier else (predicted - right) ** 2
    bill = tw.feature_bill(model, rows.X, inputs.costs, n_jobs=inputs.jobs)
    return Outcome(
        error=float(np.average(wrong, weights=rows.weight)),
        cost=float(np.average(bill.per_sample, weights=rows.weight)) + bill.model_cost,
    )


def _predictor(model: Any, jobs: int | None) -> Any:
    """Return something whose `predict` gives labels or numbers, which a bare booster's does not."""
    from thriftwood.adapters import read_forest

    if isinstance(model, tw.CascadeClassifier):
        return model
    return tw.ForestModel(read_forest(model), jobs)
