"""A hard limit for every sample beside a budget on average: errors and bills on new samples.

For every amount there are five ways not to spend more. A budget: the best point of the path, or the
best rule of a cascade, whose mean bill is within it; single bills may be higher. A limit: the whole
model, the pruned one or the cascade under `max_cost`, where no bill is. And the largest point of
the path whose bills, on the training samples, are all within it: pruning alone can keep a limit,
too. Under a limit the point and the rule are chosen on validation samples.
"""

from typing import Any, NamedTuple

import numpy as np
from measure import arguments
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import train_test_split

import thriftwood as tw

BUDGET, CASCADE_BUDGET = "budget, pruned", "budget, cascade"
SMALL = "limit, small enough to keep it"
WHOLE, PRUNED, CASCADE = "limit, whole model", "limit, pruned", "limit, cascade"


class Split(NamedTuple):
    """Samples to train on, to choose on, and new ones."""

    X: np.ndarray
    X_val: np.ndarray
    X_new: np.ndarray
    y: np.ndarray
    y_val: np.ndarray
    y_new: np.ndarray


def main() -> None:
    options = arguments(__doc__.splitlines()[0])
    n_splits = 1 if options.quick else 5
    heart, nhanes = tw.datasets.load_heart(), tw.datasets.load_nhanes()
    tasks = {
        "heart, dollars": (heart.X, heart.y, heart.prices, (3, 105, 210, 225)),
        "NHANES, relative prices": (nhanes.X, nhanes.y > 0, nhanes.costs, (5, 10, 20, 40, 80)),
    }
    kinds = ("forest", "booster")
    if options.quick:
        tasks, kinds = {"heart, dollars": (heart.X, heart.y, heart.prices, (3, 210))}, kinds[1:]
    for name, (X, y, costs, amounts) in tasks.items():
        for kind in kinds:
            print(f"\n{name}, {kind}, {n_splits} splits: error (mean bill, highest bill)")
            splits = [draw(X, y, seed) for seed in range(n_splits)]
            found = [measure(split, kind, costs, amounts) for split in splits]
            show(found, amounts)


def draw(X: np.ndarray, y: np.ndarray, seed: int) -> Split:
    X_train, X_rest, y_train, y_rest = train_test_split(X, y, test_size=0.5, random_state=seed)
    halves = train_test_split(X_rest, y_rest, test_size=0.5, random_state=seed)
    return Split(X_train, halves[0], halves[1], y_train, halves[2], halves[3])


def measure(split: Split, kind: str, costs: Any, amounts: tuple[float, ...]) -> dict[str, Any]:
    """Return error, mean bill and highest bill of new samples for every way and amount."""
    model = trained(kind, split)
    path = tw.prune_path(model, split.X, split.y, costs=costs)
    points = [path.at(index=int(i)) for i in spread(path.costs)]
    cascade = path.cascade(split.X_val, split.y_val, refit=(split.X, split.y))
    found: dict[str, Any] = {"whole model": [result(model, split, costs)] * len(amounts)}
    for amount in amounts:
        rules = [rule_within(cascade, budget) for budget in (amount / 2, amount, 2 * amount, None)]
        ways = {
            BUDGET: (path.at(budget=amount), np.inf),
            CASCADE_BUDGET: (rule_within(cascade, amount), np.inf),
            SMALL: (small_enough(path, split, costs, amount), np.inf),
            WHOLE: (model, amount),
            PRUNED: (best(points, split, costs, amount), amount),
            CASCADE: (best(rules, split, costs, amount), amount),
        }
        for name, (one, max_cost) in ways.items():
            found.setdefault(name, []).append(result(one, split, costs, max_cost))
    return found


def trained(kind: str, split: Split) -> Any:
    if kind == "forest":
        model = RandomForestClassifier(40, max_features=None, min_samples_leaf=3, random_state=0)
    else:
        model = HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=8, random_state=0)
    return model.fit(split.X, split.y)


def spread(costs: np.ndarray, most: int = 12) -> np.ndarray:
    """Return some points of a path from dear to cheap, the first and the last among them."""
    return np.unique(np.linspace(0, len(costs) - 1, most).astype(int))


def small_enough(path: Any, split: Split, costs: Any, max_cost: float) -> Any:
    """Return the largest point within the limit for every training sample: bills are nested."""
    above, within = -1, len(path) - 1
    while within - above > 1:
        middle = (above + within) // 2
        bills = tw.feature_bill(path.at(index=middle), split.X, costs).per_sample
        above, within = (middle, within) if bills.max() > max_cost else (above, middle)
    return path.at(index=within)


def rule_within(cascade: Any, budget: float | None) -> Any:
    cheapest = cascade.rules.costs[0]
    return cascade.at(budget=None if budget is None else max(budget, cheapest))


def best(models: list[Any], split: Split, costs: Any, max_cost: float) -> Any:
    """Return the model that errs least on validation samples, each within the limit."""

    def error(model: Any) -> float:
        answer = tw.LazyPredictor(model, costs=costs, max_cost=max_cost).predict(split.X_val)
        return float(np.mean(answer.labels != split.y_val))

    return min(models, key=error)


def result(
    model: Any, split: Split, costs: Any, max_cost: float = np.inf
) -> tuple[float, float, float]:
    answer = tw.LazyPredictor(model, costs=costs, max_cost=max_cost).predict(split.X_new)
    bills = answer.bill.per_sample
    assert bills.max() <= max_cost
    return float(np.mean(answer.labels != split.y_new)), bills.mean(), bills.max()


def show(found: list[dict[str, Any]], amounts: tuple[float, ...]) -> None:
    print(f"  {'':31s}" + "".join(f"{f'within {amount:g}':>22s}" for amount in amounts))
    for name in found[0]:
        figures = np.array([of_split[name] for of_split in found])
        error, mean, highest = *figures[..., :2].mean(axis=0).T, figures[..., 2].max(axis=0)
        cells = (
            f"{f'{e:.3f} ({m:.3g}, {h:.3g})':>22s}"
            for e, m, h in zip(error, mean, highest, strict=True)
        )
        print(f"  {name:31s}" + "".join(cells), flush=True)


if __name__ == "__main__":
    main()
