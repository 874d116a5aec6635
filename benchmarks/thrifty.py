"""Thrifty models within a budget, beside CEGB, fixed sets of features and cascades of prunings.

Everybody has the same samples, to train and to choose. Thrifty models take both parts together and
choose by cross-fitting; CEGB, CatBoost with penalties and fixed sets choose on the second part and
are trained again on both with what was chosen; cascades of prunings need the second part to tune.
Errors and bills are those of test samples. Every feature costs 1, and one meter counts for all.
Then: how long fitting and predicting take, in CPU seconds of one thread, beside one plain LightGBM
model, and how both grow with samples and features.

What thrifty models do by default was settled on splits of other seeds.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from time import process_time
from typing import Any, NamedTuple

import lightgbm
import numpy as np
from catboost import CatBoostClassifier
from cegb import train, with_prefixes
from held_out import Rows, Split, draw_split, line, log_odds
from measure import alternate, arguments
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from tasks import Task, heading, tasks

import thriftwood as tw

FIRST_SEED = 1500
N_TREES = 200
BUDGETS = {"covertype": (3, 4.2, 5, 6, 6.9, 8, 12), "miniboone_tiny": (3, 4, 5, 6, 8, 12)}
SIZES = (1, 2, 3, 4, 5, 6, 8, 10, 12)
N_CANDIDATES = 22
ROWS_TO_PREDICT = 100_000
# Budgets between which features at equal errors are looked for.
CURVE = np.geomspace(1, 100, 200)
PENALTIES = {
    "per_object_feature_penalties": (1e-4, 3e-4, 7e-4, 1e-3, 2e-3, 4e-3),
    "first_feature_use_penalties": (0.1, 0.3, 1.0, 2.0, 4.0, 8.0),
}

THRIFTY = "thrifty"
QUICK = "thrifty, quick"
ALL = "thrifty, many budgets"


class Measured(NamedTuple):
    """A model on validation samples, to choose by, and on test samples."""

    cost: float
    error: float
    test_cost: float
    test_error: float


def main() -> None:
    options = arguments(__doc__.splitlines()[0])
    for given in tasks(options.quick, options.data):
        task = given if options.quick else in_full(given)
        found: dict[str, list[list[Measured]]] = {}
        for number in range(task.n_splits):
            split = draw_split(task.X, task.y, task.sizes, FIRST_SEED + number)
            for name, own in all_ways(task, split, options.quick):
                found.setdefault(name, []).append(own)
        show(task, found)
        show_speed(task, options.quick)


def in_full(task: Task) -> Task:
    return task._replace(n_splits=3, budgets=BUDGETS.get(task.name, task.budgets))


def all_ways(task: Task, split: Split, quick: bool) -> Iterator[tuple[str, list[Measured]]]:
    """Yield what each way has within each budget."""
    both = joined(split)
    model = tw.ThriftyClassifier(random_state=0, n_jobs=2).fit(*both)
    found = thrifty(model, split.test, [*task.budgets, *CURVE])
    yield THRIFTY, found[: len(task.budgets)]
    yield ALL, found[len(task.budgets) :]
    model = tw.ThriftyClassifier(effort="quick", random_state=0, n_jobs=2).fit(*both)
    yield QUICK, thrifty(model, split.test, task.budgets)
    yield "CEGB", best(list(cegb(task, split, both)), task.budgets)
    for name, models in catboost(split, both, quick).items():
        yield name, best(models, task.budgets)
    for name, order in orders(split, quick).items():
        sizes = [size for size in SIZES if size <= len(order)]
        sets = [fixed_set(order[:size], split, both) for size in sizes]
        yield f"fixed set, {name}", best(sets, task.budgets)
    yield "cascade of prunings", cascade(task, split)


def joined(split: Split) -> Rows:
    return Rows(*(np.concatenate(pair) for pair in zip(split.train, split.validation, strict=True)))


def thrifty(model: tw.ThriftyClassifier, test: Rows, budgets: Sequence[float]) -> list[Measured]:
    """Return what a model has within each budget."""
    on_test = model.evaluate(*test, quantiles=())
    found = []
    for budget in budgets:
        rule = model.rules_.within(budget)
        measured = on_test.cost[-1 - rule], on_test.error[-1 - rule]
        known = model.rules_.costs[rule], model.rules_.errors[rule]
        found.append(Measured(*map(float, (*known, *measured))))
    return found


def cegb(task: Task, split: Split, both: Rows) -> Iterator[Measured]:
    """Yield boosters of every price and size, trained again on all samples."""
    prefixes = (10, 25, 50, 100)
    for price, leaves in product(task.prices, (15, 31)):
        pairs = zip(
            with_prefixes(train(split.train, price, N_TREES, leaves), prefixes),
            with_prefixes(train(both, price, N_TREES, leaves), prefixes),
            strict=True,
        )
        for first, again in pairs:
            cost = tw.feature_bill(first, split.validation.X).mean
            bill = tw.feature_bill(again, split.test.X).mean
            errors = error(first, split.validation), error(again, split.test)
            yield Measured(cost, errors[0], bill, errors[1])


def catboost(split: Split, both: Rows, quick: bool) -> dict[str, list[Measured]]:
    """Return CatBoost's models of every price, for features of a sample or of all samples."""
    found: dict[str, list[Measured]] = {}
    for kind, prices in PENALTIES.items():
        for price in prices[1:3] if quick else prices:
            options = {kind: [price] * both.X.shape[1]}
            first, again = (
                CatBoostClassifier(
                    iterations=N_TREES,
                    random_seed=0,
                    verbose=0,
                    allow_writing_files=False,
                    thread_count=2,
                    **options,
                ).fit(*rows)
                for rows in (split.train, both)
            )
            cost = tw.feature_bill(first, split.validation.X).mean
            bill = tw.feature_bill(again, split.test.X).mean
            errors = error(first, split.validation), error(again, split.test)
            found.setdefault(f"CatBoost, {kind.split('_')[0]}", []).append(
                Measured(cost, errors[0], bill, errors[1])
            )
    return found


def error(model: Any, rows: Rows) -> float:
    return float(np.mean((log_odds(model, rows.X) > 0) != rows.y))


def orders(split: Split, quick: bool) -> dict[str, list[int]]:
    """Return features by importance, and by forward selection among the first of these."""
    gains = train(split.train, 0, 100).feature_importance("gain")
    by_gain = np.argsort(-gains, kind="stable").tolist()
    n_candidates, n_steps = (6, 3) if quick else (N_CANDIDATES, max(SIZES))
    chosen: list[int] = []
    for _ in range(n_steps):
        left = [k for k in by_gain[:n_candidates] if k not in chosen]
        losses = [small_loss([*chosen, k], split) for k in left]
        chosen.append(left[int(np.argmin(losses))])
    return {"by importance": by_gain, "forward selection": chosen}


def small_loss(columns: list[int], split: Split, n_rows: int = 4_000) -> float:
    """Return the validation log loss of a small booster."""
    some = Rows(split.train.X[:n_rows, columns], split.train.y[:n_rows])
    odds = log_odds(train(some, 0, 40, 15), split.validation.X[:n_rows, columns])
    return float(np.mean(np.logaddexp(0, odds) - split.validation.y[:n_rows] * odds))


def fixed_set(columns: list[int], split: Split, both: Rows) -> Measured:
    """Return the best of boosters, forests and their mean on a set, trained on all samples."""
    first = probabilities(columns, split.train, split.validation.X)
    wrong = {name: np.mean((p > 0.5) != split.validation.y) for name, p in first.items()}
    kind = min(wrong, key=wrong.__getitem__)
    again = probabilities(columns, both, split.test.X)[kind]
    test_error = float(np.mean((again > 0.5) != split.test.y))
    return Measured(len(columns), float(wrong[kind]), len(columns), test_error)


def probabilities(columns: list[int], rows: Rows, X: np.ndarray) -> dict[str, np.ndarray]:
    models = {
        "booster": lightgbm.LGBMClassifier(n_estimators=N_TREES, n_jobs=2, verbose=-1),
        "random forest": RandomForestClassifier(100, n_jobs=2, random_state=0),
        "extra trees": ExtraTreesClassifier(100, n_jobs=2, random_state=0),
    }
    found = {
        name: model.fit(rows.X[:, columns], rows.y).predict_proba(X[:, columns])[:, 1]
        for name, model in models.items()
    }
    return found | {"mean": np.mean(list(found.values()), axis=0)}


def cascade(task: Task, split: Split) -> list[Measured]:
    """Return the better of two bases within each budget: a forest and a plain booster."""
    forest = RandomForestClassifier(40, max_features=None, n_jobs=2, random_state=0)
    forest.fit(*split.train)
    paths = [
        tw.prune_path(forest, *split.train, loss="log_loss", n_jobs=2),
        tw.prune_path(train(split.train, 0, N_TREES), *split.train, n_jobs=2),
    ]
    found: list[list[Measured]] = []
    for path in paths:
        tuned = path.cascade(*split.validation, refit=split.train, n_jobs=2)
        own = []
        for budget in task.budgets:
            rule = tuned.rules.within(budget)
            model = tuned.at(budget=budget)
            figures = tuned.rules.costs[rule], tuned.rules.errors[rule]
            own.append(Measured(*figures, model.bill(split.test.X).mean, error(model, split.test)))
        found.append(own)
    return [min(own, key=lambda one: one.error) for own in zip(*found, strict=True)]


def best(models: Sequence[Measured], budgets: Sequence[float]) -> list[Measured]:
    """Return the model with the fewest validation errors within each budget."""
    cheapest = min(models, key=lambda one: one.cost)
    return [
        min(
            (one for one in models if one.cost <= budget),
            key=lambda one: one.error,
            default=cheapest,
        )
        for budget in budgets
    ]


def show(task: Task, found: dict[str, list[list[Measured]]]) -> None:
    heading(task)
    mean = {name: np.array(splits).mean(axis=0) for name, splits in found.items()}
    curve = mean.pop(ALL)
    for name, figures in mean.items():
        line(name, [f"{one:.4f}" for one in figures[:, 3]])
        line("   features bought", [f"{one:.1f}" for one in figures[:, 2]])
    peers = np.array([own for name, own in mean.items() if name not in (THRIFTY, QUICK)])
    # Those that have no model within a budget are shown by their cheapest; it is no match.
    beyond = peers[:, :, 2] > 1.2 * np.array(task.budgets)
    best = np.where(beyond, np.inf, peers[:, :, 3]).argmin(axis=0)
    best_of_peers = peers[best, np.arange(len(task.budgets))]
    less = mean[THRIFTY][:, 3] - best_of_peers[:, 3]
    line("less the best of the others", [f"{one:+.4f}" for one in less])
    needed = [features_needed(curve, error) for error in best_of_peers[:, 3]]
    line("features, at its error", [f"{one:.1f}" for one in needed])
    line("   as part of its own", [f"{one:.2f}" for one in needed / best_of_peers[:, 2]])


def features_needed(curve: np.ndarray, error: float) -> float:
    """Return how many features are bought where errors are no more than that; NaN for never."""
    return float(min(curve[curve[:, 3] <= error, 2], default=np.nan))


def show_speed(task: Task, quick: bool) -> None:
    """Print how long fitting takes, in fits of one LightGBM model, and predicting."""
    n_train, n_features = task.sizes[0], task.X.shape[1]
    order = np.random.default_rng(0).permutation(len(task.y))
    rows = Rows(task.X[order[:n_train]], task.y[order[:n_train]])
    plain = lightgbm.LGBMClassifier(n_estimators=N_TREES, n_jobs=1, verbose=-1)
    fit("quick", Rows(rows.X[:200], rows.y[:200]))  # compile kernels
    times = alternate(
        1 if quick else 3,
        lambda: cpu_seconds_of(lambda: plain.fit(*rows)),
        lambda: cpu_seconds_of(lambda: fit("quick", rows)),
        lambda: cpu_seconds_of(lambda: fit("full", rows)),
    )
    print(
        f"  {n_train} samples, {n_features} features: one LightGBM model {times[0]:.2f} s, "
        f"quick {times[1] / times[0]:.0f} times that, full {times[2] / times[0]:.0f} times"
    )
    many = np.random.default_rng(1).integers(len(task.y), size=2_000 if quick else ROWS_TO_PREDICT)
    X = task.X[many].astype(np.float64)
    show_prediction("all of it", fit("full", rows), X)
    if quick:
        return
    by_gain = np.argsort(-plain.booster_.feature_importance("gain"), kind="stable")
    for part in (4, 2):
        fewer = Rows(rows.X[: n_train // part], rows.y[: n_train // part])
        show_growth(f"{n_train // part} samples", fewer, X)
    for part in (4, 2):
        columns = np.sort(by_gain[: n_features // part])
        fewer = Rows(np.ascontiguousarray(rows.X[:, columns]), rows.y)
        show_growth(f"{n_features // part} features", fewer, X[:, columns])


def show_growth(name: str, rows: Rows, X: np.ndarray) -> None:
    fitted: list[Any] = []
    seconds = cpu_seconds_of(lambda: fitted.append(fit("full", rows)))
    print(f"  {name}: fitted in {seconds:.1f} s")
    show_prediction(name, fitted[0], X)


def show_prediction(name: str, model: tw.ThriftyClassifier, X: np.ndarray) -> None:
    stages = model.stages_
    taken = [cpu_seconds_of(lambda s=s: stages.outputs(s, X)) for s in range(len(stages))]
    whole = cpu_seconds_of(lambda: model.at(budget=np.inf).predict_proba(X))
    print(
        f"  {name}: {len(stages)} stages; {len(X)} predictions without a limit {whole:.2f} s, by "
        f"all stages {sum(taken):.2f} s"
    )


def fit(effort: str, rows: Rows) -> tw.ThriftyClassifier:
    return tw.ThriftyClassifier(effort=effort, random_state=0, n_jobs=1).fit(*rows)


def cpu_seconds_of(work: Callable[[], object]) -> float:
    begin = process_time()
    work()
    return process_time() - begin


if __name__ == "__main__":
    main()
