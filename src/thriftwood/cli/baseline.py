"""Whether a model that was trained here knows more than nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from thriftwood.cli.fitting import Kind
from thriftwood.cli.inputs import Inputs, JudgedRows
from thriftwood.cli.suggestion import Frontier


def doubt_about(found: Frontier, inputs: Inputs, kind: Kind | None) -> str | None:
    """Return a sentence where the model is no better than the same answer for all rows.

    Parameters
    ----------
    found : Frontier
        With what was measured on the validation rows.
    inputs : Inputs
    kind : Kind, optional
        What was asked for; None is the usual.
    """
    # Classes that weigh more are worth some errors on others: errors alone say little then.
    if found.measured is None or inputs.validation is None or inputs.class_weight is not None:
        return None
    is_class = inputs.forest.is_classifier
    rows, judges = inputs.rows, inputs.validation
    answer = _commonest(rows) if is_class else np.average(rows.y, weights=rows.weight)
    wrong = judges.y != answer if is_class else (judges.y - answer) ** 2
    if found.measured.original.error < np.average(wrong, weights=judges.weight):
        return None
    same = f"the class {answer}, the commonest" if is_class else "the mean"
    others = [one.value for one in (Kind.forest, Kind.boosting) if one is not kind]
    advice = f"try --model {others[0]}"
    if is_class and kind in (None, Kind.budget_forest):
        advice = f"a budget-forest may see nothing but features that are free: {advice}"
    return f"On the validation rows the model is no better than always saying {same}; {advice}."


def _commonest(rows: JudgedRows) -> Any:
    labels, numbers = np.unique(rows.y, return_inverse=True)
    return labels[np.bincount(numbers, weights=rows.weight).argmax()]
