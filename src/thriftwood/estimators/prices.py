"""The price list of an estimator."""

from typing import Any

from thriftwood.costs import AnyCosts, PriceList, read_prices


def costs_of(estimator: Any, costs: AnyCosts) -> AnyCosts:
    """Return the costs passed to `fit`, or else those that an estimator was made with."""
    return estimator.costs if costs is None else costs


def prices_of(estimator: Any, costs: AnyCosts, n_samples: int) -> PriceList:
    """Return the prices passed to `fit`, or else those that an estimator was made with.

    Parameters
    ----------
    estimator : estimator with a parameter `costs`
        It has seen X, so it knows the names of the columns where they have some.
    costs
        What was passed to `fit`.
    n_samples : int
        Of the rows that pay.
    """
    names = getattr(estimator, "feature_names_in_", None)
    return read_prices(
        costs_of(estimator, costs),
        estimator.n_features_in_,
        None if names is None else tuple(names),
        n_samples,
    )
