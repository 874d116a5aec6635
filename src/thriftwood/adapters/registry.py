"""Find the adapter that knows a model, and read or write it.

An adapter is a module with `read(model) -> Forest`, `write(model, kept, values) -> model` and,
where the model knows on which samples a tree was grown, `samples(model)`; where the library can
say so, `with_columns(model, columns)`, a model that takes fewer columns.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

import numpy as np

from thriftwood.adapters import (
    catboost,
    forest_models,
    lightgbm,
    pipelines,
    sklearn_boosting,
    sklearn_hist,
    sklearn_trees,
    xgboost,
)
from thriftwood.adapters.common import BootstrapSamples, unfitted
from thriftwood.costs import PriceList
from thriftwood.errors import InputError, UnsupportedModelError
from thriftwood.forest import Forest, NestedStages, Stages, one_stage
from thriftwood.support.arrays import BoolArray, FloatArray, IntArray

Model = TypeVar("Model")

# The adapter of each class, with all below it, by library and name, so that no library need be
# there; or of what we hand out around a model, the attribute that the model is in.
ADAPTERS: dict[tuple[str, str], Any] = {
    ("sklearn", "BaseDecisionTree"): sklearn_trees,
    ("sklearn", "RandomForestClassifier"): sklearn_trees,
    ("sklearn", "RandomForestRegressor"): sklearn_trees,
    ("sklearn", "ExtraTreesClassifier"): sklearn_trees,
    ("sklearn", "ExtraTreesRegressor"): sklearn_trees,
    ("sklearn", "BaggingClassifier"): sklearn_trees,
    ("sklearn", "BaggingRegressor"): sklearn_trees,
    ("sklearn", "GradientBoostingClassifier"): sklearn_boosting,
    ("sklearn", "GradientBoostingRegressor"): sklearn_boosting,
    ("sklearn", "HistGradientBoostingClassifier"): sklearn_hist,
    ("sklearn", "HistGradientBoostingRegressor"): sklearn_hist,
    ("lightgbm", "Booster"): lightgbm,
    ("lightgbm", "LGBMModel"): lightgbm,
    ("xgboost", "Booster"): xgboost,
    ("xgboost", "XGBModel"): xgboost,
    ("catboost", "CatBoost"): catboost,
    ("thriftwood", "BudgetForestClassifier"): sklearn_trees,
    ("thriftwood", "Forest"): forest_models,
    ("thriftwood", "ForestModel"): forest_models,
    ("thriftwood", "Pruned"): "model",
    ("thriftwood", "PrunedEnsembleClassifier"): "model_",
    ("thriftwood", "PrunedEnsembleRegressor"): "model_",
    ("sklearn", "FrozenEstimator"): "estimator",
    ("sklearn", "Pipeline"): pipelines,
}

ONE_AT_A_TIME = "pass one of its `estimators_` at a time"
INSTEAD = "train a GradientBoosting* or HistGradientBoosting* instead"

# Why a class, or one above it, is not read and what to do: "A Pipeline is not read: ..."
REASONS = {
    "BaseSearchCV": "pass its `best_estimator_`",
    "BaseThresholdClassifier": "pass its `estimator_`, whose probabilities it answers by",
    "CalibratedClassifierCV": "pass a model before it is calibrated, and calibrate the pruned one",
    "IsolationForest": "it has no target, so there is no loss to weigh against the cost. "
    "Train a classifier on samples that are known to be unusual",
    "RandomTreesEmbedding": "it predicts nothing. Train a RandomForest* or ExtraTrees*",
    "AdaBoostClassifier": f"its trees vote with weights; {INSTEAD}",
    "AdaBoostRegressor": f"it predicts a weighted median of its trees; {INSTEAD}",
    "_BaseVoting": f"it is an average of models; {ONE_AT_A_TIME}",
    "_BaseStacking": f"it is a model of models; {ONE_AT_A_TIME}",
    "_MultiOutputEstimator": f"it predicts several outputs; {ONE_AT_A_TIME}",
    "OneVsRestClassifier": f"it is a model for each class; {ONE_AT_A_TIME}",
    "TransformedTargetRegressor": "its trees predict other numbers than it does; pass its "
    "`regressor_`, and y as `transformer_` makes it",
    "CascadeClassifier": "it is several forests; pass one of its `stages.forests`",
    "CascadeRanker": "it is several models, which `at(budget=...)` makes cheaper, whose bill is "
    "`bill(X, qid)` and which `save` keeps",
    "ThriftyRanker": "it is several models, bought stage by stage: see its `cascade_`",
    "Thrifty": "it is several models, bought stage by stage; `at(budget=...)` makes it cheaper, "
    "`bill(X)` is its bill, `save` keeps it, and C, JSON and ONNX can say what it does. At the end "
    "of a Pipeline that is `pipeline[-1]`, and X what `pipeline[:-1].transform` makes. For other "
    "formats export the model of a PrunedEnsemble*",
    "PruningPath": "pick a point, such as path.at(budget=...)",
    "Mixture": "it draws between two points; pass its `cheap` or `rich`",
}


def read_forest(model: object) -> Forest:
    """Return the trees of a fitted model as a checked `Forest`."""
    _, adapter, model = _find(model, refuses=True)
    if adapter is pipelines:
        return pipelines.with_inputs(read_forest(pipelines.last_step(model)), model)
    forest: Forest = adapter.read(model)
    return forest.check()


def read_stages(model: object) -> Stages:
    """Return the stages of a cascade, or the trees of any other model as a single stage."""
    stages = getattr(unwrapped(model), "stages", None)
    return stages if isinstance(stages, Stages) else one_stage(read_forest(model))


def buying_stages(model: object) -> Stages:
    """Return stages that ask for what a model asks for; those of a thrifty model predict nothing.

    For columns, classes and purchases; what samples are told is in `read_stages`.
    """
    plan = getattr(unwrapped(model), "purchase_plan", None)
    return plan if isinstance(plan, Stages) else read_stages(model)


def nested_stages(model: object) -> NestedStages | None:
    """Return the stages of a thrifty model, None of any other."""
    stages = getattr(model, "stages_", None)
    return stages if isinstance(stages, NestedStages) else None


def without_threshold(model: Any) -> Any:
    """Return the model by whose probabilities one of scikit-learn's thresholds answers."""
    if any(kind.__name__ == "BaseThresholdClassifier" for kind in type(model).__mro__):
        if not hasattr(model, "estimator_"):
            raise unfitted(model)
        return without_threshold(model.estimator_)
    return model


def without_pipeline(model: Any) -> Any:
    """Return the model at the end of a pipeline, fitted or not; any other as it is."""
    return pipelines.last_step(model) if _find(model)[1] is pipelines else model


def in_pipeline_of(model: Any, other: Any) -> Any:
    """Return another model, behind the transformers of this one where it is a pipeline."""
    _, adapter, inside = _find(model)
    return pipelines.with_last_step(inside, other) if adapter is pipelines else other


def weight_name(model: Any) -> str:
    """Return what the `fit` of a model calls the weights of samples."""
    is_pipeline = _find(model)[1] is pipelines
    return f"{model.steps[-1][0]}__sample_weight" if is_pipeline else "sample_weight"


def check_names(model: Any, names: Iterable[str]) -> None:
    """Refuse names of columns with which the library of a model would not train it."""
    library, adapter, _ = _find(model)
    refused = getattr(adapter, "REFUSED_IN_NAMES", None)
    for name in names:
        if refused is not None and re.search(refused, name):
            raise InputError(
                f"{library} trains on no column named {name!r}, for the sake of its file format: "
                'rename the column, without any of [ ] < { } " , : and line breaks, in X and in '
                "the prices; or train a Pipeline whose transformers pass on arrays."
            )


def own_prices(model: object) -> PriceList | None:
    """Return the prices that what we hand out was made with; None for models of others."""
    for one in (model, unwrapped(model), getattr(model, "path_", None)):
        prices = getattr(one, "prices", None)
        if isinstance(prices, PriceList):
            return prices
    return None


def write_model(
    model: Model,
    kept: BoolArray,
    values: FloatArray | None = None,
    names: tuple[str, ...] | None = None,
) -> Model:
    """Return a copy of a model with every split collapsed that is not kept.

    Parameters
    ----------
    model : a fitted model
        It is not changed. Of a `Pruned` or a fitted estimator of ours its model is written.
    kept : bool array
        Mask over the nodes of `read_forest(model)`.
    values : shape (n_nodes, n_outputs), optional
        What these nodes say from now on, in place of their own values.
    names : tuple of str, optional
        Of the columns, as the user has them: LightGBM changes some.
    """
    _, adapter, inside = _find(model, refuses=True)
    if adapter is pipelines:
        last = write_model(pipelines.last_step(inside), kept, values)
        return cast(Model, in_pipeline_of(inside, last))
    written: Model = adapter.write(inside, kept, values)
    if adapter is lightgbm and names is not None:
        setattr(written, lightgbm.OWN_NAMES, names)
    return written


def narrow_model(model: Any, columns: IntArray) -> Any | None:
    """Return a model of the same type over these columns; None where its adapter makes none."""
    _, adapter, inside = _find(model, refuses=True)
    with_columns = getattr(adapter, "with_columns", None)
    return None if with_columns is None else with_columns(inside, columns)


def read_bootstrap(model: object) -> BootstrapSamples | None:
    """Return the samples that each tree was grown on, or None where the model does not know."""
    _, adapter, model = _find(model, refuses=True)
    if adapter is pipelines:
        return read_bootstrap(pipelines.last_step(model))
    samples = getattr(adapter, "samples", None)
    found: BootstrapSamples | None = None if samples is None else samples(model)
    return found


def read_class_weight(model: Any, forest: Forest) -> str | dict[Any, float] | None:
    """Return "balanced", weights by class, or None where all classes weighed the same.

    scikit-learn and LightGBM say `class_weight`, XGBoost, LightGBM and CatBoost
    `scale_pos_weight`, LightGBM `is_unbalance`, CatBoost `class_weights` and `auto_class_weights`.
    """
    _, adapter, model = _find(model)
    model, classes = pipelines.last_step(model) if adapter is pipelines else model, forest.classes
    if classes is None:
        return None
    options = model.get_params() if hasattr(model, "get_params") else {}
    bagged = getattr(model, "estimator", None)
    weight = options.get("class_weight", getattr(bagged, "class_weight", None))
    weight = options.get("class_weights") if weight is None else weight
    automatic = str(options.get("auto_class_weights")).lower() == "balanced"
    if automatic or options.get("is_unbalance"):
        return "balanced"
    if isinstance(weight, str):
        return "balanced" if weight.startswith("balanced") else None
    scale = options.get("scale_pos_weight")
    if weight is None and scale is not None and len(classes) == 2:
        weight = [1.0, float(scale)]
    if isinstance(weight, Mapping):
        weight = [weight.get(label, 1.0) for label in classes.tolist()]
    if not isinstance(weight, list | tuple | np.ndarray) or len(weight) != len(classes):
        return None
    by_class = dict(zip(classes.tolist(), map(float, weight), strict=True))
    return by_class if len(set(by_class.values())) > 1 else None


def unwrapped(model: Any) -> Any:
    """Return the model inside a `Pruned` or a fitted estimator of ours; any other as it is."""
    return _find(model)[2]


def library_of(model: object) -> str | None:
    """Return the library of a model that can be read, such as "sklearn"; None for any other."""
    return _find(model)[0]


def _find(model: Any, refuses: bool = False) -> tuple[str | None, Any, Any]:
    """Return library and adapter, None where there is none, and the model without our wrapping."""
    for kind in type(model).__mro__:
        library = kind.__module__.split(".")[0]
        known = ADAPTERS.get((library, kind.__name__))
        if isinstance(known, str):
            if not hasattr(model, known):
                raise unfitted(model)
            return _find(getattr(model, known), refuses)
        if known is not None:
            return library, known, model
    if refuses:
        raise UnsupportedModelError(_refusal(model))
    return None, None, model


def _refusal(model: object) -> str:
    if isinstance(model, type):
        return f"{model.__name__} is a class: make one and fit it."
    name = type(model).__name__
    for base in type(model).__mro__:
        if base.__name__ in REASONS:
            article = "An" if name[0] in "AEIOU" else "A"
            return f"{article} {name} is not read: {REASONS[base.__name__]}."
    return (
        f"{name} has no trees that Thriftwood can read: pass a fitted tree, forest or boosted "
        "model of scikit-learn, LightGBM, XGBoost or CatBoost."
    )
