"""A cascade: easy people are answered cheaply, only hard ones go on to the rich model.

Points of a path become stages. A person starts at the cheapest and goes on only while the answer is
not clear. The picture compares the cascade with single points of the path on people that neither
trained nor tuned it.
"""

from picture import picture_file
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

import thriftwood as tw


def main() -> None:
    picture = picture_file(__doc__)
    people = tw.datasets.load_nhanes()  # is the blood sugar of a person raised?
    X, X_rest, y, y_rest = train_test_split(people.X, people.y > 0, test_size=0.5, random_state=0)
    X_val, X_new, y_val, y_new = train_test_split(X_rest, y_rest, test_size=0.5, random_state=0)
    model = HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=8, random_state=0)
    path = tw.prune_path(model.fit(X, y), X, y, costs=people.prices)
    cascade = path.cascade(X_val, y_val, refit=(X, y))
    print(cascade)

    print(f"\n{'budget':>8s}{'bill':>8s}{'error':>8s}{'stages':>8s}  (unseen people)")
    for budget in (5, 10, 20, 40):
        chosen = cascade.at(budget=budget)
        error = 1 - chosen.score(X_new, y_new)
        n_stages = len(chosen.stages.in_use)
        print(f"{budget:8d}{chosen.bill(X_new).mean:8.1f}{error:8.3f}{n_stages:8d}")

    ax = tw.report.plot_cascade(cascade, X_new, y_new, path=path)
    ax.set_xscale("symlog", linthresh=2)  # most happens where bills are small
    ax.set_xticks([0, 2, 5, 10, 20, 50, 100, 200], [0, 2, 5, 10, 20, 50, 100, 200])
    ax.minorticks_off()
    ax.set_ylim(0.25, 0.35)
    ax.get_figure().savefig(picture, dpi=100)
    print(f"\nDrew {picture}.")


if __name__ == "__main__":
    main()
