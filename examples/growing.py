"""Growing with prices in mind: BudgetRF against a random forest, both pruned.

BudgetRF divides what a split gains by its price while trees grow, so that cheap features come first
and dear ones only where they are needed. The forest is cheaper before anything is pruned. Pruning
brings the random forest down as well: the picture shows both paths on people that training did not
see, and how far apart two errors must be to mean something.
"""

import matplotlib.pyplot as plt
from picture import picture_file
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import thriftwood as tw


def main() -> None:
    picture = picture_file(__doc__)
    people = tw.datasets.load_nhanes()  # is the blood sugar of a person raised?
    X, X_new, y, y_new = train_test_split(people.X, people.y > 0, test_size=0.5, random_state=0)
    forests = {
        "random forest": RandomForestClassifier(
            20, max_features=None, min_samples_leaf=5, random_state=0
        ),
        "BudgetRF": tw.BudgetForestClassifier(
            20, costs=people.costs, impurity="entropy", min_samples_leaf=5, random_state=0
        ),
    }
    looks = {"random forest": ("s--", "#D55E00"), "BudgetRF": ("o-", "#0072B2")}
    figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for name, forest in forests.items():
        path = tw.prune_path(forest.fit(X, y), X, y, costs=people.prices)
        measured = path.evaluate(X_new, y_new)
        bill, error = (
            tw.feature_bill(forest, X_new, people.prices).mean,
            1 - forest.score(X_new, y_new),
        )
        print(f"{name}: bill {bill:.1f}, error {error:.3f}, {len(path)} optimal prunings")
        for budget in (100, 50, 20):
            at = path.at(budget=budget).index
            print(f"  within {budget:3d}: {measured.cost[at]:6.1f}, {measured.error[at]:.3f}")
        style, colour = looks[name]
        ax.plot(measured.cost, measured.error, style, color=colour, markersize=4, label=name)
        ax.plot(bill, error, "*", color=colour, markersize=14, label=f"{name}, whole")
    ax.errorbar(
        [240], [0.33], measured.standard_error[0], color="k", capsize=4, label="one standard error"
    )
    ax.set_ylim(0.27, 0.36)  # who buys nothing errs more often
    ax.set_xlabel(f"mean bill of an unseen person ({people.unit})")
    ax.set_ylabel("error")
    ax.grid(alpha=0.3)
    ax.legend(frameon=False, ncols=2)
    figure.savefig(picture, dpi=100)
    print(f"\nDrew {picture}.")


if __name__ == "__main__":
    main()
