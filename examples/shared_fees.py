"""Fees that tests share: what it is worth to tell the pruner about them.

Two tests from one blood sample pay for the sample once, three values from one stress test for the
stress test once. A list with a full price for every test hides that. Here a forest is pruned with
either list, and both results are billed as in life, with each fee paid once.
"""

import matplotlib.pyplot as plt
from picture import picture_file
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw


def main() -> None:
    picture = picture_file(__doc__)
    heart = tw.datasets.load_heart()
    forest = RandomForestClassifier(40, max_features=None, max_depth=4, random_state=0)
    forest.fit(heart.X, heart.y)

    shared = tw.prune_path(forest, heart.X, heart.y, costs=heart.prices)
    alone = tw.prune_path(forest, heart.X, heart.y, costs=heart.costs)  # no word about fees
    in_life = alone.evaluate(heart.X, heart.y, costs=heart.prices)

    print("The best within a budget, pruned with shared fees and with every test priced alone:")
    print(f"{'budget':>8s}{'loss, shared':>15s}{'loss, alone':>14s}")
    for budget in (300, 250, 200, 150, 100):
        best = alone.losses[in_life.cost <= budget].min()
        print(f"{budget:8d}{shared.at(budget=budget).loss:15.3f}{best:14.3f}")

    figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    ax.plot(shared.costs, shared.losses, "o-", color="#0072B2", label="fees shared")
    ax.plot(in_life.cost, alone.losses, "s--", color="#D55E00", label="each test priced alone")
    ax.set_xlabel(f"mean bill of a patient, fees paid once ({heart.unit})")
    ax.set_ylabel("error per tree")
    ax.grid(alpha=0.3)
    ax.legend(frameon=False)
    figure.savefig(picture, dpi=100)
    print(f"\nDrew {picture}.")


if __name__ == "__main__":
    main()
