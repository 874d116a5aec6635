"""Training of `thriftwood train`: the only place here, with the demo, that fits models."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import thriftwood as tw
from thriftwood.cli.console import Console
from thriftwood.cli.inputs import (
    Inputs,
    Samples,
    check_prices,
    read_class_weight,
    read_costs,
    with_target,
    without,
)
from thriftwood.cli.options import Request
from thriftwood.cli.text import count
from thriftwood.errors import InputError, ThriftwoodError

if TYPE_CHECKING:
    from thriftwood.costs import Costs
    from thriftwood.evaluation import Evaluation

MODEL, TRAIN, VALIDATION = "model.skops", "train.parquet", "validation.parquet"
TARGET = "y"  # the target of an .npz file
BUDGET_FOREST, FOREST, BOOSTING = KINDS = ("budget-forest", "forest", "boosting")
CLASSIFICATION, REGRESSION = TASKS = ("classification", "regression")
MOST_CLASSES = 20  # distinct whole numbers that are still taken for classes
N_TREES = 40  # of a forest
N_FOLDS = 5
LOSS_NAMES = {CLASSIFICATION: "log loss", REGRESSION: "mean squared error"}


def write_model_and_samples(
    request: Request, folder: Path, kind: str | None, task: str | None, seed: int, console: Console
) -> tuple[Request, list[str]]:
    """Train, and write the model; without a validation set hold one out, and write both parts.

    Returns a request for what was written, and lines that say what was done.
    """
    costs, samples = read_costs(request), _read(request, console)
    usual = task or usual_task(samples.y)
    kinds = [kind] if kind is not None else _kinds(usual, request.loss)
    _check_target(samples.y, usual, kind)
    _check_features(samples.X, kinds)
    check_prices(costs, request.costs, samples.X)
    lines = []
    if task is None:
        n_classes = len(np.unique(samples.y))
        taken = "numbers" if usual == REGRESSION else f"{n_classes} classes"
        lines.append(f"Took {request.target or TARGET} for {taken}; --task says otherwise.")
    held_out = ""
    if request.validation is None:
        train, valid = _held_out_quarter(samples.y, usual, seed)
        request = _with_names(request, samples)
        for name, some in ((TRAIN, train), (VALIDATION, valid)):
            _write_samples(_taken(samples, some), request, folder / name)
        samples = _taken(samples, train)
        held_out = f"; {count(len(valid), 'sample')} held out for validation"
        request = replace(request, data=folder / TRAIN, validation=folder / VALIDATION, drop=None)
    classes = sorted(set(samples.y.tolist())) if usual == CLASSIFICATION else None
    class_weight = read_class_weight(request.class_weight or [], classes)
    tried = [_untrained(one, usual, seed, request.jobs) for one in kinds]
    for model in tried:
        if class_weight is not None:
            model.set_params(class_weight=class_weight)
    with console.step("Training"):
        losses = [0.0]  # of the only one
        if len(tried) > 1:
            losses = [
                _cross_validated(one, samples, costs, classes, seed, request.metric)
                for one in tried
            ]
        model = tried[int(np.argmin(losses))]
        _fit(model, samples, costs)
    tw.export.to_skops(model, folder / MODEL)
    best = ""
    if len(tried) > 1:
        best = ", the best of them,"
        for name, loss in zip(kinds, losses, strict=True):
            found = f"{LOSS_NAMES[usual]} {loss:.4g}"
            if request.metric is not None:
                found = f"{request.metric} {0.0 - loss:.4g}"
            lines.append(f"Tried {name}: {found} in cross-validation.")
    n_samples = count(len(samples.y), "sample")
    lines.append(f"Trained a {type(model).__name__}{best} on {n_samples}{held_out}.")
    return replace(request, model=folder / MODEL), lines


def _kinds(task: str, loss: str | None) -> list[str]:
    """Return the kinds of models to try: those that can be pruned by the loss, if one is named."""
    from thriftwood.problem import RECORDED_GAIN

    forests = [FOREST] if task == REGRESSION else [BUDGET_FOREST, FOREST]
    if loss is not None:
        return [BOOSTING] if loss == RECORDED_GAIN else forests
    return [*forests, BOOSTING]


def _read(request: Request, console: Console) -> Samples:
    from thriftwood.formats.tables import read_table, samples_to_learn

    with console.step(f"Reading {request.data}"):
        table = without(read_table(request.data), request)
        rows = samples_to_learn(table, target=request.target, weight=request.weight)
        return with_target(rows, request.data)


def usual_task(y: Any) -> str:
    """Return what a target looks like: text, truth or few whole numbers are classes."""
    if y.dtype.kind not in "iuf":
        return CLASSIFICATION
    distinct = np.unique(y)
    is_few = len(distinct) <= MOST_CLASSES and bool((distinct == np.round(distinct)).all())
    return CLASSIFICATION if is_few else REGRESSION


def _check_target(y: Any, task: str, kind: str | None) -> None:
    """Refuse a target that cannot be learnt."""
    if task == REGRESSION and y.dtype.kind not in "iufb":
        raise InputError("The target holds text, so that --task can only be classification.")
    if task == REGRESSION and kind == BUDGET_FOREST:
        raise InputError(
            "A budget-forest predicts classes: pass --model forest or --model boosting for numbers."
        )
    if task == CLASSIFICATION and len(np.unique(y)) < 2:
        raise InputError("All samples have the same class, so that there is nothing to learn.")


def _check_features(X: Any, kinds: Sequence[str]) -> None:
    """Refuse numbers beyond those of a float32, which the trees of a forest cannot compare."""
    if list(kinds) == [BOOSTING]:
        return
    for name in X.columns:
        values = X[name].to_numpy()
        wrong = values[np.abs(values) > np.finfo(np.float32).max]
        if len(wrong):
            raise InputError(
                f"The column {name!r} holds {wrong[0]}, which is too large for a forest: mend it, "
                "leave the cell empty, or pass --model boosting."
            )


def _untrained(kind: str, task: str, seed: int, jobs: int | None) -> Any:
    from sklearn import ensemble

    if kind == BUDGET_FOREST:
        # Information per price: with prices that differ it beats the other measures.
        return tw.BudgetForestClassifier(
            N_TREES, impurity="entropy", n_jobs=jobs, random_state=seed
        )
    ending = "Classifier" if task == CLASSIFICATION else "Regressor"
    if kind == BOOSTING:
        return getattr(ensemble, f"HistGradientBoosting{ending}")(random_state=seed)
    # Trees that may choose among all features agree on the good ones: more can be saved.
    forest = getattr(ensemble, f"RandomForest{ending}")
    return forest(N_TREES, max_features=None, n_jobs=jobs, random_state=seed)


def _cross_validated(
    model: Any,
    samples: Samples,
    costs: Costs | None,
    classes: list[Any] | None,
    seed: int,
    metric: str | None,
) -> float:
    """Return the loss of models of a kind on folds they have not seen.

    The log loss, the squared error, or minus the metric.
    """
    from sklearn.base import clone
    from sklearn.model_selection import KFold, StratifiedKFold

    n_folds, is_class = min(N_FOLDS, len(samples.y)), classes is not None
    if is_class:
        n_folds = max(2, min(n_folds, np.unique(samples.y, return_counts=True)[1].min()))
    folds = (StratifiedKFold if is_class else KFold)(n_folds, shuffle=True, random_state=seed)
    losses = np.empty(len(samples.y))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")
        for train, held_out in folds.split(samples.X, samples.y):
            fitted = clone(model)
            _fit(fitted, _taken(samples, train), costs)
            losses[held_out] = _losses(fitted, _taken(samples, held_out), metric)
    return float(np.average(losses, weights=samples.weight))


def _losses(model: Any, samples: Samples, metric: str | None) -> Any:
    """Return the log loss of each sample, or the squared error; a class not seen has no chance."""
    if metric is not None:
        from thriftwood.adapters import read_scorer, score_predictions

        is_class = hasattr(model, "predict_proba")
        found = model.predict_proba(samples.X) if is_class else model.predict(samples.X)[:, None]
        classes = model.classes_ if is_class else None
        return -score_predictions(*read_scorer(metric), found, classes, *samples)
    if not hasattr(model, "predict_proba"):
        return (model.predict(samples.X) - samples.y) ** 2
    place = np.searchsorted(model.classes_, samples.y).clip(max=len(model.classes_) - 1)
    chance = model.predict_proba(samples.X)[np.arange(len(place)), place]
    chance = np.where(model.classes_[place] == samples.y, chance, 0.0)
    return -np.log(np.maximum(chance, np.finfo(np.float64).eps))


def _fit(model: Any, samples: Samples, costs: Costs | None) -> None:
    """Fit a model, or say in a sentence why scikit-learn does not."""
    prices = {"costs": costs} if isinstance(model, tw.BudgetForestClassifier) else {}
    try:
        model.fit(samples.X, samples.y, samples.weight, **prices)
    except ThriftwoodError:
        raise
    except ValueError as error:  # of scikit-learn, which sees more than was checked
        sentence = f"From these samples no model can be trained: {_first_line(error)}."
        raise InputError(sentence) from None


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0].rstrip(".")


def _held_out_quarter(y: Any, task: str, seed: int) -> tuple[Any, Any]:
    """Return the samples to train on and a quarter to validate on, classes with the same shares."""
    from sklearn.model_selection import train_test_split

    try:
        train, valid = train_test_split(
            np.arange(len(y)),
            test_size=0.25,
            stratify=y if task == CLASSIFICATION else None,
            random_state=seed,
        )
    except ValueError as error:
        raise InputError(
            f"A quarter of these samples cannot be held out: {_first_line(error)}. Pass more, or "
            "--validation, or --task regression if the target is a number."
        ) from None
    return np.sort(train), np.sort(valid)


def _taken(samples: Samples, some: Any) -> Samples:
    """Return some of the samples, by number."""
    weight = None if samples.weight is None else samples.weight[some]
    return Samples(samples.X.iloc[some], samples.y[some], weight)


def _with_names(request: Request, samples: Samples) -> Request:
    """Name the columns of target and weights, which in an .npz file have names by themselves."""
    names = [str(name) for name in samples.X.columns]
    target = request.target or _free_name(TARGET, names)
    weight = request.weight
    if weight is None and samples.weight is not None:
        weight = _free_name("weight", (*names, target))
    return replace(request, target=target, weight=weight)


def _free_name(usual: str, taken: Sequence[str]) -> str:
    return usual if usual not in taken else _free_name(f"{usual}_", taken)


def _write_samples(samples: Samples, request: Request, file: Path) -> None:
    frame = samples.X.copy()
    frame[request.target] = samples.y
    if request.weight is not None:
        frame[request.weight] = samples.weight
    frame.to_parquet(file, index=False)


def baseline_note(evaluation: Evaluation | None, inputs: Inputs, kind: str | None) -> str | None:
    """Return a sentence where the model is no better than the same prediction for all samples."""
    # Classes that weigh more are worth some errors on others: errors alone say little then.
    if evaluation is None or inputs.validation is None or inputs.class_weight is not None:
        return None
    is_class = inputs.problem.forest.is_classifier
    (_, y, weight), (_, y_valid, weight_valid) = inputs.samples, inputs.validation
    if is_class:
        labels, numbers = np.unique(y, return_inverse=True)
        constant = labels[np.bincount(numbers, weights=weight).argmax()]
        losses = y_valid != constant
    else:
        constant = np.average(y, weights=weight)
        losses = (y_valid - constant) ** 2
    if evaluation.original.error < np.average(losses, weights=weight_valid):
        return None
    same = f"the class {constant}, the commonest" if is_class else "the mean"
    advice = "" if kind is None else "; without --model all kinds are tried"
    if kind == BUDGET_FOREST:
        advice += ", while a budget-forest may see nothing but features that are free"
    return f"On the validation set the model is no better than always saying {same}{advice}."
