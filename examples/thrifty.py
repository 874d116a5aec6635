"""The best model within a budget, beside its peers: blood sugar from answers, scales and tubes.

NHANES has 123 features for 2 to 9 points each: questions, examinations, laboratory tests. One fit
gives a model for every budget. Most people need a few questions, and some a tube of blood.
"""

import numpy as np
from picture import picture_file
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier

import thriftwood as tw

BUDGETS = (5, 10, 20, 50, 100)
OF_PRUNINGS = (5, 20, 50, 100, 200)
SIZES = (1, 2, 4, 8, 16, 32)  # of fixed sets of features
PENALTIES = (0.0003, 0.001, 0.003, 0.01, 0.02)
LOOKS = {  # told apart without colours, too
    "all features": ("s", "none", "black"),
    "the most important features": ("^", ":", "#999999"),
    "LightGBM that pays (CEGB)": ("v", "-.", "#E69F00"),
    "a forest, pruned": ("D", "--", "#009E73"),
    "ThriftyClassifier": ("o", "-", "#0072B2"),
}


def main() -> None:
    picture = picture_file(__doc__)
    people = tw.datasets.load_nhanes()
    y, costs = people.y > 0, people.costs
    halves = np.array_split(np.random.default_rng(0).permutation(len(y)), 2)
    # Everybody is predicted by models that were trained on the other half.
    rounds = [
        measured(people.X[train], y[train], people.X[new], y[new], costs)
        for train, new in (halves, halves[::-1])
    ]
    ways = {name: np.mean([one[name] for one in rounds], axis=0) for name in rounds[0]}
    for name, points in ways.items():
        print(name, "(mean bill, error)" if len(points) else "(LightGBM is not installed)")
        for bill, error in points:
            print(f"{bill:10.1f} {error:6.3f}")
    draw(ways, len(y), picture)
    print(f"Drew {picture}.")


def measured(X, y, X_new, y_new, costs) -> dict:
    """Return mean bills and errors on people whom training did not see, of each way to save."""

    def measure(model, columns=None):
        if columns is not None:
            return costs[columns].sum(), 1 - model.score(X_new[:, columns], y_new)
        return tw.feature_bill(model, X_new, costs).mean, 1 - model.score(X_new, y_new)

    model = tw.ThriftyClassifier(costs=costs, random_state=0, n_jobs=-1)
    model.fit(X, y)
    forest = ExtraTreesClassifier(40, max_features=None, min_samples_leaf=5, random_state=0)
    path = tw.prune_path(forest.fit(X, y), X, y, costs=costs)
    important = np.argsort(-forest.feature_importances_)
    return {
        "all features": [measure(booster().fit(X, y), np.arange(len(costs)))],
        "the most important features": [
            measure(booster().fit(X[:, important[:size]], y), important[:size]) for size in SIZES
        ],
        "LightGBM that pays (CEGB)": [measure(one) for one in boosters_that_pay(X, y, costs)],
        "a forest, pruned": [measure(path.at(budget=budget).model) for budget in OF_PRUNINGS],
        "ThriftyClassifier": [measure(model.at(budget=budget)) for budget in BUDGETS],
    }


def booster():
    return HistGradientBoostingClassifier(max_iter=60, learning_rate=0.05, random_state=0)


def boosters_that_pay(X, y, costs):
    """Yield boosters whose splits pay for features that a sample has not bought yet."""
    try:
        import lightgbm
    except ImportError:
        return
    shared = {"n_estimators": 60, "learning_rate": 0.05, "n_jobs": 1, "verbose": -1}
    for price in PENALTIES:
        own = {"cegb_tradeoff": price, "cegb_penalty_feature_lazy": list(costs)}
        yield lightgbm.LGBMClassifier(**shared, **own).fit(X, y)


def draw(ways, n_people, file) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4.2), layout="constrained")
    ax = figure.add_subplot()
    for name, points in ways.items():
        mark, style, colour = LOOKS[name]
        bills, errors = np.array(sorted(map(tuple, points))).reshape(-1, 2).T
        own = {"linewidth": 2.5, "markersize": 7} if name == "ThriftyClassifier" else {}
        ax.plot(bills, errors, mark, linestyle=style, color=colour, label=name, **own)
    ax.set_xscale("log")
    ax.set_xticks([2, 5, 10, 20, 50, 100, 200, 500], [2, 5, 10, 20, 50, 100, 200, 500])
    ax.set_xlabel("mean bill of a person (points)")
    ax.set_ylabel(f"wrong of {n_people:,} people")
    ax.yaxis.set_major_formatter("{x:.0%}")
    ax.grid(alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    figure.savefig(file, dpi=100)


if __name__ == "__main__":
    main()
