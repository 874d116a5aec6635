"""Cascades with a guarantee: how often they break it, and what they save.

A model is trained, pruned and made a cascade on two parts of the data; the third part is the world.
Many times samples are drawn from it to choose a rule that, with 95 % confidence, errs at most so
much more than the whole model. Drawn with replacement, they come from a distribution that is known:
the error of the rule is that on all samples of the world. Without replacement, one half chooses and
the other half is new, as somebody would do who has these data; a difference measured on so few
samples is noisy itself, and passes the limit more often than the rule does.

Where a class is rare, errors hardly see what a model knows. So at the end are ROC AUC and bills of
a rule that is shown to err at most 0.02 more, on new samples of NHANES of which 14 % are ill.
"""

import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from measure import arguments, local_dataset
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import roc_auc_score

import thriftwood as tw

CONFIDENCE = 0.95
LIMITS = (0.01, 0.02, 0.05)
SHARES = (0.35, 0.25)  # to train and to tune; the rest is the world
RARE, RARE_PARTS = 0.14, (350, 155, 1000, 2000)  # to train, to tune, to show, and new


class World(NamedTuple):
    """A tuned cascade, and samples that it has not seen."""

    name: str
    cascade: tw.CascadeClassifier
    X: np.ndarray
    y: np.ndarray


class Drawn(NamedTuple):
    """A rule chosen by one draw: how much more it errs, in the world and among the others."""

    increase: float
    increase_of_others: float
    bill: float
    is_whole_model: bool


def main() -> None:
    options = arguments(__doc__.splitlines()[0])
    n_draws = 20 if options.quick else 200
    for world in worlds(options.quick, options.data):
        measured = Measured(world)
        whole = measured.whole
        print(f"\n{world.name}: {len(world.y)} samples in the world, {n_draws} draws of each kind")
        print(
            f"  the whole model: error {whole.wrong.mean():.4f}, mean bill {whole.bills.mean():.4g}"
        )
        for limit in LIMITS[1:2] if options.quick else LIMITS:
            show(world, measured, limit, n_draws)
    show_rare(2 if options.quick else 8)


def worlds(quick: bool, folder: Path | None) -> Iterator[World]:
    """Yield a forest or a booster of each data set that is at hand."""
    nhanes, heart = tw.datasets.load_nhanes(), tw.datasets.load_heart()
    boosted = HistGradientBoostingClassifier(
        max_iter=20 if quick else 60, max_leaf_nodes=8, random_state=0
    )
    forest = RandomForestClassifier(40, max_features=None, min_samples_leaf=3, random_state=0)
    yield made("heart, forest", forest, heart.X, heart.y, heart.prices)
    yield made("NHANES, booster", boosted, nhanes.X, nhanes.y > 0, nhanes.costs)
    if quick:
        return
    yield made("NHANES, forest", forest, nhanes.X, nhanes.y > 0, nhanes.costs)
    covertype = local_dataset("covertype", folder)
    if covertype is not None:
        some = np.random.default_rng(0).permutation(len(covertype.y))[:15_000]
        X, y = covertype.X[some], covertype.y[some] == 1  # Lodgepole pine
        yield made("Covertype, class 2 or not, booster", boosted, X, y, None)


def made(name: str, model: Any, X: np.ndarray, y: np.ndarray, costs: Any) -> World:
    """Train, prune and tune on two parts of the samples."""
    order = np.random.default_rng(0).permutation(len(y))
    ends = np.cumsum([int(share * len(y)) for share in SHARES])
    train, tune, rest = np.split(order, ends)
    model.fit(X[train], y[train])
    path = tw.prune_path(model, X[train], y[train], costs=costs)
    cascade = path.cascade(X[tune], y[tune], refit=(X[train], y[train]), n_jobs=2)
    return World(name, cascade, X[rest], y[rest])


class Rule(NamedTuple):
    """What a rule does to every sample of the world."""

    wrong: np.ndarray
    bills: np.ndarray


class Measured:
    """Rules as they are in the world, each measured once."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._rules: dict[bytes, Rule] = {}
        cascade = world.cascade
        last_alone = np.append(np.full(len(cascade.stages) - 1, np.inf), 0.0)
        stages = replace(cascade.stages, thresholds=last_alone)
        self.whole = self.of(tw.CascadeClassifier(stages, cascade.prices, cascade.rules))

    def of(self, cascade: tw.CascadeClassifier) -> Rule:
        key = cascade.stages.thresholds.tobytes()
        if key not in self._rules:
            world = self._world
            wrong = cascade.predict(world.X) != world.y
            self._rules[key] = Rule(wrong, cascade.bill(world.X).per_sample)
        return self._rules[key]


def show(world: World, measured: Measured, limit: float, n_draws: int) -> None:
    """Print how often rules pass a limit, and what they save."""
    for again in (True, False):
        drawn = list(draws(world, measured, limit, n_draws, again))
        passed = np.mean([one.increase > limit for one in drawn])
        among_others = np.mean([one.increase_of_others > limit for one in drawn])
        bill = np.mean([one.bill for one in drawn])
        whole = np.mean([one.is_whole_model for one in drawn])
        kind = "all, drawn with replacement" if again else "half, the others are new"
        others = "" if again else f", among the others by {among_others:.1%}"
        print(
            f"  limit {limit:g}, {kind}: passed in the world by {passed:.1%}{others}; mean "
            f"increase {np.mean([one.increase for one in drawn]):+.4f}, mean bill {bill:.4g}, "
            f"whole model {whole:.0%}",
            flush=True,
        )


def show_rare(n_seeds: int) -> None:
    """Print how well whole models, cascades and rules that are shown to err little tell the ill."""
    for class_weight in (None, "balanced"):
        found = np.array([rare(class_weight, seed) for seed in range(n_seeds)])
        print(f"\nNHANES, {RARE:.0%} ill, forest, class_weight={class_weight}, {n_seeds} splits:")
        for name, of_model in zip(
            ("whole", "cascade", "guaranteed"), found.swapaxes(0, 1), strict=True
        ):
            area, wrong, bill = of_model.mean(axis=0)
            worst = (found[:, 0, 0] - of_model[:, 0]).max()
            print(
                f"  {name:10s} ROC AUC {area:.3f} (at worst {worst:.3f} less), error {wrong:.3f}, "
                f"mean bill {bill:.4g}",
                flush=True,
            )


def rare(class_weight: str | None, seed: int) -> list[tuple[float, float, float]]:
    """Return ROC AUC, error and mean bill of the whole model, a cascade, and one that is tested."""
    people, rng = tw.datasets.load_nhanes(), np.random.default_rng(seed)
    target = (people.y == 2).astype(int)
    ill, well = (rng.permutation(np.flatnonzero(target == k)) for k in (1, 0))
    parts = []
    for n_samples in RARE_PARTS:
        n_ill = round(RARE * n_samples)
        some = np.concatenate([ill[:n_ill], well[: n_samples - n_ill]])
        parts.append((people.X[some], target[some]))
        ill, well = ill[n_ill:], well[n_samples - n_ill :]
    train, tune, test, (X, y) = parts
    forest = RandomForestClassifier(25, class_weight=class_weight, random_state=seed).fit(*train)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cascade = tw.prune_path(forest, *train, costs=people.costs).cascade(*tune)
        tested = cascade.guaranteed(*test, max_error_increase=0.02, confidence=CONFIDENCE)
    return [
        (
            roc_auc_score(y, model.predict_proba(X)[:, 1]),
            (model.predict(X) != y).mean(),
            tw.feature_bill(model, X, people.costs).mean,
        )
        for model in (forest, cascade, tested)
    ]


def draws(
    world: World, measured: Measured, limit: float, n_draws: int, again: bool
) -> Iterator[Drawn]:
    """Choose a rule on samples drawn from the world, again and again."""
    rng, n_samples = np.random.default_rng(1), len(world.y)
    for _ in range(n_draws):
        size = n_samples if again else n_samples // 2
        own = rng.choice(n_samples, size, replace=again)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            cascade = world.cascade.guaranteed(
                world.X[own], world.y[own], max_error_increase=limit, confidence=CONFIDENCE
            )
        rule = measured.of(cascade)
        more = rule.wrong.astype(float) - measured.whole.wrong
        others = np.setdiff1d(np.arange(n_samples), own)
        yield Drawn(more.mean(), more[others].mean(), rule.bills.mean(), bool(said))


if __name__ == "__main__":
    main()
