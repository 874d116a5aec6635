"""Samples, labels and what each feature costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thriftwood.costs import Costs
from thriftwood.support.libraries import frame_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Samples with labels and priced features.

    The arrays are the caller's own and can be written to (scikit-learn asks for that where values
    are missing); every load reads them afresh.

    Attributes
    ----------
    name
        Short name of the set.
    X
        Feature values, shape (n_samples, n_features); a missing value is NaN.
    y
        Class of each sample, an index into `target_names`.
    feature_names, target_names
        Names of the columns of `X` and of the classes.
    costs
        Price of each feature bought on its own, in `unit`. `prices` knows what is shared, too.
    unit
        What prices are counted in, for example ``"CAD"``; ``"features"`` where each one costs 1.
    source, licence
        Who published the data and the prices, and on which terms.
    cost_groups
        The group that each feature shares a fee with, ``""`` for none. None when no fee is shared.
    costs_in_group
        Price of each feature once another one of its group has been paid: `costs` less the fee
        that the group shares. None when no fee is shared.
    categories
        What kind of feature each one is (laboratory, questionnaire, ...). For display only:
        a category shares no fee.
    split
        The published split, for each sample 0 train, 1 validation or 2 test. None without one.
    requires
        Features that are computed from others: the names of those for each of them.
    """

    name: str
    X: NDArray[np.float32]
    y: NDArray[np.int64]
    feature_names: tuple[str, ...]
    target_names: tuple[str, ...]
    costs: NDArray[np.float64]
    unit: str
    source: str
    licence: str
    cost_groups: tuple[str, ...] | None = None
    costs_in_group: NDArray[np.float64] | None = None
    categories: tuple[str, ...] | None = None
    split: NDArray[np.int64] | None = None
    requires: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def prices(self) -> Costs:
        """The whole price list. Fees are paid once, and what is computed costs what it takes.

        Features go by their columns, since `X` has no names.
        """
        number = {name: column for column, name in enumerate(self.feature_names)}
        shared = self.cost_groups or ("",) * len(self.feature_names)
        groups: dict[str, list[str | int]] = {}
        for name, group in zip(self.feature_names, shared, strict=True):
            if group in self.group_fees and name not in self.requires:
                groups.setdefault(group, []).append(number[name])
        return Costs(
            per_feature=self.costs if self.costs_in_group is None else self.costs_in_group,
            groups=groups,
            group_fee={group: self.group_fees[group] for group in groups},
            requires={
                number[name]: [number[other] for other in others]
                for name, others in self.requires.items()
            },
            unit=self.unit,
        )

    @property
    def group_fees(self) -> dict[str, float]:
        """The fee that each group shares, paid once by the first feature bought of it."""
        if self.cost_groups is None or self.costs_in_group is None:
            return {}
        # Prices have cents; the difference of two floats should not show more digits than they do.
        fees = np.round(self.costs - self.costs_in_group, 9)
        return {
            group: float(fee)
            for group, fee in zip(self.cost_groups, fees, strict=True)
            if group != ""
        }

    def frame(self) -> pd.DataFrame:
        """Copy `X` into a pandas DataFrame with the feature names as columns, in doubles.

        pandas lends single columns to scikit-learn read-only, and with missing values in them its
        trees refuse that. Of doubles they make their own copy.
        """
        return frame_of(self.X.astype(np.float64), list(self.feature_names))

    def __repr__(self) -> str:
        n_samples, n_features = self.X.shape
        low, high = self.costs.min(), self.costs.max()
        prices = f"{low:g} each" if low == high else f"{low:g} to {high:g} {self.unit}"
        return (
            f"<Dataset {self.name}: {n_samples:,} samples, {n_features} features at {prices}, "
            f"{len(self.target_names)} classes>"
        )
