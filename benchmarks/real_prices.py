"""Bills and errors together, in money: thrifty models, pruned ensembles and optimal small trees.

On data whose tests have real prices. Everybody has the same training samples, chooses on them
alone, and is told what wrong answers cost. Reported is what a test sample costs: its bill and its
errors. Optimal trees are STreeD's (Van der Linden, de Weerdt and Demirovic, NeurIPS 2023), where
the package `pystreed` can be imported: of depth 3, on columns cut at their quantiles, with as many
nodes as its own cross-validation finds best. They are left out where columns are so many that it
ends the process after its minute.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from held_out import Rows, line
from measure import arguments, local_dataset
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw
from thriftwood.costs import read_prices
from thriftwood.support.columns import Columns
from thriftwood.thrifty import PricedUnits

FIRST_SEED = 1700
ERRORS = (50.0, 200.0, 600.0)
N_TRAIN = {"heart": 200, "pima_diabetes": 500, "thyroid_ann": 1_000, "nhanes": 1_000}
MOST_TEST = 3_000
MOST_COLUMNS = 30
CUTS = np.array([0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95])


class Task(NamedTuple):
    data: tw.datasets.Dataset
    train: Rows
    test: Rows
    seed: int

    @property
    def prices(self) -> Any:
        return self.data.prices


def main() -> None:
    options = arguments(__doc__.splitlines()[0])
    names = ["heart"] if options.quick else list(N_TRAIN)
    for name in names:
        if name in ("heart", "nhanes"):
            data = getattr(tw.datasets, f"load_{name}")()
        else:
            data = local_dataset(name, options.data)
        if data is not None:
            n_splits = 1 if options.quick else 3
            show(name, [split(data, N_TRAIN[name], FIRST_SEED + k) for k in range(n_splits)])


def split(data: tw.datasets.Dataset, n_train: int, seed: int) -> Task:
    order = np.random.default_rng(seed).permutation(len(data.y))
    parts = order[:n_train], order[n_train : n_train + MOST_TEST]
    frame = data.frame()
    return Task(data, *(Rows(frame.iloc[part], data.y[part]) for part in parts), seed)


def show(name: str, tasks: list[Task]) -> None:
    print(f"\n{name}: {N_TRAIN[name]} samples to train, {len(tasks)} split(s); bill and errors")
    line("an error costs", [f"{cost:g}" for cost in ERRORS])
    for way, total in ways(tasks[0].data):
        found = [[total(task, cost) for cost in ERRORS] for task in tasks]
        line(way, [f"{one:.1f}" for one in np.mean(found, axis=0)])


def ways(data: tw.datasets.Dataset) -> Iterator[tuple[str, Callable[[Task, float], float]]]:
    yield "thrifty", thrifty
    budget_forest, prices = tw.BudgetForestClassifier, data.prices
    yield (
        "BudgetRF, pruned",
        pruned(lambda seed: budget_forest(40, costs=prices, random_state=seed)),
    )
    yield (
        "one tree, pruned",
        pruned(lambda seed: budget_forest(1, costs=prices, bootstrap=False, random_state=seed)),
    )
    yield "random forest, pruned", pruned(lambda seed: RandomForestClassifier(random_state=seed))
    try:
        import pystreed  # noqa: F401
    except ImportError as error:
        print(f"Leaving out STreeD: `pystreed` cannot be imported ({error}).")
    else:
        if data.X.shape[1] <= MOST_COLUMNS:
            yield "STreeD", streed


def thrifty(task: Task, cost: float) -> float:
    model = tw.ThriftyClassifier(
        costs=task.prices, error_costs=cost, random_state=task.seed, n_jobs=2
    ).fit(*task.train)
    return model.bill(task.test.X).mean + cost * wrong(model, task)


def pruned(make: Callable[[int], Any]) -> Callable[[Task, float], float]:
    def total(task: Task, cost: float) -> float:
        model = tw.PrunedEnsembleClassifier(
            make(task.seed), costs=task.prices, error_costs=cost, random_state=task.seed, n_jobs=2
        ).fit(*task.train)
        bill = tw.feature_bill(model.pruned_.model, task.test.X, task.prices).mean
        return float(bill + cost * wrong(model, task))

    return total


def wrong(model: Any, task: Task) -> float:
    return float(np.mean(model.predict(task.test.X) != task.test.y))


def streed(task: Task, cost: float) -> float:
    """Return the cost of a test sample by the optimal tree of columns cut at their quantiles."""
    from pystreed import STreeDCostSensitiveClassifier
    from pystreed.data import CostSpecifier, FeatureCostSpecifier

    X = task.train.X.to_numpy(np.float64)
    cuts = [np.unique(np.nanquantile(column, CUTS)) for column in X.T]
    first = np.cumsum([0, *map(len, cuts)])
    columns = Columns(X.shape[1], tuple(task.train.X.columns))
    units = PricedUnits(read_prices(task.prices, columns, len(X)))
    features = [
        FeatureCostSpecifier(*priced(units, k), int(first[k]), int(first[k + 1]) - 1)  # inclusive
        for k in range(X.shape[1])
    ]
    matrix = cost * (1 - np.eye(int(task.data.y.max()) + 1))
    model = STreeDCostSensitiveClassifier(max_depth=3, hyper_tune=True, time_limit=60)
    model.fit(binary(X, cuts), task.train.y, CostSpecifier(matrix.tolist(), features))
    rows = binary(task.test.X.to_numpy(np.float64), cuts)
    column_of = np.repeat(np.arange(X.shape[1]), np.diff(first))
    tree = model.get_tree()
    bills = [bought(tree, row, column_of, units) for row in rows]
    # A tree that is a single leaf was seen to answer with the rarer class.
    answers = np.bincount(task.train.y).argmax() if tree.is_leaf_node() else model.predict(rows)
    return float(np.mean(bills) + cost * np.mean(answers != task.test.y))


def binary(X: np.ndarray, cuts: list[np.ndarray]) -> np.ndarray:
    columns = [X[:, [k]] <= own for k, own in enumerate(cuts)]
    return np.hstack(columns).astype(np.int32)


def priced(units: PricedUnits, feature: int) -> tuple[float, float, str]:
    """Return the price of a feature, what it costs beside another of its group, and the group."""
    groups = [unit for unit in units.units if len(unit) > 1 and feature in unit]
    alone = units.price([feature])
    if not groups:
        return alone, alone, f"own {feature}"
    other = min(groups[0] - {feature})
    return alone, units.price([feature, other]) - units.price([other]), f"group {min(groups[0])}"


def bought(tree: Any, row: np.ndarray, column_of: np.ndarray, units: PricedUnits) -> float:
    """Return what a sample pays on its way down."""
    features = set()
    while not tree.is_leaf_node():
        features.add(int(column_of[tree.feature]))
        tree = tree.right_child if row[tree.feature] else tree.left_child
    return units.price(features)


if __name__ == "__main__":
    main()
