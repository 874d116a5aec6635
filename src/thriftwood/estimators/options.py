"""Parameters of estimators, read as scikit-learn reads them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, _num_samples, validate_data

from thriftwood.costs import AnyCosts, PriceList, read_prices
from thriftwood.errors import InputError
from thriftwood.forest.table import TIMES, columns_of_text, columns_of_type, readable
from thriftwood.problem import check_known, one_target_each, read_weights
from thriftwood.support.arrays import FloatArray, IndexArray
from thriftwood.support.columns import Columns
from thriftwood.support.validation import check_mask, is_whole, some

BALANCED_SUBSAMPLE = "balanced_subsample"


def prices_for(
    estimator: Any, costs: AnyCosts, n_samples: int, query: IndexArray | None = None
) -> PriceList:
    """Return the prices of the columns that an estimator has just seen."""
    names = getattr(estimator, "feature_names_in_", None)
    columns = Columns(estimator.n_features_in_, None if names is None else tuple(names))
    return read_prices(costs, columns, n_samples, query)


def refuse_text(X: Any, model: Any, categories: bool = True) -> None:
    """Refuse columns of text and of times that a model cannot be trained on; say what takes them.

    Without `categories` the model takes those of a categorical type.
    """
    X, name = readable(X), type(model).__name__
    times = columns_of_type(X, TIMES)
    if times:
        raise InputError(
            f"X holds dates or times in the column{'s' * (len(times) > 1)} {some(times)}, and "
            f"{name} trains on numbers: make numbers of them that mean something, such as days "
            "since a visit or the hour of a day, or leave them out.",
            "X",
        )
    found = columns_of_text(X, categories)
    if found:
        raise InputError(
            f"X holds text in the column{'s' * (len(found) > 1)} {some(found)}, and "
            f"{name} trains on numbers: encode them before, or train a Pipeline "
            "that does, such as make_pipeline(make_column_transformer((OneHotEncoder("
            f"handle_unknown='ignore'), {list(found[:5])!r}), remainder='passthrough'), model).",
            "X",
        )


@contextmanager
def target_in_words(X: Any, y: Any) -> Iterator[None]:
    """Say in a sentence what is wrong where scikit-learn refuses samples for their targets."""
    try:
        yield
    except InputError:
        raise
    except (TypeError, ValueError):
        if y is not None:
            with suppress(TypeError):  # X has no samples at all
                target = one_target_each(y, _num_samples(X))
                check_known(target)
                if target.dtype.kind == "f" and np.isinf(target).any():
                    row = np.flatnonzero(np.isinf(target))[0]
                    raise InputError(
                        f"`y` is infinite in row {row}: pass finite numbers."
                    ) from None
        raise


def read_samples(
    estimator: Any, X: Any, y: Any, sample_weight: Any, as_read: Mapping[str, Any]
) -> tuple[NDArray[Any], NDArray[Any], FloatArray]:
    """Return samples, targets and weights that an estimator is to be fitted to."""
    for name, values in (("y", y), ("sample_weight", sample_weight)):
        check_mask(values, name)
    refuse_text(X, estimator)
    numeric = not is_classifier(estimator)
    with target_in_words(X, y):
        X, y = validate_data(estimator, readable(X), y, y_numeric=numeric, **as_read)
        check_known(y)  # scikit-learn makes NaN of None among numbers
        if not numeric:
            check_classification_targets(y)
    weights: FloatArray = _check_sample_weight(sample_weight, X, dtype=np.float64)
    read_weights(weights, len(y))  # refuses what cannot be a weight
    return X, y, weights


def class_weights(class_weight: Any, y: NDArray[Any]) -> FloatArray:
    """Return the class weight of each sample."""
    if isinstance(class_weight, str) and class_weight != "balanced":
        raise InputError(
            f"`class_weight` is {class_weight!r}: pass weights by class, 'balanced', "
            f"{BALANCED_SUBSAMPLE!r} or None.",
            "class_weight",
        )
    weights: FloatArray = compute_sample_weight(class_weight, y)
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong):
        raise InputError(
            f"The weight of class {y[wrong[0]]} in `class_weight` is {weights[wrong[0]]}: it must "
            "be finite and at least 0.",
            "class_weight",
        )
    return weights


def n_features_tried(max_features: Any, n_features: int) -> int | None:
    """Return how many features a node tries; None is all."""
    if isinstance(max_features, str) and max_features in ("sqrt", "log2"):
        return max(1, int(getattr(np, max_features)(n_features)))
    if isinstance(max_features, (float, np.floating)) and 0 < max_features <= 1:
        return max(1, int(max_features * n_features))
    if max_features is None or (is_whole(max_features) and max_features >= 1):
        number: int | None = max_features
        return number
    raise InputError(
        f"`max_features` is {max_features!r}: pass a whole number of at least 1, a share of the "
        "features between 0 and 1, 'sqrt', 'log2', or None for all.",
        "max_features",
    )
