"""What `thriftwood train` fits: the only place here, with the demo, that trains models."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

import thriftwood as tw
from thriftwood.cli.inputs import JudgedRows
from thriftwood.errors import InputError, ThriftwoodError

if TYPE_CHECKING:
    from thriftwood.costs import Costs

MOST_CLASSES = 20  # distinct whole numbers that are still taken for classes
N_TREES = 40  # of a forest


class Kind(StrEnum):
    """What can be trained."""

    budget_forest = "budget-forest"
    forest = "forest"
    boosting = "boosting"


class Task(StrEnum):
    """What is predicted."""

    classification = "classification"
    regression = "regression"


def usual_task(y: Any) -> Task:
    """Return what a target looks like: text, truth or few whole numbers are classes."""
    if y.dtype.kind not in "iuf":
        return Task.classification
    distinct = np.unique(y)
    is_few = len(distinct) <= MOST_CLASSES and bool((distinct == np.round(distinct)).all())
    return Task.classification if is_few else Task.regression


def check_task(y: Any, task: Task, kind: Kind) -> None:
    """Refuse what cannot be trained on a target."""
    if task is Task.regression and y.dtype.kind not in "iufb":
        raise InputError("The target holds text, so that --task can only be classification.")
    if task is Task.regression and kind is Kind.budget_forest:
        raise InputError(
            "A budget-forest predicts classes: pass --model forest or --model boosting for numbers."
        )
    if task is Task.classification and len(np.unique(y)) < 2:
        raise InputError("All rows have the same class, so that there is nothing to learn.")


def check_features(rows: JudgedRows, kind: Kind) -> None:
    """Refuse numbers beyond those of a float32, which the trees of a forest cannot compare."""
    if kind is Kind.boosting:
        return
    for name in rows.X.columns:
        values = rows.X[name].to_numpy()
        wrong = values[np.abs(values) > np.finfo(np.float32).max]
        if len(wrong):
            raise InputError(
                f"The column {name!r} holds {wrong[0]}, which is too large for a forest: mend it, "
                "leave the cell empty, or pass --model boosting."
            )


def usual_kind(task: Task) -> Kind:
    """Return what is trained where nobody says otherwise."""
    return Kind.budget_forest if task is Task.classification else Kind.boosting


def fitted(
    rows: JudgedRows,
    kind: Kind,
    task: Task,
    costs: Costs | None,
    class_weight: Any,
    seed: int,
    jobs: int | None,
) -> Any:
    """Return a model, trained."""
    model = _untrained(kind, task, class_weight, seed, jobs)
    prices = {"costs": costs} if kind is Kind.budget_forest else {}
    try:
        return model.fit(rows.X, rows.y, rows.weight, **prices)
    except ThriftwoodError:
        raise
    except ValueError as error:  # of scikit-learn, which sees more than was checked
        said = str(error).strip().splitlines()[0].rstrip(".")
        raise InputError(f"From these rows no model can be trained: {said}.") from None


def _untrained(kind: Kind, task: Task, class_weight: Any, seed: int, jobs: int | None) -> Any:
    from sklearn import ensemble

    options: dict[str, Any] = {"random_state": seed}
    if task is Task.classification:
        options["class_weight"] = class_weight
    if kind is Kind.budget_forest:
        # Information per price: with prices that differ it beats the other measures.
        return tw.BudgetForestClassifier(N_TREES, impurity="entropy", n_jobs=jobs, **options)
    if kind is Kind.forest:
        # Trees that may choose among all features agree on the good ones: more can be saved.
        options |= {"n_estimators": N_TREES, "max_features": None, "n_jobs": jobs}
    ends = "Classifier" if task is Task.classification else "Regressor"
    begins = "RandomForest" if kind is Kind.forest else "HistGradientBoosting"
    return getattr(ensemble, begins + ends)(**options)


def held_out_quarter(y: Any, task: Task, seed: int) -> tuple[Any, Any]:
    """Return the numbers of the rows to train on, and of a quarter to judge by.

    Classes have the same shares in both.
    """
    from sklearn.model_selection import train_test_split

    if len(y) < 8:
        raise InputError(f"There are only {len(y)} rows: too few to hold some out.")
    labels = y if task is Task.classification else None
    if labels is not None and np.unique(labels, return_counts=True)[1].min() < 2:
        rare = min(np.unique(labels), key=lambda label: int((labels == label).sum()))
        raise InputError(
            f"Only one row has the class {rare!s}: training and validation need one each. Leave it "
            "out, or pass --validation, or --task regression if these are numbers."
        )
    if labels is not None and len(np.unique(labels)) > len(y) // 4:
        raise InputError(
            f"There are {len(np.unique(labels))} classes in {len(y)} rows: a quarter of the rows "
            "cannot have them all. Pass more rows, or --validation, or --task regression if these "
            "are numbers."
        )
    train, valid = train_test_split(
        np.arange(len(y)), test_size=0.25, stratify=labels, random_state=seed
    )
    return np.sort(train), np.sort(valid)
