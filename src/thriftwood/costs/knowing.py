"""Prices of rows that know some values beforehand."""

from dataclasses import replace

from thriftwood.costs.costs import AnyCosts, Costs
from thriftwood.costs.per_feature import prices_per_feature
from thriftwood.costs.reading import Columns, rows_that_do_not_know
from thriftwood.support.arrays import BoolArray


def with_known(costs: AnyCosts, known: BoolArray, feature_names: tuple[str, ...] | None) -> Costs:
    """Return prices for rows that know these values, besides those that the prices call known.

    Parameters
    ----------
    costs : array-like, mapping, Costs or None
        As in `prune`.
    known : shape (n_samples, n_features)
    feature_names : tuple of str, optional
        Needed where prices go by name.
    """
    n_samples, n_features = known.shape
    if not isinstance(costs, Costs):
        return Costs(per_feature=prices_per_feature(costs, n_features, feature_names), known=known)
    both = known.copy()
    columns = Columns(n_features, feature_names)
    for column, unknown in rows_that_do_not_know(costs, columns, n_samples).items():
        both[:, column] |= ~unknown
    return replace(costs, known=both)
