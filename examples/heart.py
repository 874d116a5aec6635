"""The main job on the bundled heart data: what a forest costs a patient, and a cheaper one.

Run it with `make demo`. It prices every test on its own. Some tests share a fee in truth (one blood
draw for two tests, one stress test for three), so the real bill of a patient who takes several of
them is lower than shown.
"""

import argparse

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold

import thriftwood as tw

PICTURE_TRADEOFFS = (5e-5, 1e-4, 1.5e-4, 2e-4, 2.5e-4, 3e-4, 4e-4, 5e-4, 6e-4, 8e-4, 1e-3, 1.5e-3)
TRADEOFFS = (0.0, 1e-4, 2e-4, 4e-4, 6e-4, 1e-3)
# Out-of-fold figures of one forest are noisy: average over this many ways to cut the data.
REPEATS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", metavar="FILE", help="draw cost against accuracy instead")
    options = parser.parse_args()
    heart = tw.datasets.load_heart()
    if options.picture:
        draw(measure(heart, PICTURE_TRADEOFFS), options.picture)
        return
    print(heart)
    print(f"Prices from {heart.source.split('prices: ')[1]}.")
    print("Every test is priced on its own. Some share a fee in truth (one blood draw for two, one")
    print("stress test for three); such discounts are not counted yet, so real bills are lower.\n")
    show_prices(heart)
    show(measure(heart, TRADEOFFS), heart.unit)


def measure(heart, tradeoffs):
    """Return bill, accuracy and number of tests of the full forest (None) and at each tradeoff.

    The figures are means over patients that training did not see.
    """
    rows = {tradeoff: [] for tradeoff in (None, *tradeoffs)}
    for train, test in folds(heart):
        X, y = heart.X[train], heart.y[train]
        forest = RandomForestClassifier(40, max_features=None, min_samples_leaf=2, random_state=0)
        forest.fit(X, y)
        rows[None].append(figures(forest, heart, test))
        for tradeoff in tradeoffs:
            pruned = tw.prune(forest, X, y, costs=heart.costs, tradeoff=tradeoff)
            rows[tradeoff].append(figures(pruned.model, heart, test))
    return {tradeoff: np.mean(of_folds, axis=0) for tradeoff, of_folds in rows.items()}


def folds(heart):
    """Yield training and test rows: every patient is tested once in each repeat."""
    for seed in range(REPEATS):
        yield from StratifiedKFold(5, shuffle=True, random_state=seed).split(heart.X, heart.y)


def figures(model, heart, test):
    """Return bill, accuracy and number of tests bought on patients that training did not see."""
    X, y = heart.X[test], heart.y[test]
    return (
        tw.feature_bill(model, X, heart.costs).mean,
        model.score(X, y),
        tw.feature_bill(model, X).mean,
    )


def show_prices(heart) -> None:
    for name, price in zip(heart.feature_names, heart.costs, strict=True):
        print(f"  {name:10s}{price:8.2f} {heart.unit}")


def show(rows, unit) -> None:
    print(f"\nMean of {REPEATS} x 5 folds, on patients that training did not see:\n")
    print(f"  {'forest':28s}{unit + ' per patient':>18s}{'tests':>8s}{'accuracy':>10s}")
    full_bill = rows[None][0]
    for tradeoff, (bill, accuracy, n_tests) in rows.items():
        name = "full" if tradeoff is None else f"pruned at tradeoff {tradeoff:g}"
        share = f"({bill / full_bill:.0%})"
        print(f"  {name:28s}{bill:11.2f} {share:6s}{n_tests:8.1f}{accuracy:10.3f}")
    print("\nEvery pruned forest is the proven optimum of its tradeoff on the training patients.")


def draw(rows, target) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    full_bill, full_accuracy, _ = rows.pop(None)
    bills, accuracies, _ = zip(*rows.values(), strict=True)
    blue, orange = "#0072B2", "#D55E00"  # told apart by colour-blind readers too
    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    axes.plot(bills, accuracies, "o-", color=blue, label="pruned (optimal on training rows)")
    axes.plot(full_bill, full_accuracy, "*", color=orange, markersize=15, label="full forest")
    axes.set_xlabel("mean bill of a patient (Canadian dollars)")
    axes.set_ylabel("accuracy on unseen patients")
    axes.set_title("Heart disease: a random forest of 40 trees, before and after pruning")
    axes.set_xlim(left=0)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower right")
    figure.savefig(target, dpi=130)
    print(f"wrote {target}")


if __name__ == "__main__":
    main()
