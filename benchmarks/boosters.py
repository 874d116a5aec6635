"""Boosted models within a budget: CEGB alone, and the same models pruned and refitted.

CEGB is LightGBM's own way to save features: a split pays for a feature that its rows have not
bought yet, while the trees grow. Here models are trained with it at several prices of a feature;
each is then pruned by its recorded gains, and points of the path are refitted. Within every budget
one model is chosen on validation rows, by the same rule for both sides; errors are those on test
rows. Every feature costs 1, and one meter counts for all.

The rule is the calibrated log loss (see `held_out.py`). It was settled on other random splits of
these data sets, after a look at their test errors; those here were drawn afterwards.
"""

import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import lightgbm
import numpy as np
from held_out import (
    Candidate,
    Rows,
    Split,
    best_within,
    candidate,
    draw_split,
    nothing_bought,
)
from measure import arguments, local_dataset
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw

PARAMETERS = {
    "objective": "binary",
    "learning_rate": 0.1,
    "num_leaves": 31,
    "num_threads": 1,  # on this little data a second thread costs more than it brings
    "deterministic": True,
    "force_row_wise": True,
    "seed": 0,
    "verbose": -1,
}
N_TREES = 100
PREFIXES = (10, 25, 50)  # CEGB alone may also stop early
FIRST_SEED = 100  # the rule of choosing was settled on seeds 0 to 3

PEER = "CEGB alone"
PRUNED = "CEGB, pruned"
OURS = "CEGB, pruned, refitted"
PLAIN = "plain booster, pruned, refitted"
LIGHT = "light CEGB, pruned, refitted"
FOREST = "forest, pruned, refitted"


class Task(NamedTuple):
    """A data set to compare on; the prices of a feature are CEGB's, 0 is a plain booster."""

    name: str
    X: np.ndarray
    y: np.ndarray
    sizes: tuple[int, int, int]
    n_splits: int
    budgets: tuple[float, ...]
    prices: tuple[float, ...]
    light: float


def main() -> None:
    options = arguments(__doc__.splitlines()[0])
    for task in tasks(options.quick, options.data):
        pools = []
        for number in range(task.n_splits):
            split = draw_split(task.X, task.y, task.sizes, FIRST_SEED + number)
            pools.append(all_candidates(task, split))
        show(task, pools)
        against_descent(task, draw_split(task.X, task.y, task.sizes, FIRST_SEED), options.quick)


def tasks(quick: bool, folder) -> Iterator[Task]:
    """Yield the data sets at hand; where there is none, one that comes with the package."""
    found = False
    for name, make in (("covertype", covertype_task), ("miniboone_tiny", small_task)):
        data = local_dataset(name, folder)
        if data is not None:
            found = True
            yield make(data, quick)
    if not found:
        print("Taking the bundled NHANES instead.")
        yield small_task(tw.datasets.load_nhanes(), quick)


def covertype_task(data: tw.datasets.Dataset, quick: bool) -> Task:
    """Class 2, Lodgepole pine, against the rest."""
    return Task(
        "covertype",
        data.X,
        data.y == 1,
        (1_000, 500, 5_000) if quick else (10_000, 5_000, 40_000),
        1,
        (12, 6, 4) if quick else (18, 15, 12, 10, 8, 6, 5, 4, 3),
        (0, 0.01, 0.045)
        if quick
        else (0, 0.0005, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.045, 0.06, 0.08, 0.13),
        0.01 if quick else 0.002,
    )


def small_task(data: tw.datasets.Dataset, quick: bool) -> Task:
    return Task(
        data.name,
        data.X,
        data.y == 1,
        (1_000, 500, 1_000) if quick else (2_000, 1_000, 2_000),
        2 if quick else 6,
        (18, 10, 5) if quick else (36, 26, 18, 15, 12, 10, 8, 6, 5, 4, 3),
        (0, 0.01, 0.06)
        if quick
        else (0, 0.003, 0.006, 0.01, 0.02, 0.03, 0.045, 0.06, 0.1, 0.14, 0.18, 0.25),
        0.01 if quick else 0.003,
    )


def all_candidates(task: Task, split: Split) -> dict[str, list[Candidate]]:
    """Return the models that each way of saving features has to choose from."""
    nothing = nothing_bought(split)
    pools = {name: [nothing] for name in (PEER, PRUNED, OURS, PLAIN, LIGHT, FOREST)}
    for price in task.prices:
        base = train(split.train, price)
        origin = f"price {price:g}"
        pools[PEER] += [candidate(model, split, origin) for model in with_prefixes(base)]
        pruned, refitted = pruned_candidates(base, split, origin, task.budgets)
        pools[PRUNED] += pruned
        pools[OURS] += pruned + refitted
        if price in (0, task.light):
            pools[PLAIN if price == 0 else LIGHT] += pruned + refitted
    forest = RandomForestClassifier(40, max_features=None, n_jobs=2, random_state=0)
    forest.fit(*split.train)
    pools[FOREST] += pruned_candidates(forest, split, "forest", task.budgets)[1]
    return pools


def train(rows: Rows, price: float) -> lightgbm.Booster:
    parameters = dict(PARAMETERS)
    if price:
        parameters["cegb_tradeoff"] = price
        parameters["cegb_penalty_feature_lazy"] = [1.0] * rows.X.shape[1]
    return lightgbm.train(parameters, lightgbm.Dataset(rows.X, rows.y.astype(float)), N_TREES)


def with_prefixes(base: lightgbm.Booster) -> list[lightgbm.Booster]:
    texts = [base.model_to_string(num_iteration=n_trees) for n_trees in PREFIXES]
    return [base, *(lightgbm.Booster(model_str=text) for text in texts)]


def pruned_candidates(
    base: Any, split: Split, origin: str, budgets: tuple[float, ...]
) -> tuple[list[Candidate], list[Candidate]]:
    """Return points of the path of a model, as they are and refitted."""
    path = tw.prune_path(base, *split.train, n_jobs=2)
    costs = path.evaluate(*split.validation, n_jobs=2).cost
    pruned, refitted = [], []
    for point in points_to_try(costs, budgets):
        choice = path.at(index=point)
        about = (split, origin, costs[0], costs[point])
        pruned.append(candidate(choice.model, *about))
        if choice.n_splits:
            again = choice.refit(*split.train, validation=split.validation, n_jobs=2)
            refitted.append(candidate(again.model, *about))
    return pruned, refitted


def points_to_try(costs: np.ndarray, budgets: tuple[float, ...]) -> list[int]:
    """Return the first point, and the richest within each budget and half-way between two."""
    between = [(high + low) / 2 for high, low in pairwise(budgets)]
    within = [int(np.argmax(costs <= cost)) for cost in (*budgets, *between)]
    return sorted({0, *within})


def show(task: Task, pools: list[dict[str, list[Candidate]]]) -> None:
    n_train, n_validation, n_test = task.sizes
    print(
        f"\n{task.name}: {n_train} rows to train, {n_validation} to choose, {n_test} to test, "
        f"{task.n_splits} split(s)\n  Errors on test rows, within a budget of so many features"
    )
    line("budget", [f"{budget:g}" for budget in task.budgets])
    chosen = {
        name: [[best_within(pool[name], budget) for budget in task.budgets] for pool in pools]
        for name in pools[0]
    }
    errors = {name: errors_of(models) for name, models in chosen.items()}
    for name, own in errors.items():
        line(name, [f"{error:.4f}" for error in own.mean(axis=0)])
    difference = (errors[OURS] - errors[PEER]).mean(axis=0)
    noise = standard_errors(chosen[OURS], chosen[PEER])
    line("pruned, refitted less alone", [f"{one:+.4f}" for one in difference])
    line("its standard error", [f"{one:.4f}" for one in noise])
    costs = [[one.cost for one in models] for models in chosen[OURS]]
    line("features that are bought", [f"{cost:.1f}" for cost in np.mean(costs, axis=0)])
    before_pruning = base_costs(chosen[OURS])
    line("features before pruning", [f"{cost:.1f}" for cost in before_pruning])
    show_area(task, difference)
    show_best_start(task, errors, before_pruning)


def line(name: str, entries: list[str]) -> None:
    print(f"  {name:32s}" + "".join(f"{entry:>8s}" for entry in entries))


def errors_of(models: list[list[Candidate]]) -> np.ndarray:
    """Return test errors, a row for each split."""
    return np.array([[one.wrong.mean() for one in of_split] for of_split in models])


def base_costs(models: list[list[Candidate]]) -> np.ndarray:
    return np.mean([[one.base_cost for one in of_split] for of_split in models], axis=0)


def standard_errors(ours: list[list[Candidate]], theirs: list[list[Candidate]]) -> np.ndarray:
    """Return those of the difference: over splits, or over the test rows of the only one."""
    if len(ours) > 1:
        per_split = errors_of(ours) - errors_of(theirs)
        return per_split.std(axis=0, ddof=1) / np.sqrt(len(ours))
    pairs = zip(ours[0], theirs[0], strict=True)
    per_row = np.array([one.wrong.astype(float) - other.wrong for one, other in pairs])
    return per_row.std(axis=1, ddof=1) / np.sqrt(per_row.shape[1])


def show_area(task: Task, difference: np.ndarray) -> None:
    low_to_high = np.argsort(task.budgets)
    budgets = np.array(task.budgets)[low_to_high]
    area = np.trapezoid(difference[low_to_high], budgets)
    print(
        f"  Area between the curves {area:+.4f}, a mean difference of "
        f"{area / (budgets[-1] - budgets[0]):+.4f} over budgets from {budgets[0]:g} to "
        f"{budgets[-1]:g}; at {np.count_nonzero(difference <= 0)} of {len(budgets)} budgets no "
        "worse"
    )


def show_best_start(task: Task, errors: dict[str, np.ndarray], before_pruning: np.ndarray) -> None:
    """Say which base has the least error, and how dear it was."""
    names = [name for name in errors if name not in (PEER, PRUNED)]
    means = np.array([errors[name].mean(axis=0) for name in names])
    least = Counter(names[place] for place in means.argmin(axis=0))
    words = ", ".join(f"{name} at {times}" for name, times in least.most_common())
    ratio = before_pruning / np.array(task.budgets)
    print(
        f"  Where to start: least error of {len(task.budgets)} budgets has {words}; the models "
        f"that were chosen there cost {np.median(ratio):.1f} times the budget before pruning "
        f"(median; {ratio.min():.1f} to {ratio.max():.1f})"
    )


def against_descent(task: Task, split: Split, quick: bool) -> None:
    """Compare the best point by recorded gains with where the true loss is descended to."""
    base = train(split.train, task.light)
    begin = time.perf_counter()
    tw.prune_path(base, *split.train, n_jobs=2)
    of_path = time.perf_counter() - begin
    print(
        f"  Log loss + tradeoff * cost on training rows, light CEGB; the whole path by recorded "
        f"gains takes {of_path:.1f} s"
    )
    for tradeoff in (0.03,) if quick else (0.03, 0.01, 0.003):
        begin = time.perf_counter()
        pruned = tw.prune(base, *split.train, loss="log_loss", tradeoff=tradeoff, n_jobs=2)
        seconds = time.perf_counter() - begin
        before = pruned.original.loss + tradeoff * pruned.original.cost
        print(
            f"    tradeoff {tradeoff:<6g} unpruned {before:.4f}, best point of the path "
            f"{pruned.objectives[0]:.4f}, descended {pruned.objectives[-1]:.4f} in "
            f"{len(pruned.objectives) - 1} steps and {seconds:.1f} s: cost {pruned.cost:.1f}"
        )


if __name__ == "__main__":
    main()
