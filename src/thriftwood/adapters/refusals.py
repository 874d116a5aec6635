"""Why a model cannot be read, and what to pass instead."""

# By name, so that no library need be there. What they are told in: "Cannot read this X: ...".
REASONS = {
    "IsolationForest": (
        "it measures how unusual a row is, and without labels there is no loss to weigh against "
        "the cost. Train a classifier on rows that are known to be unusual"
    ),
    "RandomTreesEmbedding": (
        "it makes features of its leaves and predicts nothing. Train a RandomForest* or ExtraTrees*"
    ),
    "AdaBoostClassifier": (
        "its trees vote with weights, which pruning does not support. Train a GradientBoosting* or "
        "HistGradientBoosting* instead"
    ),
    "AdaBoostRegressor": (
        "it predicts a weighted median of its trees, which pruning does not support. Train a "
        "GradientBoosting* or HistGradientBoosting* instead"
    ),
    "VotingClassifier": "voting is not supported. Pass one of its `estimators_` at a time",
    "VotingRegressor": "an average of models is not supported. Pass one of its `estimators_`",
    "StackingClassifier": "stacking is not supported. Pass one of its `estimators_` at a time",
    "StackingRegressor": "stacking is not supported. Pass one of its `estimators_` at a time",
    "MultiOutputClassifier": "it predicts several outputs. Pass one of its `estimators_` at a time",
    "MultiOutputRegressor": "it predicts several outputs. Pass one of its `estimators_` at a time",
    "OneVsRestClassifier": "it is a model for each class. Pass one of its `estimators_` at a time",
    "FrozenEstimator": "pass its `estimator`",
    "CalibratedClassifierCV": "pass a model before it is calibrated, and calibrate the pruned one",
}

# What holds the model that can be read, if only it is passed itself.
INSIDE = {
    "steps": "pass its last step, and X as the steps before make it",
    "best_estimator_": "pass its `best_estimator_`",
    "model_": "pass its `model_`",
    "kept_nodes": "pick a point, such as path.at(budget=...), and pass its `model`",
    "certificate": "pass its `model`",
    "stages": "it is several forests; pass one of its `stages.forests` at a time",
}


def reason_against(model: object) -> str:
    """Return a sentence for a model that no adapter reads."""
    if isinstance(model, type):
        return f"Cannot read the class {model.__name__}: make one and fit it."
    name = type(model).__name__
    for base in type(model).__mro__:
        if base.__name__ in REASONS:
            return f"Cannot read this {name}: {REASONS[base.__name__]}."
    for attribute, advice in INSIDE.items():
        if hasattr(model, attribute):
            return f"Cannot read this {name}: {advice}."
    return f"Cannot read this {name}."
