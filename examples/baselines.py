"""All trees together against each tree alone: what it is worth that they share what they buy.

A test that one tree asked for is free for all others. Who prunes each tree alone cannot see that,
and cost-complexity pruning sees no prices at all. The bills in the picture are those of the whole
forest: a patient pays once for a test, whichever trees ask for it.
"""

from picture import picture_file
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw


def main() -> None:
    picture = picture_file(__doc__)
    heart = tw.datasets.load_heart()
    forest = RandomForestClassifier(40, max_features=None, random_state=0).fit(heart.X, heart.y)
    costs = tw.Costs(per_feature=heart.costs, unit=heart.unit)  # every test priced alone
    problem = tw.pruning_problem(forest, heart.X, heart.y, costs=costs)
    ensemble = tw.prune_path(problem)
    paths = {
        "all trees together": ensemble,
        "each tree alone": tw.each_tree_path(problem),
        "cost-complexity": tw.cost_complexity_path(problem),
    }
    budgets = ensemble.costs[[2, 6, 9, 12]]
    print(f"{'least loss within':20s}", *(f"{budget:8.2f}" for budget in budgets))
    for name, path in paths.items():
        losses = (path.at(budget=budget).loss for budget in budgets)
        print(f"{name:20s}", *(f"{loss:8.4f}" for loss in losses))

    ax = None
    for path in paths.values():
        ax = path.plot(ax)
    ax.get_figure().savefig(picture, dpi=100)
    print(f"\nDrew {picture}.")


if __name__ == "__main__":
    main()
