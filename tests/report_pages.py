"""Report pages that several tests look at, and what is embedded in them."""

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw

HEART = tw.datasets.load_heart()
FRAME = HEART.frame()
TRAIN, VALID = np.arange(0, 200), np.arange(200, 303)
X, Y = FRAME.iloc[TRAIN], HEART.y[TRAIN]
VALIDATION = (FRAME.iloc[VALID], HEART.y[VALID])
COSTS = tw.Costs.from_file(Path(__file__).parents[1] / "examples" / "heart_prices.csv")


def heart_path(n_trees=8, costs=COSTS, max_depth=4, **options):
    """Return the path of a small forest on some heart patients, with fees and groups."""
    forest = RandomForestClassifier(
        n_trees, max_features=None, max_depth=max_depth, random_state=0
    ).fit(X, Y)
    return tw.prune_path(tw.pruning_problem(forest, X, Y, costs=costs, **options))


COUNTING = ("costs", "loss", "class_weight", "sample_weight")


def page_of(path, rows=X, y=Y, *, validation=None, **options):
    """Return the text of a page; `options` are those of the problem and of the page."""
    counting = {name: options.pop(name) for name in COUNTING if name in options}
    problem = tw.pruning_problem(path.model, rows, y, **{"costs": COSTS} | counting)
    evaluation = None
    if validation is not None:
        X_valid, y_valid, *weights = validation
        evaluation = path.evaluate(X_valid, y_valid, sample_weight=weights[0] if weights else None)
    with TemporaryDirectory() as folder:
        tw.report.write_page(path, Path(folder) / "page.html", problem, evaluation, **options)
        assert [entry.name for entry in Path(folder).iterdir()] == ["page.html"]
        return (Path(folder) / "page.html").read_text("utf-8")


def data_in(page):
    """Return what is embedded in a page."""
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return json.loads(found)


def data_of(path, *rows, **options):
    return data_in(page_of(path, *rows, **options))
