"""Boosters that may pay for features while they grow: LightGBM's CEGB, CatBoost's penalties."""

from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import product
from typing import Any

import lightgbm
import numpy as np
from catboost import CatBoostClassifier
from cegb import PARAMETERS
from held_out import Rows, Split

from .choosing import Choice, best_candidate
from .data import Task
from .meter import Predict, of_trees

N_TREES = 200
PREFIXES = (10, 25, 50, 100)  # a booster may stop early
LEAVES = (7, 31)
# Of a feature at the mean price: from next to nothing to where nothing is bought.
TRADEOFFS = tuple(np.geomspace(1e-3, 0.25, 16).tolist())
PENALTIES = {
    "per_object_feature_penalties": tuple(np.geomspace(1e-4, 6e-3, 8).tolist()),
    "first_feature_use_penalties": tuple(np.geomspace(0.1, 12, 8).tolist()),
}


def train(
    rows: Rows,
    n_classes: int,
    n_trees: int = N_TREES,
    n_leaves: int = 31,
    tradeoff: float = 0.0,
    prices: np.ndarray | None = None,
) -> lightgbm.Booster:
    """Train LightGBM; with a tradeoff a split pays for what its samples have not bought yet."""
    parameters: dict[str, Any] = PARAMETERS | {"num_leaves": n_leaves}
    if n_classes > 2:
        parameters |= {"objective": "multiclass", "num_class": n_classes}
    if tradeoff:
        assert prices is not None
        parameters["cegb_tradeoff"] = tradeoff
        parameters["cegb_penalty_feature_lazy"] = list(prices / prices.mean())
    return lightgbm.train(parameters, lightgbm.Dataset(rows.X, rows.y), n_trees)


def after(booster: lightgbm.Booster, n_rounds: int) -> lightgbm.Booster:
    """Return what a booster was after so many rounds."""
    if n_rounds >= booster.current_iteration():
        return booster
    return lightgbm.Booster(model_str=booster.model_to_string(num_iteration=n_rounds))


def cegb(task: Task, split: Split, seed: int, quick: bool) -> Choice:  # noqa: ARG001
    """CEGB at many tradeoffs, of several sizes; plain boosters are among them."""
    tradeoffs = (0.0, 0.01, 0.06) if quick else (0.0, *TRADEOFFS)
    leaves = LEAVES[-1:] if quick else LEAVES
    n_trees = 30 if quick else N_TREES

    def family(rows: Rows) -> list[Callable[[], Predict]]:
        return [
            fit
            for tradeoff, n_leaves in product(tradeoffs, leaves)
            for fit in prefixes(rows, task, n_trees, n_leaves, tradeoff)
        ]

    return best_candidate(family, task, split)


def prefixes(
    rows: Rows, task: Task, n_trees: int, n_leaves: int, tradeoff: float = 0.0
) -> Iterator[Callable[[], Predict]]:
    """Yield a booster after each of some numbers of rounds."""

    @cache
    def trained() -> lightgbm.Booster:
        return train(rows, task.n_classes, n_trees, n_leaves, tradeoff, task.alone)

    for n_rounds in (*(one for one in PREFIXES if one < n_trees), n_trees):
        yield lambda n_rounds=n_rounds: of_trees(after(trained(), n_rounds))


def catboost(task: Task, split: Split, seed: int, quick: bool) -> Choice:
    """CatBoost with penalties of both kinds, at many strengths."""
    settings = [(kind, strength) for kind, own in PENALTIES.items() for strength in own]

    def trained(rows: Rows, kind: str, strength: float) -> Predict:
        penalties = strength * task.alone / task.alone.mean()
        model = CatBoostClassifier(
            iterations=20 if quick else N_TREES,
            random_seed=seed,
            verbose=0,
            allow_writing_files=False,
            thread_count=1,
            **{kind: penalties.tolist()},
        )
        return of_trees(model.fit(*rows))

    def family(rows: Rows) -> list[Callable[[], Predict]]:
        return [partial(trained, rows, *one) for one in (settings[3::8] if quick else settings)]

    return best_candidate(family, task, split)
