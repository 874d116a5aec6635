"""Two bills side by side: what patients pay for each test, before and after pruning.

The bars of each colour add up to what a patient pays on average. Fees that tests share are bars of
their own: nobody who drops one of two tests from a group saves its fee.
"""

from picture import picture_file
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw

FEES = {"A": "blood", "B": "scan", "C": "exercise"}  # in words


def main() -> None:
    picture = picture_file(__doc__)
    heart = tw.datasets.load_heart()
    X = heart.frame()  # with the names of the tests
    prices = heart.prices
    costs = tw.Costs(
        per_feature=prices.per_feature,
        groups={FEES[group]: tests for group, tests in prices.groups.items()},
        group_fee={FEES[group]: fee for group, fee in prices.group_fee.items()},
        unit=prices.unit,
    )
    forest = RandomForestClassifier(40, max_features=None, max_depth=4, random_state=0)
    forest.fit(X, heart.y)
    pruned = tw.prune(forest, X, heart.y, costs=costs, budget=280)

    before = tw.feature_bill(forest, X, costs)
    after = tw.feature_bill(pruned.model, X, costs)
    print(f"{before}\n\n{after}")

    ax = tw.report.plot_bills(before, after)
    ax.get_figure().savefig(picture, dpi=100)
    print(f"\nDrew {picture}.")


if __name__ == "__main__":
    main()
