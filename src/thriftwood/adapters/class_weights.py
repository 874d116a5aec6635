"""Class weights that a model was trained with, as its library names them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

OwnWeight = str | dict[Any, float] | None


def own_class_weight(model: Any, classes: NDArray[Any] | None) -> OwnWeight:
    """Return "balanced", weights by class, or None where all classes weighed the same.

    scikit-learn and LightGBM say `class_weight`, XGBoost, LightGBM and CatBoost
    `scale_pos_weight`, LightGBM `is_unbalance`, CatBoost `class_weights` and `auto_class_weights`.
    """
    if classes is None:
        return None
    options = _options(model)
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


def _options(model: Any) -> dict[str, Any]:
    """Return the options of a model that know of weights, where it has any."""
    if not hasattr(model, "get_params"):
        return {}
    try:
        return dict(model.get_params(deep=False))
    except TypeError:  # CatBoost has no deep ones
        return dict(model.get_params())
