"""BudgetRF: growing it against scikit-learn's random forest, and against its authors' program.

Ratios within one run, alternating, medians: the time to grow 40 trees on Covertype, and how far
that raises the memory of its process, over those of `RandomForestClassifier(max_features=None)` on
the same cores. Then test errors and bills on the sample of MiniBooNE that the authors ship with
their program, beside what that program prints there.
"""

from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

import numpy as np
from measure import alternate, arguments, covertype, local_dataset, peak_bytes, seconds_of
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw

N_TREES = 40
KINDS = {
    "RandomForestClassifier": partial(RandomForestClassifier, N_TREES, max_features=None),
    "BudgetForestClassifier": partial(tw.BudgetForestClassifier, N_TREES),
    "  alpha=2": partial(tw.BudgetForestClassifier, N_TREES, alpha=2),
    "  entropy": partial(tw.BudgetForestClassifier, N_TREES, impurity="entropy"),
}
# What the authors' program printed on its own sample: vote error and mean features, four runs of
# the first setting and one of each other.
AUTHORS = {
    "alpha 0": ({"alpha": 0}, ".0900 to .0955", "33.2 to 35.1"),
    "alpha 2": ({"alpha": 2}, ".0975", "27.6"),
    "alpha 8": ({"alpha": 8}, ".1135", "17.4"),
    "entropy": ({"impurity": "entropy"}, ".0880", "35.0"),
}


def main() -> None:
    options = arguments(__doc__.splitlines()[0])
    n_samples = 1_000 if options.quick else 36_603
    repeats = 1 if options.quick else options.repeats
    for n_jobs in (2,) if options.quick else (1, 2):
        against_scikit_learn(n_samples, n_jobs, repeats, options.data)
    against_the_authors(1 if options.quick else 10, options.data)


def against_scikit_learn(n_samples: int, n_jobs: int, repeats: int, folder) -> None:
    X, y, title = covertype(n_samples, folder)
    for name in KINDS:
        warm_up(name, X, y)
    models = {name: make(n_jobs=n_jobs, random_state=0) for name, make in KINDS.items()}
    seconds = alternate(
        repeats,
        *[lambda model=model: seconds_of(lambda: model.fit(X, y)) for model in models.values()],
    )
    print(f"\n{title}, {N_TREES} trees, {n_jobs} cores")
    memory = {name: peak_of_its_own(name, n_samples, n_jobs, folder) for name in models}
    first = next(iter(models))
    for (name, model), own in zip(models.items(), seconds, strict=True):
        n_splits = sum(tree.tree_.node_count // 2 for tree in model.estimators_)
        print(
            f"  {name:24s} {own:6.2f} s = {own / seconds[0]:.2f} of the first, "
            f"{memory[name]:4.0f} MiB = {memory[name] / memory[first]:.2f}, {n_splits} splits"
        )


def warm_up(name: str, X, y) -> None:
    """Load the compiled code, so that it is not timed."""
    KINDS[name](n_jobs=2).fit(X[:200], y[:200])


def peak_of_its_own(name: str, n_samples: int, n_jobs: int, folder) -> float:
    """Return by how many MiB growing raises the memory of a fresh process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as other:
        return other.submit(peak_memory, name, n_samples, n_jobs, folder).result()


def peak_memory(name: str, n_samples: int, n_jobs: int, folder) -> float:
    X, y, _ = covertype(n_samples, folder)
    warm_up(name, X, y)
    model = KINDS[name](n_jobs=n_jobs, random_state=0)
    return peak_bytes(lambda: model.fit(X, y)) / 2**20


def against_the_authors(n_seeds: int, folder) -> None:
    data = local_dataset("miniboone_tiny", folder)
    if data is None:
        return
    train, test = data.split == 0, data.split == 2
    print(
        f"\nminiboone_tiny, 2000 training and 2000 test samples, {N_TREES} trees, {n_seeds} seeds, "
        "beside the authors' program"
    )
    for name, (settings, their_error, their_cost) in AUTHORS.items():
        errors, costs = [], []
        for seed in range(n_seeds):
            model = tw.BudgetForestClassifier(N_TREES, random_state=seed, n_jobs=2, **settings)
            model.fit(data.X[train], data.y[train])
            votes = [tree.predict(data.X[test]) for tree in model.estimators_]
            errors.append(np.mean((np.mean(votes, axis=0) > 0.5) != data.y[test]))
            costs.append(tw.feature_bill(model, data.X[test]).mean)
        print(
            f"  {name}  vote error {np.mean(errors):.4f} ({min(errors):.4f} to {max(errors):.4f}; "
            f"theirs {their_error}), features {np.mean(costs):.1f} ({min(costs):.1f} to "
            f"{max(costs):.1f}; theirs {their_cost})"
        )


if __name__ == "__main__":
    main()
