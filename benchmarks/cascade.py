"""Cascades within a budget: CEGB alone, pruned models, and cascades of prunings.

Forests and boosters, plain or lightly trained with CEGB, are pruned; points of each path become the
stages of a cascade, refitted on the training rows, and its rules to stop are tuned on validation
rows. Within every budget the base is chosen on the validation rows, too. CEGB alone is trained at
many prices of a feature, may stop early, and is chosen on the same rows. Errors and bills are those
of test rows. Every feature costs 1, and one meter counts for all.

Bases are compared by the share of validation rows that their cascades get wrong, at the rule for
the budget. That was settled on seeds 0 to 2, the splits here begin with seed 100.
"""

from collections import Counter
from collections.abc import Iterator
from copy import copy
from dataclasses import replace
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
from pruned_points import pruned_candidates
from sklearn.ensemble import RandomForestClassifier
from tasks import Task, heading, tasks

import thriftwood as tw

PEER_TREES = 200
PEER_PREFIXES = (10, 25, 50, 100)
BASE_TREES = 100  # of boosters that become cascades
FIRST_SEED = 100
FOREST_LOSS = "log_loss"  # for paths of forests
LEAF_SIZES = (1, 2, 5)  # of forests
LIGHT_PRICES = (0.003, 0.006, 0.01, 0.02)  # of boosters that become cascades
# On covertype with its many rows a feature pays off sooner.
COVERTYPE_PRICES = (0.002, 0.005, 0.01, 0.02)
COVERTYPE_BUDGETS = (18, 14.9, 12.3, 10, 8, 6.9, 6, 5, 4.2, 3)
MORE_PRICES = (0.001, 0.008, 0.1, 0.18)  # of the peer, besides those of the task
N_THRESHOLDS = 60  # to try where there is one for all stages

PEER = "CEGB alone"
PEER_BY_ERROR = "CEGB alone, chosen by errors"
POINTS = "pruned, refitted, no cascade"
FOREST = "forest, cascade"
PLAIN = "plain booster, cascade"
LIGHT = "light CEGB, cascade"
ONE_THRESHOLD = "the same, one threshold"
OURS = "cascade of the best base"


def main() -> None:
    options = arguments(__doc__.splitlines()[0])
    for task in tasks(options.quick, options.data):
        if not options.quick:
            task = in_full(task)
        chosen = []
        for number in range(task.n_splits):
            split = draw_split(task.X, task.y, task.sizes, FIRST_SEED + number)
            chosen.append(choose(all_candidates(task, split), task.budgets))
        show(task, {name: [own[name] for own in chosen] for name in chosen[0]})


def in_full(task: Task) -> Task:
    """Return a task with more prices for the peer, and on covertype with other budgets."""
    more = task._replace(prices=tuple(sorted({*task.prices, *MORE_PRICES})))
    if task.name != "covertype":
        return more
    return more._replace(n_splits=3, budgets=COVERTYPE_BUDGETS)


def all_candidates(task: Task, split: Split) -> dict[str, list[Candidate]]:
    """Return the models that each way of saving features has to choose from."""
    nothing = nothing_bought(split)
    alone = [nothing, *peers(task, split)]
    pools = {PEER: alone, PEER_BY_ERROR: [replace(one, loss=one.error) for one in alone]}
    pools |= {POINTS: [nothing], FOREST: [], PLAIN: [], LIGHT: [], ONE_THRESHOLD: [], OURS: []}
    for origin, path in paths(task, split):
        cascade = path.cascade(*split.validation, refit=split.train, n_jobs=2)
        own = cascade_candidates(cascade, split, origin, task.budgets)
        pools[OURS] += own
        if origin in pools:
            pools[origin] += own
        if origin == LIGHT:
            pools[ONE_THRESHOLD] += with_one_threshold(cascade, split)
        pools[POINTS] += pruned_candidates(path, split, origin, task.budgets)[1]
    return pools


def peers(task: Task, split: Split) -> Iterator[Candidate]:
    for price in task.prices:
        whole = train(split.train, price, PEER_TREES)
        for model in with_prefixes(whole, PEER_PREFIXES):
            yield candidate(model, split, f"price {price:g}")


def paths(task: Task, split: Split) -> Iterator[tuple[str, tw.PruningPath]]:
    """Yield a path for each base; those that have a line of their own bear its name."""
    for leaf_size in LEAF_SIZES:
        forest = RandomForestClassifier(
            40, max_features=None, min_samples_leaf=leaf_size, n_jobs=2, random_state=0
        )
        forest.fit(*split.train)
        name = FOREST if leaf_size == LEAF_SIZES[0] else f"forest, leaves of {leaf_size}"
        yield name, tw.prune_path(forest, *split.train, loss=FOREST_LOSS, n_jobs=2)
    light = COVERTYPE_PRICES if task.name == "covertype" else LIGHT_PRICES
    for price in (0, *sorted({*light, task.light})):
        name = {0: PLAIN, task.light: LIGHT}.get(price, f"price {price:g}")
        base = train(split.train, price, BASE_TREES)
        yield name, tw.prune_path(base, *split.train, n_jobs=2)


def cascade_candidates(
    cascade: Any, split: Split, origin: str, budgets: tuple[float, ...]
) -> list[Candidate]:
    """Return a cascade with its rule for every budget."""
    rules, found = cascade.rules, []
    for budget in budgets:
        rule, model = rules.within(budget), cascade.at(budget=budget)
        cost, error = rules.costs[rule], rules.errors[rule]
        found.append(Candidate(origin, rules.costs[-1], cost, error, error, model, split.test))
    return found


def with_one_threshold(cascade: Any, split: Split) -> Iterator[Candidate]:
    """Yield the stages of a cascade with the same threshold for all but the last."""
    looks = cascade.decision_path(split.validation.X).margins
    for threshold in np.nanquantile(looks, np.linspace(0, 1, N_THRESHOLDS)):
        thresholds = np.full(len(cascade.stages.forests), threshold)
        thresholds[-1] = 0
        model = copy(cascade)
        model.stages = replace(cascade.stages, thresholds=thresholds)
        found = candidate(model, split, ONE_THRESHOLD)
        yield replace(found, loss=found.error)


def show(task: Task, chosen: dict[str, list[list[Candidate]]]) -> None:
    """Print test errors of the choices of each split, and the bills that go with them."""
    heading(task)
    for name, models in chosen.items():
        line(name, [f"{error:.4f}" for error in errors_of(models).mean(axis=0)])
    peer = stronger(chosen[PEER], chosen[PEER_BY_ERROR])
    ours, theirs = errors_of(chosen[OURS]).mean(axis=0), errors_of(peer).mean(axis=0)
    line("less the better CEGB alone", [f"{one:+.4f}" for one in ours - theirs])
    line("its standard error", [f"{one:.4f}" for one in standard_errors(chosen[OURS], peer)])
    line("features bought on test rows", [f"{cost:.1f}" for cost in test_costs(chosen[OURS])])
    line("by the better CEGB alone", [f"{cost:.1f}" for cost in test_costs(peer)])
    enough = [[*np.array(task.budgets)[theirs <= error]] for error in ours]
    line("CEGB alone has that error at", [f"{min(own):g}" if own else "-" for own in enough])
    often = Counter(one.origin for of_split in chosen[OURS] for one in of_split)
    print("  Bases chosen: " + ", ".join(f"{name} {times}" for name, times in often.most_common()))


def stronger(first: list[list[Candidate]], second: list[list[Candidate]]) -> list[list[Candidate]]:
    """Return of two ways to choose, at each budget, the one with fewer test errors."""
    take_second = errors_of(second).mean(axis=0) < errors_of(first).mean(axis=0)
    return [list(np.where(take_second, two, one)) for one, two in zip(first, second, strict=True)]


def test_costs(models: list[list[Candidate]]) -> np.ndarray:
    return np.mean([[one.test_cost for one in of_split] for of_split in models], axis=0)


if __name__ == "__main__":
    main()
