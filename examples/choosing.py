"""Choosing a point: errors on people held back, and the points that the rules choose.

On the samples that it was pruned on the richest point looks best. Measured on others, many lie
within one standard error of the best, so a rule can choose a cheap one with a good conscience.
Figures to quote come from a third set of people.
"""

from picture import picture_file
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import thriftwood as tw

RULES = {  # name: limit, mark, colour
    "best_score": (None, "^", "#009E73"),
    "one_standard_error": (None, "D", "#D55E00"),
    "budget": (50, "s", "#CC79A7"),
}


def main() -> None:
    picture = picture_file(__doc__)
    people = tw.datasets.load_nhanes()
    X, X_rest, y, y_rest = train_test_split(people.X, people.y > 0, test_size=0.5, random_state=0)
    X_val, X_new, y_val, y_new = train_test_split(X_rest, y_rest, test_size=0.5, random_state=0)
    forest = RandomForestClassifier(20, max_features=None, min_samples_leaf=5, random_state=0)
    path = tw.prune_path(forest.fit(X, y), X, y, costs=people.prices)
    measured = path.evaluate(X_val, y_val)
    print(measured)

    ax = path.plot(measured=measured)
    print(f"\n{'rule':20s}{'point':>7s}{'bill':>8s}{'error':>8s}{'on others':>11s}")
    for rule, (limit, mark, colour) in RULES.items():
        chosen = path.choose(X_val, y_val, rule=rule, limit=limit)
        point = "before" if chosen.index is None else chosen.index  # nothing cheaper was as good
        bill, error = chosen.choice.cost, 1 - chosen.model.score(X_val, y_val)
        on_others = 1 - chosen.model.score(X_new, y_new)
        print(f"{rule:20s}{point!s:>7s}{bill:8.1f}{error:8.3f}{on_others:11.3f}")
        words = "rule: " + rule.replace("_", " ") + (f" of {limit}" if limit else "")
        ax.plot(bill, error, mark, color=colour, markersize=10, label=words)
    ax.set_ylim(0.25, 0.35)  # the forest that buys nothing errs more often
    ax.legend(frameon=False)
    ax.get_figure().savefig(picture, dpi=100)
    print(f"\nDrew {picture}.")


if __name__ == "__main__":
    main()
