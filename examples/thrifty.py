"""The best model within a budget, in one call: blood sugar from answers, scales and tubes.

NHANES has 123 features for 2 to 9 each: questions, examinations, laboratory tests. One fit gives a
model for every budget. Most people need a few questions, and some a tube of blood.
"""

import numpy as np
from picture import picture_file
from sklearn.model_selection import train_test_split

import thriftwood as tw


def main() -> None:
    picture = picture_file(__doc__)
    people = tw.datasets.load_nhanes()
    split = train_test_split(people.X, people.y > 0, test_size=0.5, random_state=0)
    X, X_new, y, y_new = split
    model = tw.ThriftyClassifier(costs=people.costs, effort="quick", random_state=0, n_jobs=-1)
    model.fit(X, y)

    print("budget  mean bill  error")
    for budget in (5, 10, 20, 50, np.inf):
        own = model.at(budget=budget)
        error, bill = 1 - own.score(X_new, y_new), own.bill(X_new).mean
        print(f"{budget:6g} {bill:10.1f} {error:6.3f}")
    ax = model.frontier_.plot()
    ax.set_title("What every budget buys")
    ax.figure.savefig(picture)
    print(f"Drew {picture}.")


if __name__ == "__main__":
    main()
