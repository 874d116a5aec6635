"""A child whose first call is interrupted, while libraries are being loaded."""

import os
import signal
import sys

from sklearn.tree import DecisionTreeClassifier

import thriftwood as tw
from fuzz.worker import PRICES, draw_samples, serve, small, stop


def picture():
    """Draw the path of a small tree."""
    X, y = draw_samples(200)
    tree = DecisionTreeClassifier(max_leaf_nodes=20, random_state=0).fit(X, y)
    tw.prune_path(tree, X, y, costs=PRICES).plot()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, stop)
    os.environ["MPLBACKEND"] = "agg"
    with os.fdopen(int(sys.argv[1]), "w") as pipe:
        serve(pipe, {"first call": small, "first picture": picture})
