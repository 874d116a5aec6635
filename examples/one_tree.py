"""One tree of a forest: which of its questions a pruning still asks.

A pruned forest consists of the same trees, with some splits turned into leaves. The picture shows
one tree as it was grown. What the chosen point of the path drops is grey and dashed.
"""

from picture import picture_file
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw

TREE = 2
LEVELS = 3  # of splits that are drawn


def main() -> None:
    picture = picture_file(__doc__)
    heart = tw.datasets.load_heart()
    X = heart.frame()  # with the names of the tests
    labels = [heart.target_names[label] for label in heart.y]
    forest = RandomForestClassifier(40, max_features=None, max_depth=4, random_state=0)
    forest.fit(X, labels)
    path = tw.prune_path(forest, X, labels, costs=heart.prices)
    pruned = path.at(budget=280)
    print(pruned)

    before = forest.estimators_[TREE].tree_.node_count // 2
    after = pruned.model.estimators_[TREE].tree_.node_count // 2
    print(f"\nTree {TREE} keeps {after} of its {before} splits.")
    ax = tw.report.plot_tree(path, pruned.index, TREE, max_depth=LEVELS)
    ax.get_figure().savefig(picture, dpi=90)
    print(f"Drew {picture}.")


if __name__ == "__main__":
    main()
