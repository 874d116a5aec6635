"""What most people do: a fixed set of features for everybody, and models trained on it again."""

from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import product
from typing import Any

import lightgbm
import numpy as np
from held_out import Rows, Split
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from thriftwood.thrifty import PricedUnits

from .boosters import N_TREES, prefixes, train
from .choosing import Choice, best_candidate
from .data import Task
from .meter import Predict, of_fixed_set, of_trees

N_CANDIDATES = 22
FORWARD_STEPS = 16
IMPORTANT = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 22, 27, 36, 50, 70, 100, 150, 220)
MOST_ROWS = 4_000  # that forward selection looks at


def forward_selection(task: Task, split: Split, seed: int, quick: bool) -> Choice:
    """Sets that grow by the feature that lowers the loss of a small booster most per price."""
    order = forward_order(task, split, 3 if quick else FORWARD_STEPS)
    return choice_of_sets(
        [order[: size + 1] for size in range(len(order))], task, split, seed, quick
    )


def by_importance(task: Task, split: Split, seed: int, quick: bool) -> Choice:
    """Sets of the features with the largest gain in a booster, or the largest gain per price."""
    gains = gains_of(task, split)
    orders = [np.argsort(-gains, kind="stable")]
    if len(set(task.alone)) > 1:
        orders.append(np.argsort(-gains / task.alone, kind="stable"))
    sizes = IMPORTANT[1:4] if quick else [size for size in IMPORTANT if size <= len(gains)]
    sets = [order[:size].tolist() for order, size in product(orders, sizes)]
    return choice_of_sets(sets, task, split, seed, quick)


def forward_order(task: Task, split: Split, n_steps: int) -> list[int]:
    """Order features by greedy forward selection among those that a booster gains most by."""
    gains = gains_of(task, split)
    units = PricedUnits(task.price_list)
    by_gain = np.argsort(-gains, kind="stable")[:N_CANDIDATES]
    by_price = np.argsort(-gains / task.alone, kind="stable")[:N_CANDIDATES]
    left = list(dict.fromkeys([*by_gain.tolist(), *by_price.tolist()]))
    chosen: list[int] = []
    loss = small_loss([], task, split)
    for _ in range(min(n_steps, len(left))):
        losses = np.array([small_loss([*chosen, k], task, split) for k in left])
        more = np.array([units.price([*chosen, k]) - units.price(chosen) for k in left])
        worth = (loss - losses) / np.maximum(more, 1e-9)
        # Where nothing lowers the loss, the feature that raises it least is the next.
        best = int(worth.argmax()) if worth.max() > 0 else int(losses.argmin())
        chosen.append(left.pop(best))
        loss = losses[best]
    return chosen


def gains_of(task: Task, split: Split) -> np.ndarray:
    booster = train(split.train, task.n_classes, 100)
    return booster.feature_importance("gain")


def small_loss(columns: list[int], task: Task, split: Split) -> float:
    """Return the log loss of a small booster on samples to choose."""
    some = Rows(split.train.X[:MOST_ROWS], split.train.y[:MOST_ROWS])
    others = Rows(split.validation.X[:MOST_ROWS], split.validation.y[:MOST_ROWS])
    if not columns:
        shares = np.bincount(some.y, minlength=task.n_classes) / len(some.y)
        return float(-np.log(shares[others.y]).mean())
    booster = train(Rows(some.X[:, columns], some.y), task.n_classes, 40, 15)
    probability, _ = of_fixed_set([booster], list(range(len(columns))))(others.X[:, columns])
    return float(-np.log(np.maximum(probability[np.arange(len(others.y)), others.y], 1e-6)).mean())


def choice_of_sets(
    sets: list[list[int]], task: Task, split: Split, seed: int, quick: bool
) -> Choice:
    """Choose among sets, each with boosters, forests and their mean."""

    def family(rows: Rows) -> list[Callable[[], Predict]]:
        return [fit for columns in sets for fit in models_on(columns, rows, seed, quick)]

    return best_candidate(family, task, split)


def models_on(
    columns: list[int], rows: Rows, seed: int, quick: bool
) -> Iterator[Callable[[], Predict]]:
    own = np.ascontiguousarray(rows.X[:, columns])

    @cache
    def trained(name: str) -> Any:
        return learners(seed, quick)[name].fit(own, rows.y)

    names = list(learners(seed, quick))
    for mixture in (*([name] for name in names), names):
        yield lambda mixture=mixture: of_fixed_set(list(map(trained, mixture)), columns)


def learners(seed: int, quick: bool) -> dict[str, Any]:
    n_trees, n_grown = (10, 5) if quick else (N_TREES, 100)
    return {
        "booster": lightgbm.LGBMClassifier(n_estimators=n_trees, n_jobs=1, verbose=-1),
        "random forest": RandomForestClassifier(n_grown, random_state=seed),
        "extra trees": ExtraTreesClassifier(n_grown, random_state=seed),
    }


def plain_models(task: Task, split: Split, seed: int, quick: bool) -> Choice:
    """Boosters and forests of many sizes on all features: what nobody made cheap."""
    n_trees = 20 if quick else N_TREES
    sizes = list(product((1, 3, 10, 40), (1, 2, 4, None), (None, "sqrt")))

    def grown(rows: Rows, n_grown: int, depth: int | None, tried: str | None) -> Predict:
        options = {"max_depth": depth, "max_features": tried, "random_state": seed}
        return of_trees(RandomForestClassifier(n_grown, **options).fit(*rows))

    def family(rows: Rows) -> list[Callable[[], Predict]]:
        boosters = [
            fit for n_leaves in (2, 4, 31) for fit in prefixes(rows, task, n_trees, n_leaves)
        ]
        return [*boosters, *(partial(grown, rows, *one) for one in sizes[: 1 if quick else None])]

    return best_candidate(family, task, split)
