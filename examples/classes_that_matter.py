"""Classes that matter more: who is found, along the path, when missing the ill counts more.

Pruning for the fewest errors gives up a rare class first: nobody with diabetes is found any more,
and the errors hardly change. With `class_weight` their errors count more in the loss; what people
pay stays as it is.
"""

import matplotlib.pyplot as plt
import numpy as np
from picture import picture_file
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import thriftwood as tw

DIABETES = 2
BUDGETS = (0, 20, 40, 60, 80, 100, 150, 200, 250)
LOOKS = (  # of each class weight
    (None, "s--", "#D55E00"),
    ("balanced", "o-", "#0072B2"),
    ({DIABETES: 5}, "^:", "#009E73"),
)


def main() -> None:
    picture = picture_file(__doc__)
    people = tw.datasets.load_nhanes()  # healthy, at risk, diabetes
    X, X_new, y, y_new = train_test_split(people.X, people.y, test_size=0.5, random_state=0)
    forest = RandomForestClassifier(20, max_features=None, min_samples_leaf=5, random_state=0).fit(
        X, y
    )

    figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    for class_weight, style, colour in LOOKS:
        path = tw.prune_path(forest, X, y, costs=people.prices, class_weight=class_weight)
        points = [path.at(budget=budget) for budget in BUDGETS]
        found = [recall(point.model, X_new, y_new) for point in points]
        bills = [tw.feature_bill(point.model, X_new, people.prices).mean for point in points]
        for point, share, bill in zip(points, found, bills, strict=True):
            error = 1 - point.model.score(X_new, y_new)
            print(
                f"class_weight={class_weight!s:9s} bill {bill:6.1f}: error {error:.3f}, "
                f"{share:.0%} of the ill found"
            )
        # A budget between two points buys the cheaper one, hence steps.
        label = f"class_weight={class_weight!r}"
        ax.plot(bills, found, style, color=colour, drawstyle="steps-post", label=label)
    ax.set_xlabel(f"mean bill of an unseen person ({people.unit})")
    ax.set_ylabel("share of people with diabetes found")
    ax.set_ylim(bottom=0)
    ax.grid(alpha=0.3)
    ax.legend(frameon=False)
    figure.savefig(picture, dpi=100)
    print(f"\nDrew {picture}.")


def recall(model, X, y) -> float:
    """Return the share of people with diabetes that a model finds."""
    return float(np.mean(model.predict(X[y == DIABETES]) == DIABETES))


if __name__ == "__main__":
    main()
