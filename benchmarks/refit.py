"""Refitting all leaf values together: how long it takes, and what it does to errors.

Times are ratios within one run: alternating, medians, against growing the forest on the same two
cores. Errors are those of test samples, before and after, at budgets where a forest has lost much.
"""

from collections import Counter

import numpy as np
from held_out import Rows
from measure import alternate, arguments, covertype, local_dataset, seconds_of
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw

N_TREES = 40
STRENGTH = 0.1  # of the fits that are timed with a strength given
GIVEN = (1.0, 0.3, 0.1, 0.03)  # of those whose errors are shown, too
LOSS = "expected_error"  # of the prunings whose errors are shown
COSTS = (10.0, 5.3)  # mean features of a sample; the nearest points of the path are taken


def main() -> None:
    options = arguments(__doc__.splitlines()[0])
    n_samples = 2_000 if options.quick else 36_603
    against_training(n_samples, 1 if options.quick else options.repeats, options.data)
    n_seeds = 1 if options.quick else 10
    parts, title = rows_for_errors(options.data)
    errors(parts, title, n_seeds)


def grow(seed: int) -> RandomForestClassifier:
    return RandomForestClassifier(N_TREES, max_features=None, n_jobs=2, random_state=seed)


def against_training(n_samples: int, repeats: int, folder) -> None:
    X, y, title = covertype(n_samples, folder)
    warm_up(X, y)
    model = grow(0).fit(X, y)
    path = tw.prune_path(model, X, y, n_jobs=2)
    points = {
        "first point of the path": path[0],
        "best within half its cost": path.at(budget=path.costs[0] / 2),
    }
    print(f"\n{title}, {N_TREES} trees, {len(model.classes_)} classes, two cores")
    work = [lambda: seconds_of(lambda: grow(0).fit(X, y))]
    for point in points.values():
        work += [
            lambda point=point: seconds_of(lambda: point.refit(X, y, n_jobs=2)),
            lambda point=point: seconds_of(lambda: point.refit(X, y, strength=STRENGTH, n_jobs=2)),
        ]
    fit, *seconds = alternate(repeats, *work)
    print(f"  growing the forest {fit:.2f} s")
    for number, (name, point) in enumerate(points.items()):
        chosen, given = seconds[2 * number : 2 * number + 2]
        print(
            f"  {name}, {point.n_splits} splits, {point.cost:.1f} features: refit with its "
            f"strength chosen out of bag {chosen:.2f} s = {chosen / fit:.2f} of growing; at a "
            f"given strength {given:.2f} s = {given / fit:.2f}"
        )


def warm_up(X: np.ndarray, y: np.ndarray) -> None:
    """Load the compiled code, so that it is not timed."""
    model = grow(0).fit(X[:500], y[:500])
    tw.prune_path(model, X[:500], y[:500], n_jobs=2)[0].refit(X[:500], y[:500], n_jobs=2)


def errors(parts: list[Rows], title: str, n_seeds: int) -> None:
    train, validation, test = parts
    print(
        f"\n{title}: {len(train.y)} samples to train, {len(validation.y)} to validate, "
        f"{len(test.y)} to test; {N_TREES} trees, {n_seeds} seeds of the forest, loss {LOSS!r}\n"
        "  Test errors: mean, and range"
    )
    paths = [
        tw.prune_path(grow(seed).fit(*train), *train, loss=LOSS, n_jobs=2)
        for seed in range(n_seeds)
    ]
    for cost in COSTS:
        prunings = [nearest(path, cost) for path in paths]
        bills = [tw.feature_bill(pruned.model, test.X).mean for pruned in prunings]
        print(
            f"  about {cost:g} features: {np.mean(bills):.1f} on test samples ({min(bills):.1f} to "
            f"{max(bills):.1f})"
        )
        show("pruned", prunings, test)
        show("out of bag", [pruned.refit(*train, n_jobs=2) for pruned in prunings], test)
        show(
            "validation samples",
            [pruned.refit(*train, validation=validation, n_jobs=2) for pruned in prunings],
            test,
        )
        for strength in GIVEN:
            refitted = [pruned.refit(*train, strength=strength, n_jobs=2) for pruned in prunings]
            show("given", refitted, test)


def nearest(path: tw.PruningPath, cost: float) -> tw.Pruned:
    return path.at(index=int(np.argmin(np.abs(path.costs - cost))))


def show(name: str, models: list[tw.Pruned], test: Rows) -> None:
    """Print test errors, and how often the models were refitted with which strength."""
    own = [float(np.mean(one.model.predict(test.X) != test.y)) for one in models]
    strengths = Counter(one.refitted.strength for one in models if one.refitted is not None)
    often = ", ".join(f"{strength:g} ({times})" for strength, times in sorted(strengths.items()))
    words = f"refitted, {name}: {often}" if often else name
    print(f"    {np.mean(own):.4f} ({min(own):.4f} to {max(own):.4f}) {words}")


def rows_for_errors(folder) -> tuple[list[Rows], str]:
    """Return the published parts of MiniBooNE, or parts of NHANES where it is not at hand."""
    data = local_dataset("miniboone_tiny", folder)
    part = None if data is None else data.split
    if data is None or part is None:
        print("Taking the bundled NHANES instead.")
        data = tw.datasets.load_nhanes()
        part = np.random.default_rng(0).choice(3, len(data.y), p=(0.4, 0.2, 0.4))
    return [Rows(data.X[part == one], data.y[part == one]) for one in range(3)], data.name


if __name__ == "__main__":
    main()
