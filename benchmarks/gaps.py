"""Rows with gaps: the library's own rule for missing values against the values of nodes.

Models are trained on whole rows and predict rows of which 30 % of the values are missing at random.
Shown are means over splits of the area under the ROC curve and the log loss: of whole rows, by the
library's rule, and with `LazyPredictor(on_failure="node")`.
"""

from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from measure import arguments
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from xgboost import XGBClassifier

import thriftwood as tw

SHARE = 0.3
FOREST = RandomForestClassifier(100, min_samples_leaf=3, random_state=0)
MODELS = {
    "LightGBM": LGBMClassifier(n_estimators=60, n_jobs=1, verbose=-1),
    "XGBoost": XGBClassifier(n_estimators=60, n_jobs=1),
    "HistGradientBoosting": HistGradientBoostingClassifier(max_iter=60, random_state=0),
    "random forest": FOREST,
    "median, then forest": make_pipeline(SimpleImputer(strategy="median"), FOREST),
}
SETS = {"heart": tw.datasets.load_heart, "NHANES": tw.datasets.load_nhanes}


def measured(model: Any, X: Any, y: Any, seed: int) -> list[float]:
    """Return area and log loss of whole rows, by the library's rule, and by nodes."""
    X, X_new, y, y_new = train_test_split(X, y, test_size=0.4, random_state=seed, stratify=y)
    model.fit(X, y)
    gaps = X_new.astype(float).mask(np.random.default_rng(seed).random(X_new.shape) < SHARE)
    at_nodes = tw.LazyPredictor(model, on_failure="node").predict(gaps).proba
    said = (model.predict_proba(X_new), model.predict_proba(gaps), at_nodes)
    positive = [np.clip(proba[:, 1], 1e-6, 1 - 1e-6) for proba in said]
    return [one for p in positive for one in (roc_auc_score(y_new, p), log_loss(y_new, p))]


def main() -> None:
    options = arguments(__doc__)
    n_splits = 1 if options.quick else options.repeats
    print(f"{'ROC AUC, log loss':28s}   whole rows   its own rule  node's value")
    for name, load in SETS.items():
        people = load()
        X, y = people.frame(), (people.y > 0).astype(int)
        for kind, model in MODELS.items():
            of_splits = [measured(model, X, y, seed) for seed in range(n_splits)]
            figures = np.mean(of_splits, axis=0).reshape(3, 2)
            shown = "  ".join(f"{area:.3f} {loss:.3f}" for area, loss in figures)
            print(f"{name + ', ' + kind:28s} {shown}")


if __name__ == "__main__":
    main()
