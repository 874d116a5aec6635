"""The price list of an estimator."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike

from thriftwood.arrays import FloatArray
from thriftwood.costs import prices_per_feature


def prices_of(estimator: Any, costs: ArrayLike | Mapping[str, float] | None) -> FloatArray:
    """Return the prices passed to `fit`, or else those that an estimator was made with.

    Parameters
    ----------
    estimator : estimator with a parameter `costs`
        It has seen X, so it knows the names of the columns where they have some.
    costs : array-like, mapping or None
        What was passed to `fit`.
    """
    names = getattr(estimator, "feature_names_in_", None)
    return prices_per_feature(
        estimator.costs if costs is None else costs,
        estimator.n_features_in_,
        None if names is None else tuple(names),
    )
