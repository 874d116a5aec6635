"""The main job on the bundled heart data: the frontier of a forest, and what a budget buys.

Run it with `make demo`. Tests that share a fee (one blood sample for two tests, one stress test for
three) pay it once, so the dollars are those of the published price list.
"""

import matplotlib.pyplot as plt
import numpy as np
from picture import picture_file
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold

import thriftwood as tw

BUDGETS = (310, 280, 200, 5)
# Out-of-fold figures of one forest are noisy: average over this many ways to cut the data.
REPEATS = 3


def main() -> None:
    picture = picture_file(__doc__)
    heart = tw.datasets.load_heart()
    print(heart)
    print(f"Prices from {heart.source.split('prices: ')[1]}.")
    print("Who takes several tests of a group pays its fee once.\n")
    show_prices(heart)

    path = frontier(heart, np.arange(len(heart.y)))
    print(f"\n{path}\n\n{path.at(budget=200)}")
    rows = measure(heart)
    show(rows, heart.unit)
    draw(path, rows, len(heart.y), picture)


def frontier(heart, train):
    """Grow a forest on some patients and compute all its optimal prunings."""
    X, y = heart.X[train], heart.y[train]
    forest = RandomForestClassifier(40, max_features=None, max_depth=4, random_state=0)
    return tw.prune_path(forest.fit(X, y), X, y, costs=heart.prices)


def measure(heart):
    """Return bill, accuracy and number of tests of the full forest (None) and within each budget.

    The figures are means over patients that training did not see.
    """
    rows = {budget: [] for budget in (None, *BUDGETS)}
    for train, test in folds(heart):
        path = frontier(heart, train)
        rows[None].append(figures(path.model, heart, test))
        for budget in BUDGETS:
            rows[budget].append(figures(path.at(budget=budget).model, heart, test))
    return {budget: np.mean(of_folds, axis=0) for budget, of_folds in rows.items()}


def folds(heart):
    """Yield training and test samples: every patient is tested once in each repeat."""
    for seed in range(REPEATS):
        yield from StratifiedKFold(5, shuffle=True, random_state=seed).split(heart.X, heart.y)


def figures(model, heart, test):
    """Return bill, accuracy and number of tests bought on patients that training did not see."""
    X, y = heart.X[test], heart.y[test]
    return (
        tw.feature_bill(model, X, heart.prices).mean,
        model.score(X, y),
        tw.feature_bill(model, X).mean,
    )


def show_prices(heart) -> None:
    for name, price, group in zip(
        heart.feature_names, heart.costs_in_group, heart.cost_groups, strict=True
    ):
        fee = f" and {heart.group_fees[group]:.2f} once for group {group}" if group else ""
        print(f"  {name:10s}{price:8.2f} {heart.unit}{fee}")


def show(rows, unit) -> None:
    print(f"\nMean of {REPEATS} x 5 folds, on patients that training did not see:\n")
    print(f"  {'forest':28s}{unit + ' per patient':>18s}{'tests':>8s}{'accuracy':>10s}")
    full_bill = rows[None][0]
    for budget, (bill, accuracy, n_tests) in rows.items():
        name = "full" if budget is None else f"best within {budget} {unit}"
        share = f"({bill / full_bill:.0%})"
        print(f"  {name:28s}{bill:11.2f} {share:6s}{n_tests:8.1f}{accuracy:10.3f}")
    print("\nEvery pruned forest is an exact optimum on the training patients.")


def draw(path, rows, n_patients, target) -> None:
    blue, orange = "#0072B2", "#D55E00"  # told apart by colour-blind readers too
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    path.plot(left)
    left.set_title(f"All {len(path)} optimal prunings of a forest")
    left.set_xlabel("mean bill of a patient (Canadian dollars)")

    for budgets, look, colour, size, name in (
        (BUDGETS, "o-", blue, 6, "pruned within a budget"),
        ((None,), "*", orange, 15, "full forest"),
    ):
        bills, accuracies, _ = np.array([rows[budget] for budget in budgets]).T
        # Repeats test the same patients again, so they make no more patients of them.
        error = np.sqrt(accuracies * (1 - accuracies) / n_patients)
        right.errorbar(
            bills, accuracies, error, fmt=look, color=colour, ms=size, capsize=3, label=name
        )
    right.set_title("On patients that training did not see")
    right.set_xlabel("mean bill of a patient (Canadian dollars)")
    right.set_ylabel("accuracy ± one standard error")
    right.legend(frameon=False, loc="lower right")
    for axes in (left, right):
        axes.set_xlim(left=0)
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(target, dpi=100)
    print(f"\nDrew {target}.")


if __name__ == "__main__":
    main()
