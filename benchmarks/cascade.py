"""Cascades within a budget: CEGB alone, and forests and boosters made into cascades.

Forests, plain boosters and boosters that CEGB trained are pruned. Points of each path become the
stages of a cascade: they are refitted on the training samples, and the rules to stop are tuned on
validation samples. Within every budget the base is chosen on these, too: the one whose cascade gets
the fewest of them wrong. CEGB alone is trained at many more prices of a feature, may stop early,
and is chosen on the same samples, by its calibrated log loss (see `held_out.py`) or by its errors;
it is compared by whichever did better on the test samples. Errors and bills are those of test
samples. Every feature costs 1, and one meter counts for all.

Bases and the rule to choose among them were settled on splits of other seeds, after a look at
their test errors: of 0 and 1 for covertype, of 0 to 2 for MiniBooNE. After a first run with seeds
from 300 on two bases were left out, which validation samples had chosen once or never, to save
time. The splits here were drawn afterwards.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from cegb import train, with_prefixes
from held_out import (
    Candidate,
    Split,
    candidate,
    choose,
    draw_split,
    errors_of,
    line,
    nothing_bought,
    standard_errors,
)
from measure import arguments
from sklearn.ensemble import RandomForestClassifier
from tasks import Task, heading, tasks

import thriftwood as tw

N_TREES = 200  # of boosters, alone or as bases
PREFIXES = (10, 25, 50, 100)
FIRST_SEED = 400  # no split from here on was looked at before
COVERTYPE_BUDGETS = (18, 14.9, 12.3, 10, 8, 6.9, 6, 5, 4.2, 3)
# Of CEGB alone, besides those of the task.
MORE_PRICES = (0.015, 0.025, 0.035, 0.04, 0.052, 0.07, 0.08, 0.1)
FEW_ROWS = 5_000  # up to here a second thread costs more than it brings
N_THRESHOLDS = 25  # to try where there is one for all stages

PEER = "CEGB alone"
PEER_BY_ERROR = "CEGB alone, chosen by errors"
ONE_STAGE = "best base, one stage for all"
FOREST = "forest of 40 trees, cascade"
PLAIN = "plain booster, cascade"
ONE_PRICE = "booster of one price, cascade"
ONE_THRESHOLD = "the same, one threshold"
OURS = "best base, cascade"

# Bases with a line of their own bear its name. Trees of a forest:
FORESTS = {FOREST: 40, "forest of 100 trees": 100}
# The price of a feature, and the leaves of a tree:
COVERTYPE_BOOSTERS = {
    PLAIN: (0, 31),
    "price 0.02, 63 leaves": (0.02, 63),
    ONE_PRICE: (0.02, 31),
    "price 0.03": (0.03, 31),
}
BOOSTERS = {
    PLAIN: (0, 31),
    "price 0.003": (0.003, 31),
    ONE_PRICE: (0.006, 31),
    "price 0.01": (0.01, 31),
    "price 0.02": (0.02, 31),
    "price 0.04": (0.04, 31),
}
QUICK = (FOREST, PLAIN, ONE_PRICE)


def main() -> None:
    options = arguments(__doc__.splitlines()[0])
    for given in tasks(options.quick, options.data):
        task = given if options.quick else in_full(given)
        chosen = []
        for number in range(task.n_splits):
            split = draw_split(task.X, task.y, task.sizes, FIRST_SEED + number)
            chosen.append(choose(all_candidates(task, split, options.quick), task.budgets))
        show(task, {name: [own[name] for own in chosen] for name in chosen[0]})


def in_full(task: Task) -> Task:
    """Return a task with more prices for CEGB alone, and covertype with other budgets."""
    more = task._replace(prices=tuple(sorted({*task.prices, *MORE_PRICES})))
    if task.name != "covertype":
        return more
    return more._replace(n_splits=3, budgets=COVERTYPE_BUDGETS)


def all_candidates(task: Task, split: Split, quick: bool) -> dict[str, list[Candidate]]:
    """Return the models that each way of saving features has to choose from."""
    nothing = nothing_bought(split)
    n_jobs = 2 if len(split.train.y) > FEW_ROWS else 1
    boosters = COVERTYPE_BOOSTERS if task.name == "covertype" else BOOSTERS
    alone = [nothing, *peers(task, split, sorted({size for _, size in boosters.values()}))]
    pools = {PEER: alone, PEER_BY_ERROR: by_error(alone), ONE_STAGE: [nothing]}
    pools |= {name: by_error([nothing]) for name in (*QUICK, ONE_THRESHOLD, OURS)}
    for name in QUICK if quick else (*FORESTS, *boosters):
        if name in FORESTS:
            path = forest_path(split, FORESTS[name])
        else:
            path = booster_path(split, *boosters[name])
        cascade = path.cascade(*split.validation, refit=split.train, n_jobs=n_jobs)
        own = by_error(within_budgets(cascade, split, name, task.budgets))
        pools[OURS] += own
        if name in pools:
            pools[name] += own
        if name == ONE_PRICE:
            pools[ONE_THRESHOLD] += by_error(with_one_threshold(cascade, split))
        pools[ONE_STAGE] += single_stages(cascade, split, name)
    return pools


def peers(task: Task, split: Split, sizes: list[int]) -> Iterator[Candidate]:
    """Yield CEGB alone at every price, with as many leaves as any of the bases."""
    with ThreadPoolExecutor(2) as workers:
        settings = list(product(task.prices, sizes))
        fits = [
            workers.submit(train, split.train, price, N_TREES, size) for price, size in settings
        ]
        for (price, size), fit in zip(settings, fits, strict=True):
            for model in with_prefixes(fit.result(), PREFIXES):
                yield candidate(model, split, f"price {price:g}, {size} leaves")


def by_error(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return candidates that are to be chosen by their errors on validation samples."""
    return [replace(one, loss=one.error) for one in candidates]


def forest_path(split: Split, n_trees: int) -> tw.PruningPath:
    forest = RandomForestClassifier(n_trees, max_features=None, n_jobs=2, random_state=0)
    forest.fit(*split.train)
    return tw.prune_path(forest, *split.train, loss="log_loss", n_jobs=2)


def booster_path(split: Split, price: float, n_leaves: int) -> tw.PruningPath:
    base = train(split.train, price, N_TREES, n_leaves)
    return tw.prune_path(base, *split.train, n_jobs=2)


def within_budgets(
    cascade: Any, split: Split, name: str, budgets: tuple[float, ...]
) -> Iterator[Candidate]:
    """Yield a cascade with its rule for every budget."""
    dearest = cascade.rules.costs[-1]
    for budget in budgets:
        cost = cascade.rules.costs[cascade.rules.within(budget)]
        yield candidate(cascade.at(budget=budget), split, name, dearest, cost)


def with_one_threshold(cascade: Any, split: Split) -> Iterator[Candidate]:
    """Yield the stages of a cascade with the same threshold for all but the last."""
    margins = cascade.decision_path(split.validation.X).margins
    shares = np.linspace(0, 1, N_THRESHOLDS) ** 2  # low ones matter most to the bill
    for threshold in np.nanquantile(margins, shares):
        thresholds = np.full(len(cascade.stages.forests), threshold)
        yield candidate(with_thresholds(cascade, thresholds), split, ONE_THRESHOLD)


def single_stages(cascade: Any, split: Split, name: str) -> Iterator[Candidate]:
    """Yield each stage of a cascade as a model for all samples."""
    for stage in range(len(cascade.stages.forests)):
        thresholds = np.full(len(cascade.stages.forests), np.inf)  # others are left out
        thresholds[stage] = 0
        yield candidate(with_thresholds(cascade, thresholds), split, name)


def with_thresholds(cascade: Any, thresholds: np.ndarray) -> Any:
    thresholds[-1] = 0  # whoever comes so far stops
    changed = copy(cascade)
    changed.stages = replace(cascade.stages, thresholds=thresholds)
    return changed


def show(task: Task, chosen: dict[str, list[list[Candidate]]]) -> None:
    """Print test errors of the choices of each split, and the bills that go with them."""
    heading(task)
    for name, models in chosen.items():
        line(name, [f"{error:.4f}" for error in errors_of(models).mean(axis=0)])
    peer = better(chosen[PEER], chosen[PEER_BY_ERROR])
    ours, theirs = errors_of(chosen[OURS]).mean(axis=0), errors_of(peer).mean(axis=0)
    line("less the better CEGB alone", [f"{one:+.4f}" for one in ours - theirs])
    line("its standard error", [f"{one:.4f}" for one in standard_errors(chosen[OURS], peer)])
    line("features bought by the cascade", [f"{cost:.1f}" for cost in test_costs(chosen[OURS])])
    line("by the better CEGB alone", [f"{cost:.1f}" for cost in test_costs(peer)])
    enough = [np.array(task.budgets)[theirs <= error] for error in ours]
    line("CEGB alone is as good within", [f"{min(own):g}" if len(own) else "-" for own in enough])
    often = Counter(one.origin for of_split in chosen[OURS] for one in of_split)
    print("  Bases chosen: " + "; ".join(f"{name}: {times}" for name, times in often.most_common()))


def better(first: list[list[Candidate]], second: list[list[Candidate]]) -> list[list[Candidate]]:
    """Return of two ways to choose, at each budget, the one with fewer errors on test samples."""
    take_second = errors_of(second).mean(axis=0) < errors_of(first).mean(axis=0)
    return [list(np.where(take_second, two, one)) for one, two in zip(first, second, strict=True)]


def test_costs(models: list[list[Candidate]]) -> np.ndarray:
    return np.mean([[one.test_cost for one in of_split] for of_split in models], axis=0)


if __name__ == "__main__":
    main()
