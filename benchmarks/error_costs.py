"""Tests and errors together, where errors of one class cost more than those of another.

Estimators with `error_costs` are trained on all but the samples that tell. Costs of errors are so
many mean bills of a forest that is not pruned: 4 the cheaper and 20 or 100 the dearer of two, of
three classes drawn at random between a 25th of 20 or 100 and all of it. Shown is what bills and
errors cost on new samples, as a share of what the best constant answer does.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from choosing import Setting, drawn, rows_of
from held_out import Rows
from measure import arguments
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw

SETTINGS = (
    Setting("heart", 150, 75),
    Setting("pima_diabetes", 350, 155),
    Setting("breast_cancer", 200, 100),
    Setting("wine", 80, 40),
    Setting("thyroid_ann", 500, 250),
)
N_SPLITS, N_TREES = 10, 40


def main() -> None:
    options = arguments(__doc__.splitlines()[0])
    n_splits = 2 if options.quick else N_SPLITS
    for setting in SETTINGS[2:4] if options.quick else SETTINGS:
        found = rows_of(setting.name, options.data)
        if found is None:
            continue
        splits = [dict(one_split(setting, *found, seed)) for seed in range(n_splits)]
        for name in splits[0]:
            show(f"{setting.name}, errors {name}", [one[name] for one in splits])


def show(title: str, splits: list[dict[str, float]]) -> None:
    constant = np.mean([one["constant"] for one in splits])
    print(f"\n{title}, {len(splits)} splits: the best constant costs {constant:.1f}")
    for way in splits[0]:
        shares = np.array([one[way] for one in splits]) / constant
        error = shares.std(ddof=1) / np.sqrt(len(shares))
        print(f"  {way:28s}{shares.mean():6.2f} +- {error:.2f}")


def one_split(
    setting: Setting, X: np.ndarray, y: np.ndarray, costs: Any, seed: int
) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield what each way pays and errs on new samples, for each matrix of costs."""
    train, choose, tell = drawn(setting, X, y, seed)
    whole = RandomForestClassifier(N_TREES, max_features=None, random_state=seed).fit(*train)
    bill = tw.feature_bill(whole, choose.X, costs).mean
    known = Rows(*(np.concatenate(pair) for pair in zip(train, choose, strict=True)))
    classes, label = np.unique(known.y, return_inverse=True)
    true, counts = np.searchsorted(classes, tell.y), np.bincount(label)
    for name, matrix in matrices(len(classes), bill, seed):
        totals = {"constant": float(matrix[true, (counts @ matrix).argmin()].mean())}
        for way, model in estimators(costs, matrix, seed).items():
            answers = np.searchsorted(classes, model.fit(*known).predict(tell.X))
            paid = tw.feature_bill(model, tell.X, costs).mean
            totals[way] = float(paid + matrix[true, answers].mean())
        yield name, totals


def matrices(n_classes: int, bill: float, seed: int) -> Iterator[tuple[str, np.ndarray]]:
    """Yield what answers (columns) cost where rows are true."""
    if n_classes == 2:
        for dear in (20.0, 100.0):
            yield f"0 as 1 4, 1 as 0 {dear:g}", np.array([[0.0, 4.0], [dear, 0.0]]) * bill
            yield f"0 as 1 {dear:g}, 1 as 0 4", np.array([[0.0, dear], [4.0, 0.0]]) * bill
        return
    rng = np.random.default_rng(seed)
    for dear in (20.0, 100.0):
        matrix = np.exp(rng.uniform(np.log(1 / 25), 0, (n_classes, n_classes))) * dear * bill
        np.fill_diagonal(matrix, 0.0)
        yield f"up to {dear:g}", matrix


def estimators(costs: Any, matrix: np.ndarray, seed: int) -> dict[str, Any]:
    shared: dict[str, Any] = {"costs": costs, "error_costs": matrix}
    pure = RandomForestClassifier(N_TREES, max_features=None, random_state=seed)
    fives = RandomForestClassifier(N_TREES, min_samples_leaf=5, random_state=seed)
    return {
        "pruned, pure leaves": tw.PrunedEnsembleClassifier(pure, cv=3, **shared),
        "pruned, pure leaves, bags": tw.PrunedEnsembleClassifier(pure, cv="out_of_bag", **shared),
        "pruned, leaves of 5": tw.PrunedEnsembleClassifier(fives, cv=3, **shared),
        "grown": tw.BudgetForestClassifier(
            N_TREES, impurity="entropy", random_state=seed, **shared
        ),
    }


if __name__ == "__main__":
    main()
