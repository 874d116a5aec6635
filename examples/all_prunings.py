"""All prunings of a small forest, tried one by one, and the few that the path knows without trying.

Four trees with three splits each can be pruned in 625 ways. Every one is a dot: what it costs a
patient, and how often its trees are wrong. A tradeoff between the two is a slope, and finds the
corners of the lower edge; a budget between two corners may have a better dot than the corner that
it gets, but none below the line.
"""

from itertools import product

import matplotlib.pyplot as plt
import numpy as np
from picture import picture_file
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw
from thriftwood.adapters import write_model

BUDGET = 103


def main() -> None:
    picture = picture_file(__doc__)
    heart = tw.datasets.load_heart()
    forest = RandomForestClassifier(4, max_features=None, max_depth=2, random_state=0)
    forest.fit(heart.X, heart.y)
    path = tw.prune_path(forest, heart.X, heart.y, costs=heart.prices)
    cost, loss = np.array([figures(forest, kept, heart) for kept in prunings(path.forest)]).T

    print(f"{len(cost)} prunings, {len(path)} of them on the path")
    for tradeoff in (0.0001, 0.001, 0.01):
        point = path.at(tradeoff=tradeoff)
        best = (loss + tradeoff * cost).min()
        print(f"tradeoff {tradeoff:6g}: {best:.6f} by trying, ", end="")
        print(f"{point.loss + tradeoff * point.cost:.6f} by the path")
    chosen = path.at(budget=BUDGET)
    least = loss[cost <= BUDGET].min()
    print(f"within {BUDGET}: {least:.4f} by trying, {chosen.loss:.4f} by the path, ", end="")
    print(f"and none below {chosen.loss - chosen.proof.gap:.4f}")
    draw(path, cost, loss, picture)
    print(f"\nDrew {picture}.")


def prunings(trees):
    """Yield the splits that each pruning keeps: every one with its parent."""
    splits = np.flatnonzero(trees.is_split)
    for flags in product((False, True), repeat=len(splits)):
        kept = np.zeros(trees.n_nodes, dtype=bool)
        kept[splits] = flags
        if all(trees.parent[split] < 0 or kept[trees.parent[split]] for split in splits[[*flags]]):
            yield kept


def figures(forest, kept, heart):
    """Return the mean bill and the error per tree, by the plain definitions."""
    model = write_model(forest, kept)
    wrong = [tree.predict(heart.X) != heart.y for tree in model.estimators_]
    return tw.feature_bill(model, heart.X, heart.prices).mean, np.mean(wrong)


def draw(path, cost, loss, target) -> None:
    figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    ax.plot(cost, loss, ".", color="0.6", label=f"all {len(cost)} prunings")
    ax.plot(path.costs, path.losses, "o-", color="#0072B2", label=f"the {len(path)} on the path")
    ax.axvline(BUDGET, color="#D55E00", linestyle="--", label=f"a budget of {BUDGET}")
    best = np.argmin(np.where(cost <= BUDGET, loss, np.inf))
    ring = {"markersize": 12, "fillstyle": "none", "markeredgewidth": 2}
    ax.plot(cost[best], loss[best], "o", color="#009E73", label="best within the budget", **ring)
    ax.plot(cost[best], loss[best], ".", color="0.3")  # above the line
    ax.set_xlabel("mean bill of a patient (CAD)")
    ax.set_ylabel("error per tree")
    ax.grid(alpha=0.3)
    ax.legend(frameon=False)
    figure.savefig(target, dpi=100)


if __name__ == "__main__":
    main()
